/* Headers of kept files: ranges, validators, and names that a sandbox chose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/file_headers.h"

#define SIZE 1000

static const struct {
        const char *header;
        enum range_kind kind;
        uint64_t offset, length;
} ranges[] = {
        {NULL, RANGE_WHOLE, 0, SIZE},
        {"bytes=0-0", RANGE_PART, 0, 1},
        {"bytes=0-999", RANGE_PART, 0, SIZE},
        {"bytes=10-19", RANGE_PART, 10, 10},
        {"bytes=990-", RANGE_PART, 990, 10},
        {"bytes=0-", RANGE_PART, 0, SIZE},
        {"bytes=999-5000", RANGE_PART, 999, 1},
        {"bytes=-1", RANGE_PART, 999, 1},
        {"bytes=-1000", RANGE_PART, 0, SIZE},
        {"bytes=-5000", RANGE_PART, 0, SIZE},
        {"BYTES= 0-1 ", RANGE_PART, 0, 2},
        {"bytes=5-99999999999999999999999999", RANGE_PART, 5, SIZE - 5},
        {"bytes=-99999999999999999999999999", RANGE_PART, 0, SIZE},
        {"bytes=1000-", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=1000-2000", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=18446744073709551616-", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=18446744073709551615-18446744073709551616", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-0", RANGE_UNSATISFIABLE, 0, 0},
        /* Several may be answered by all of it; what is not understood is as if it were not there. */
        {"bytes=0-1,5-6", RANGE_WHOLE, 0, SIZE},
        {"bytes=0-1, ", RANGE_WHOLE, 0, SIZE},
        {"bytes=5-4", RANGE_WHOLE, 0, SIZE},
        {"bytes=-", RANGE_WHOLE, 0, SIZE},
        {"bytes=", RANGE_WHOLE, 0, SIZE},
        {"bytes", RANGE_WHOLE, 0, SIZE},
        {"bytes=5", RANGE_WHOLE, 0, SIZE},
        {"bytes=a-b", RANGE_WHOLE, 0, SIZE},
        {"bytes=1-x", RANGE_WHOLE, 0, SIZE},
        {"bytes=--1", RANGE_WHOLE, 0, SIZE},
        {"bytes=+1-2", RANGE_WHOLE, 0, SIZE},
        {"bytes=1 -2", RANGE_WHOLE, 0, SIZE},
        {"lines=1-2", RANGE_WHOLE, 0, SIZE},
        {"", RANGE_WHOLE, 0, SIZE},
};

static void reads_ranges(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
                struct range range = range_parse(ranges[i].header, SIZE);
                if (range.kind != ranges[i].kind || range.offset != ranges[i].offset ||
                    (range.kind != RANGE_UNSATISFIABLE && range.length != ranges[i].length))
                        fail_msg("%s: kind %d, %llu + %llu", ranges[i].header, range.kind,
                                 (unsigned long long)range.offset, (unsigned long long)range.length);
        }
}

static void an_empty_file_has_no_part(void **state) {
        (void)state;
        assert_int_equal(range_parse("bytes=0-", 0).kind, RANGE_UNSATISFIABLE);
        assert_int_equal(range_parse("bytes=-5", 0).kind, RANGE_UNSATISFIABLE);
        assert_int_equal(range_parse(NULL, 0).kind, RANGE_WHOLE);
        assert_int_equal(range_parse(NULL, 0).length, 0);
}

static void knows_entity_tags(void **state) {
        static const char *const listed[] = {"\"abc\"",   "W/\"abc\"",          "*",
                                             " \"abc\" ", "\"x\", \"abc\"",     "\"x\",W/\"y\" , W/\"abc\"",
                                             " * ",       "\"a,b\", \"abc\"", "\"abc\",\"x\""};
        static const char *const others[] = {"",      "abc",       "\"abcd\"",   "\"ab\"", "\"x\", \"y\"",
                                             "\"abc", "\"x\"abc", "W/", "\"*\"",   ",", "w/\"abc\""};
        (void)state;
        for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
                if (!etag_is_listed(listed[i], "\"abc\""))
                        fail_msg("not found: %s", listed[i]);
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
                if (etag_is_listed(others[i], "\"abc\""))
                        fail_msg("found: %s", others[i]);
        assert_false(etag_is_listed(NULL, "\"abc\""));
        assert_true(etag_allows_range(NULL, "\"abc\""));
        assert_true(etag_allows_range("\"abc\"", "\"abc\""));
        assert_false(etag_allows_range("W/\"abc\"", "\"abc\""));
        assert_false(etag_allows_range("\"x\"", "\"abc\""));
        assert_false(etag_allows_range("Sat, 29 Nov 2026 19:43:31 GMT", "\"abc\""));
}

static void shows_only_what_cannot_run(void **state) {
        static const char *const shown[] = {"image/png",  "image/jpeg", "image/gif",
                                            "image/webp", "text/plain", "text/csv"};
        static const char *const saved[] = {"image/svg+xml",    "text/html",       "application/pdf", "application/xml",
                                            "text/javascript",  "text/css",        "text/markdown",   "image/png2",
                                            "application/json", "text/plain; x=y", "",                "image/vnd.x"};
        (void)state;
        for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
                assert_true(media_type_is_harmless(shown[i]));
        for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++)
                assert_false(media_type_is_harmless(saved[i]));
}

static const struct {
        const char *name, *text;
} names[] = {
        {"a.csv", "attachment; filename=\"a.csv\""},
        {"out/b c.csv", "attachment; filename=\"b c.csv\""},
        {"a\"b\\c.csv", "attachment; filename=\"a_b_c.csv\"; filename*=UTF-8''a%22b%5Cc.csv"},
        {"50%.csv", "attachment; filename=\"50_.csv\"; filename*=UTF-8''50%25.csv"},
        {"\xc3\xa4.csv", "attachment; filename=\"__.csv\"; filename*=UTF-8''%C3%A4.csv"},
        {"a\r\nSet-Cookie: x=1",
         "attachment; filename=\"a__Set-Cookie: x=1\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x%3D1"},
        {"a;b='c'.csv", "attachment; filename=\"a;b='c'.csv\""},
        {"a\x7f\x01", "attachment; filename=\"a__\"; filename*=UTF-8''a%7F%01"},
        {"dir/", "attachment; filename=\"file\""},
        {"", "attachment; filename=\"file\""},
};

static void names_files_safely(void **state) {
        char text[DISPOSITION_BYTES];
        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                disposition_print(names[i].name, true, text);
                assert_string_equal(text, names[i].text);
        }
        disposition_print("a.png", false, text);
        assert_string_equal(text, "inline; filename=\"a.png\"");
}

static void no_name_is_too_long_or_leaves_its_place(void **state) {
        char name[1025], text[DISPOSITION_BYTES];
        (void)state;
        for (int byte = 1; byte < 256; byte++) {
                memset(name, byte, sizeof(name) - 1);
                name[sizeof(name) - 1] = '\0';
                disposition_print(name, true, text);
                assert_true(strlen(text) < DISPOSITION_BYTES);
                for (const char *c = text; *c; c++)
                        assert_true(*c >= ' ' && *c <= '~');
                const char *end = strrchr(text, '"');
                const char *start = strchr(text, '"');
                assert_ptr_equal(strchr(start + 1, '"'), end); /* no quote within */
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_ranges),
                cmocka_unit_test(an_empty_file_has_no_part),
                cmocka_unit_test(knows_entity_tags),
                cmocka_unit_test(shows_only_what_cannot_run),
                cmocka_unit_test(names_files_safely),
                cmocka_unit_test(no_name_is_too_long_or_leaves_its_place),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
