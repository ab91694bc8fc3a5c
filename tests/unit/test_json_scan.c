/* JSON that is looked at without a tree: what is JSON passes, whatever is not does not, and members are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "run/json_scan.h"

static bool is_json(const char *text) {
        const char *wrong = NULL;
        bool good = json_scan(text, strlen(text), &wrong);
        assert_true(good == (wrong == NULL));
        return good;
}

static void json_passes(void **state) {
        static const char *const good[] = {
                "0", "-0", "12.5e-3", "1E+9", "true", "false", "null", "\"\"", "\"\\u00e4\\n\\\"\"", "\"\xc3\xa4\"",
                "\"\\ud83d\\ude00\"", "[]", "{}", "[ ]", " [1, [2, {\"a\": [ ]}], {} ] ", "{\"a\":1,\"a\":2}",
                "[[],[],{\"\":null}]",
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
                if (!is_json(good[i]))
                        fail_msg("%s", good[i]);
}

static void anything_else_does_not(void **state) {
        static const char *const bad[] = {
                "", " ", "01", "1.", ".5", "1e", "+1", "-", "NaN", "Infinity", "nul", "True", "'a'", "\"", "\"\\x\"",
                "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\n\"", "[", "]",
                "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:2}", "[}", "{]",
                "[1]]", "1 2", "[\"a\":1]", "\"\\",
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (is_json(bad[i]))
                        fail_msg("%s", bad[i]);
}

static void depth_is_bounded(void **state) {
        static char text[2 * JSON_SCAN_DEPTH_MAX + 4];
        (void)state;
        memset(text, '[', JSON_SCAN_DEPTH_MAX);
        text[JSON_SCAN_DEPTH_MAX] = '1';
        memset(text + JSON_SCAN_DEPTH_MAX + 1, ']', JSON_SCAN_DEPTH_MAX);
        assert_true(is_json(text));
        memset(text, '[', JSON_SCAN_DEPTH_MAX + 1);
        text[JSON_SCAN_DEPTH_MAX + 1] = '1';
        memset(text + JSON_SCAN_DEPTH_MAX + 2, ']', JSON_SCAN_DEPTH_MAX + 1);
        assert_false(is_json(text));
}

static void every_beginning_of_it_is_looked_at_without_harm(void **state) {
        static const char text[] = "{\"a\": [1.5e3, \"\\ud83d\\ude00\xc3\xa4\", {\"b\": null}], \"c\": true}";
        const char *wrong;
        (void)state;
        for (size_t length = 0; length < strlen(text); length++) {
                CLEANUP_FREE char *exact = malloc(length + 1);
                memcpy(exact, text, length);
                assert_false(json_scan(exact, length, &wrong));
        }
}

static void members_are_found(void **state) {
        static const char text[] = " { \"result\" : [1, {\"error\": 2}] , \"more\": \"x\", \"error\":null } ";
        struct json_span result, error, none;
        const struct json_member members[] = {{"result", &result}, {"error", &error}, {"none", &none}};
        const char *wrong;
        (void)state;
        assert_true(json_scan_object(text, strlen(text), members, 3, &wrong));
        assert_int_equal(result.length, strlen("[1, {\"error\": 2}]"));
        assert_memory_equal(result.bytes, "[1, {\"error\": 2}]", result.length);
        assert_memory_equal(error.bytes, "null", error.length);
        assert_null(none.bytes);
        assert_true(json_scan_object("{}", 2, members, 3, &wrong));
        assert_null(result.bytes);
        static const char *const bad[] = {"[]", "{\"error\":1,\"error\":2}", "{\"error\":}", "{\"error\":1} x", "1", "{", ""};
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                if (json_scan_object(bad[i], strlen(bad[i]), members, 3, &wrong))
                        fail_msg("%s", bad[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(json_passes),
                cmocka_unit_test(anything_else_does_not),
                cmocka_unit_test(depth_is_bounded),
                cmocka_unit_test(every_beginning_of_it_is_looked_at_without_harm),
                cmocka_unit_test(members_are_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
