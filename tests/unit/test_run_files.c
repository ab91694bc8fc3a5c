/* Files that a run hands back: names that can be shown and told apart, types by ending, hashes, contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "run/media_type.h"
#include "run/run_files.h"

static json_t *add(struct run_files *files, const char *name, size_t length, const char *content, size_t size,
                   enum skip_reason skipped, bool inline_content) {
        const struct work_file file = {
                .name = name, .name_length = length, .size = size, .bytes = content, .skipped = skipped};
        const struct rendered *rendered = run_files_add(files, &file, inline_content, false);
        assert_non_null(rendered);
        json_t *object = json_loadb(rendered->json, rendered->length, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(object);
        return object;
}

static const char *member(const json_t *object, const char *key) {
        const char *text = json_string_value(json_object_get(object, key));
        assert_non_null(text);
        return text;
}

static void describes_a_file(void **state) {
        struct run_files files;
        (void)state;
        run_files_init(&files);
        json_t *file = add(&files, "out/a.CSV", 9, "a,b\n", 4, 0, true);
        assert_string_equal(member(file, "name"), "out/a.CSV");
        assert_string_equal(member(file, "media_type"), "text/csv");
        assert_string_equal(member(file, "content_base64"), "YSxiCg==");
        assert_string_equal(member(file, "sha256"), "5be08c9684a1d25efcee09318204824278b08bbfb4aef973ffefd0b9d7478313");
        assert_int_equal(json_integer_value(json_object_get(file, "size")), 4);
        assert_memory_equal(member(file, "file_id"), "file_", 5);
        assert_null(json_object_get(file, "url"));
        json_decref(file);

        file = add(&files, "empty", 5, "", 0, 0, true);
        assert_string_equal(member(file, "content_base64"), "");
        assert_string_equal(member(file, "sha256"), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        json_decref(file);

        file = add(&files, "x", 1, "x", 1, 0, false);
        assert_null(json_object_get(file, "content_base64"));
        assert_true(json_is_null(json_object_get(file, "url")));
        json_decref(file);
        assert_int_equal(files.files.count, 3);
        assert_int_equal(files.skipped.count, 0);
        run_files_deinit(&files);
}

static void names_what_was_skipped(void **state) {
        static const struct {
                enum skip_reason reason;
                const char *name;
        } reasons[] = {
                {SKIP_TOO_LARGE, "too_large"},   {SKIP_TOTAL_TOO_LARGE, "total_too_large"},
                {SKIP_TOO_MANY, "too_many"},     {SKIP_NOT_REGULAR, "not_a_regular_file"},
                {SKIP_UNREADABLE, "unreadable"}, {SKIP_NAME, "name"},
        };
        struct run_files files;
        (void)state;
        run_files_init(&files);
        for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
                json_t *file = add(&files, "big", 3, NULL, 5000000, reasons[i].reason, true);
                assert_string_equal(member(file, "reason"), reasons[i].name);
                assert_int_equal(json_integer_value(json_object_get(file, "size")), 5000000);
                json_decref(file);
        }
        assert_true(files.skipped_for_size);
        assert_int_equal(files.files.count, 0);
        run_files_deinit(&files);
}

static void names_that_are_not_utf8_stay_apart(void **state) {
        static const struct {
                const char *name;
                size_t length;
                const char *shown;
        } names[] = {
                {"a%FF", 4, "a%FF"},
                {"a\xff", 2, "a%FF (name not UTF-8)"},
                {"a%\xff", 3, "a%25%FF (name not UTF-8)"},
                {"\xe4\xbd\xa0\xe4", 4, "\xe4\xbd\xa0%E4 (name not UTF-8)"},
                /* One that bears by right the name made up for the second. */
                {"a%FF (name not UTF-8)", 21, "a%FF (name not UTF-8) (2)"},
                {"a\nb\"<img>", 9, "a\nb\"<img>"},
                {"\xe2\x80\xae"
                 "gpj.exe",
                 10,
                 "\xe2\x80\xae"
                 "gpj.exe"},
        };
        struct run_files files;
        (void)state;
        run_files_init(&files);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                json_t *file = add(&files, names[i].name, names[i].length, "", 0, 0, true);
                assert_string_equal(member(file, "name"), names[i].shown);
                json_decref(file);
        }
        run_files_deinit(&files);
}

static void types_come_from_the_ending(void **state) {
        static const char *const cases[][2] = {
                {"chart.png", "image/png"},
                {"CHART.PNG", "image/png"},
                {"a.tar.gz", "application/gzip"},
                {"dir.csv/file", "application/octet-stream"},
                {".png", "application/octet-stream"},
                {"dir/.png", "application/octet-stream"},
                {"png", "application/octet-stream"},
                {"a.", "application/octet-stream"},
                {"", "application/octet-stream"},
                {"r.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_string_equal(media_type_of(cases[i][0], strlen(cases[i][0])), cases[i][1]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(describes_a_file),
                cmocka_unit_test(names_what_was_skipped),
                cmocka_unit_test(names_that_are_not_utf8_stay_apart),
                cmocka_unit_test(types_come_from_the_ending),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
