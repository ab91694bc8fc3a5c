/* Results as a sandbox sends them: what is taken, what is not, and that nothing is built from what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/mime_map.h"

#define CASE(input, output)                                                                                            \
        { input, sizeof(input) - 1, output }

static const struct {
        const char *input;
        size_t length;
        const char *output; /* NULL: refused */
} cases[] = {
        CASE("{\"text/plain\":\"4\"}", "{\"text/plain\":\"4\"}"),
        CASE(" {\n\"text/plain\" :\t\"a\\n\\\"b\\\\\" , \"image/png\":\"iVBO\"} \n",
             "{\"text/plain\":\"a\\n\\\"b\\\\\",\"image/png\":\"iVBO\"}"),
        CASE("{\"text/plain\":\"\\u0000\"}", "{\"text/plain\":\"\\u0000\"}"),
        CASE("{\"application/vnd.x+json; v=1\":\"\"}", "{\"application/vnd.x+json; v=1\":\"\"}"),
        CASE("{\"text/plain\":\"\xe4\xbd\xa0\"}", "{\"text/plain\":\"\xe4\xbd\xa0\"}"),
        CASE("{}", NULL),
        CASE("", NULL),
        CASE("[]", NULL),
        CASE("\"text/plain\"", NULL),
        CASE("{\"text/plain\":4}", NULL),
        CASE("{\"text/plain\":null}", NULL),
        CASE("{\"text/plain\":[\"4\"]}", NULL),
        CASE("{\"text/plain\":{\"a\":\"b\"}}", NULL),
        CASE("{\"text/plain\":\"4\"", NULL),
        CASE("{\"text/plain\":\"4\"}}", NULL),
        CASE("{\"text/plain\":\"4\"}{}", NULL),
        CASE("{\"text/plain\":\"4\",}", NULL),
        CASE("{\"text/plain\":\"4", NULL),
        CASE("{\"text/plain\":\"4\\", NULL),
        CASE("{\"text/plain\":\"4\\\"}", NULL),
        CASE("{\"text/plain\":\"\\x\"}", NULL),
        CASE("{\"text/plain\":\"\\ud800\"}", NULL),
        CASE("{\"text/plain\":\"\xff\"}", NULL),
        CASE("{\"text/plain\":\"a\nb\"}", NULL),
        CASE("{\"text/plain\":\"1\",\"text/plain\":\"2\"}", NULL),
        CASE("{\"text/plain\":\"1\",\"text\\/plain\":\"2\"}", NULL),
        CASE("{\"text\":\"4\"}", NULL),
        CASE("{\"/\":\"4\"}", NULL),
        CASE("{\"text/\":\"4\"}", NULL),
        CASE("{\"a/b/c\":\"4\"}", NULL),
        CASE("{\"\":\"4\"}", NULL),
        CASE("{\"text/<b>\":\"4\"}", NULL),
        CASE("{\"text/plain\\u0000\":\"4\"}", NULL),
        CASE("{'text/plain':'4'}", NULL),
};

static void takes_maps_of_strings_only(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                size_t length = 0;
                /* A copy without a byte after it, so that reading past the end is caught. */
                char *input = malloc(cases[i].length > 0 ? cases[i].length : 1);
                memcpy(input, cases[i].input, cases[i].length);
                char *output = mime_map_normalise(input, cases[i].length, &length);
                if (cases[i].output) {
                        assert_non_null(output);
                        assert_string_equal(output, cases[i].output);
                        assert_int_equal(length, strlen(output));
                } else if (output)
                        fail_msg("taken: %s", cases[i].input);
                free(output);
                free(input);
        }
}

static void bounds_the_number_of_entries(void **state) {
        char map[1024] = "{";
        size_t length;
        (void)state;
        for (int i = 0; i < MIME_MAP_ENTRIES_MAX; i++) {
                char entry[32];
                snprintf(entry, sizeof(entry), "%s\"x/%d\":\"\"", i > 0 ? "," : "", i);
                strcat(map, entry);
        }
        size_t end = strlen(map);
        strcpy(map + end, "}");
        char *output = mime_map_normalise(map, strlen(map), &length);
        assert_non_null(output);
        free(output);
        strcpy(map + end, ",\"x/y\":\"\"}");
        assert_null(mime_map_normalise(map, strlen(map), &length));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_maps_of_strings_only),
                cmocka_unit_test(bounds_the_number_of_entries),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
