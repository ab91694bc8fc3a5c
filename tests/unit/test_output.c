/* What is kept of an output stream: head and tail, in bounded memory, without a split character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "run/json_out.h"
#include "run/output.h"

static void add(struct output *output, const char *bytes, size_t length) {
        while (length > 0) {
                size_t room;
                char *to = output_space(output, length, &room);
                assert_true(room > 0 && room <= length);
                memcpy(to, bytes, room);
                output_added(output, room);
                bytes += room;
                length -= room;
        }
}

/* The text as a client gets it; free it. */
static char *text_of(const struct output *output, size_t *ret_length) {
        struct json_out out;
        json_out_init(&out, 0);
        output_write_json(output, &out);
        assert_false(out.failed);
        json_t *value = json_loadb(out.bytes, out.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(value);
        char *text = malloc(json_string_length(value) + 1);
        memcpy(text, json_string_value(value), json_string_length(value) + 1);
        *ret_length = json_string_length(value);
        json_decref(value);
        json_out_deinit(&out);
        return text;
}

static void assert_text(const struct output *output, const char *expected) {
        size_t length;
        char *text = text_of(output, &length);
        assert_int_equal(length, strlen(text));
        assert_string_equal(text, expected);
        free(text);
}

static void keeps_everything_that_fits(void **state) {
        struct output output;
        (void)state;
        output_init(&output, 16);
        assert_text(&output, "");
        add(&output, "0123456789", 10);
        assert_text(&output, "0123456789");
        add(&output, "abcdef", 6);
        assert_text(&output, "0123456789abcdef");
        assert_false(output_truncated(&output));
        output_deinit(&output);
}

static void keeps_head_and_tail(void **state) {
        struct output output;
        (void)state;
        output_init(&output, 16);
        add(&output, "0123456789abcdefg", 17);
        assert_true(output_truncated(&output));
        assert_text(&output, "01234567\n[... 1 bytes of output left out here ...]\n9abcdefg");
        add(&output, "hijklmnopqrstuvwxyz", 19);
        assert_text(&output, "01234567\n[... 20 bytes of output left out here ...]\nstuvwxyz");
        output_deinit(&output);
}

static void a_head_that_ends_in_a_newline_gets_no_second_one(void **state) {
        struct output output;
        (void)state;
        output_init(&output, 8);
        add(&output, "abc\ndefghi\n", 11);
        assert_text(&output, "abc\n[... 3 bytes of output left out here ...]\nghi\n");
        output_deinit(&output);
}

static void never_splits_a_character(void **state) {
        (void)state;
        for (size_t keep = 8; keep < 24; keep++)
                for (size_t shift = 0; shift < 4; shift++) {
                        struct output output;
                        size_t length;
                        output_init(&output, keep);
                        add(&output, "xyz", shift);
                        for (int i = 0; i < 20; i++)
                                add(&output, "\xf0\x9f\x90\x8d", 4);
                        char *text = text_of(&output, &length);
                        assert_null(strstr(text, "\xef\xbf\xbd"));
                        unsigned long dropped = strtoul(strchr(text, '[') + 5, NULL, 10);
                        size_t marker = strlen("[...  bytes of output left out here ...]\n") + (dropped > 9 ? 2 : 1);
                        marker += text[strchr(text, '[') - text - 1] == '\n' ? 1 : 0;
                        assert_int_equal(length - marker + dropped, shift + 80);
                        free(text);
                        output_deinit(&output);
                }
}

/* In whatever pieces it comes: the same head, the same tail, the right count, no more memory than allowed. */
static void is_the_same_in_any_pieces(void **state) {
        (void)state;
        srand(5);
        for (int round = 0; round < 2000; round++) {
                static char all[40000];
                struct output output;
                size_t keep = 2 + (size_t)rand() % 9000, total = (size_t)rand() % sizeof(all), at = 0;
                for (size_t i = 0; i < total; i++)
                        all[i] = (char)('a' + rand() % 26);
                output_init(&output, keep);
                while (at < total) {
                        size_t piece = 1 + (size_t)rand() % 5000;
                        piece = piece < total - at ? piece : total - at;
                        add(&output, all + at, piece);
                        at += piece;
                        assert_true(output.size <= keep);
                }
                assert_int_equal(output.written, total);
                size_t length, head = keep / 2, tail = keep - head;
                char *text = text_of(&output, &length);
                if (total <= keep) {
                        assert_int_equal(length, total);
                        assert_memory_equal(text, all, total);
                } else {
                        char marker[80];
                        snprintf(marker, sizeof(marker), "\n[... %zu bytes of output left out here ...]\n",
                                 total - keep);
                        assert_int_equal(length, keep + strlen(marker));
                        assert_memory_equal(text, all, head);
                        assert_memory_equal(text + head, marker, strlen(marker));
                        assert_memory_equal(text + head + strlen(marker), all + total - tail, tail);
                }
                free(text);

                char end[200];
                size_t end_length = output_tail(&output, end, sizeof(end));
                size_t kept_end = total <= keep ? total : tail;
                assert_int_equal(end_length, kept_end < sizeof(end) ? kept_end : sizeof(end));
                assert_memory_equal(end, all + total - end_length, end_length);
                output_deinit(&output);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keeps_everything_that_fits),
                cmocka_unit_test(keeps_head_and_tail),
                cmocka_unit_test(a_head_that_ends_in_a_newline_gets_no_second_one),
                cmocka_unit_test(never_splits_a_character),
                cmocka_unit_test(is_the_same_in_any_pieces),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
