/* Pages of lists: cursors that clients hand back, and points in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/paging.h"

static void cursors_come_back_as_they_were(void **state) {
        static const struct store_cursor cursors[] = {{1, 1}, {1796000000123, 42}, {INT64_C(0xfffffffffffffff), 9}};
        char text[CURSOR_TEXT_BYTES];
        struct store_cursor cursor;
        (void)state;
        for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++) {
                cursor_print(cursors[i], text);
                assert_true(cursor_parse(text, &cursor));
                assert_true(cursor.ms == cursors[i].ms && cursor.id == cursors[i].id);
        }
        assert_true(cursor_parse("", &cursor));
        assert_true(cursor.ms == 0 && cursor.id == 0);
}

static void nothing_else_is_a_cursor(void **state) {
        static const char *const texts[] = {"-",     "1",      "1-",  "-1",  "1-2-3",   "1-2 ", " 1-2",
                                            "1- 2",  "+1-2",   "1-+2", "0x1-2", "A-B", "1-2x", "ffffffffffffffff-1",
                                            "1-ffffffffffffffff", "run_01"};
        struct store_cursor cursor;
        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                if (cursor_parse(texts[i], &cursor))
                        fail_msg("taken: %s", texts[i]);
}

static void is(json_t *value, const char *text) {
        assert_string_equal(json_string_value(value), text);
        json_decref(value);
}

static void times_are_utc(void **state) {
        (void)state;
        is(time_json(0), "1970-01-01T00:00:00Z");
        is(time_json(1769851800999), "2026-01-31T09:30:00Z");
        is(time_ms_json(1769851800999), "2026-01-31T09:30:00.999Z");
        is(time_ms_json(1769851800001), "2026-01-31T09:30:00.001Z");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(cursors_come_back_as_they_were),
                cmocka_unit_test(nothing_else_is_a_cursor),
                cmocka_unit_test(times_are_utc),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
