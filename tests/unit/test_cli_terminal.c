/*
 * What reaches a terminal: the filter for output, and lines made of foreign words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/terminal.h"

#define BAD "\xef\xbf\xbd"

/* Writes the text in pieces of every size; each time the same must come out. */
static void expect(const char *text, size_t length, const char *shown) {
        for (size_t size = 1; size <= length; size++) {
                CLEANUP_FREE char *got = NULL;
                size_t got_length;
                struct terminal_stream stream = {.file = open_memstream(&got, &got_length), .filter = true};
                for (size_t i = 0; i < length; i += size)
                        assert_int_equal(terminal_write(&stream, text + i, size < length - i ? size : length - i), 0);
                assert_int_equal(terminal_finish(&stream), 0);
                fclose(stream.file);
                assert_string_equal(got, shown);
        }
}
#define EXPECT(text, shown) expect(text, sizeof(text) - 1, shown)

static void test_text_passes(void **state) {
        (void)state;
        EXPECT("plain text ~\n\ttab\r", "plain text ~\n\ttab\r");
        EXPECT("é € 😀 \xc2\xa0", "é € 😀 \xc2\xa0");
}

static void test_colours_pass(void **state) {
        (void)state;
        EXPECT("\x1b[m", "\x1b[m\x1b[0m");
        EXPECT("\x1b[1;38;5;200mx\x1b[0m", "\x1b[1;38;5;200mx\x1b[0m\x1b[0m");
        EXPECT("\x1b[38:2:1:2:3mx", "\x1b[38:2:1:2:3mx\x1b[0m");
}

static void test_controls_are_shown(void **state) {
        (void)state;
        EXPECT("\a\b\v\f\x01\x1f\x7f", "^G^H^K^L^A^_^?");
        expect("a\0b", 3, "a^@b");
        EXPECT("\xc2\x80\xc2\x9b\xc2\x9f", BAD BAD BAD); /* C1: a terminal may take U+009B for ESC [ */
}

static void test_other_sequences_are_shown(void **state) {
        (void)state;
        EXPECT("\x1b[2J", "^[[2J");
        EXPECT("\x1b[31", "^[[31"); /* ends in the middle */
        EXPECT("\x1b", "^[");
        EXPECT("\x1b]0;title\a", "^[]0;title^G");
        EXPECT("\x1b]8;;http://x\x1b\\y", "^[]8;;http://x^[\\y");
        EXPECT("\x1bPq\x1b\\", "^[Pq^[\\");
        EXPECT("\x1b[?1049h", "^[[?1049h");
        EXPECT("\x1b[>4m", "^[[>4m"); /* ends in m, but sets key reports */
        EXPECT("\x1b[ m", "^[[ m");
        EXPECT("\x1b[3\x1b[31m", "^[[3\x1b[31m\x1b[0m");
        EXPECT("\x1b\x1b[m", "^[\x1b[m\x1b[0m");
        EXPECT("\x1b[3\nx", "^[[3\nx");
        EXPECT("\x1b[3\xc3\xa9", "^[[3é");
        EXPECT("\x1b[1111111111111111111111111111111111111111m", "^[[1111111111111111111111111111111111111111m");
}

static void test_what_is_not_utf8(void **state) {
        (void)state;
        EXPECT("\x80", BAD);
        EXPECT("\x9b[2J", BAD "[2J");
        EXPECT("\xff\xfe", BAD BAD);
        EXPECT("\xc3(", BAD "(");
        EXPECT("\xc3\x1b[2J", BAD "^[[2J");
        EXPECT("\xe2\x82", BAD);
        EXPECT("\xc0\xaf", BAD BAD);     /* overlong */
        EXPECT("\xe0\x82\x9b", BAD);     /* overlong C1 */
        EXPECT("\xed\xa0\x80", BAD);     /* a surrogate */
        EXPECT("\xf4\x90\x80\x80", BAD); /* above U+10FFFF */
        EXPECT("\xf0\x9f\x98\xc3\xa9", BAD "é");
}

static void test_without_the_filter_all_passes(void **state) {
        static const char text[] = "\x1b]0;x\a\xff\0\x9b";
        CLEANUP_FREE char *got = NULL;
        size_t length;
        (void)state;
        struct terminal_stream stream = {.file = open_memstream(&got, &length)};
        assert_int_equal(terminal_write(&stream, text, sizeof(text)), 0);
        assert_int_equal(terminal_finish(&stream), 0);
        fclose(stream.file);
        assert_int_equal(length, sizeof(text));
        assert_memory_equal(got, text, length);
}

static void expect_line(const char *text, size_t length, const char *line) {
        CLEANUP_FREE char *got = terminal_line(text, length);
        assert_string_equal(got, line);
}
#define EXPECT_LINE(text, line) expect_line(text, sizeof(text) - 1, line)

static void test_lines(void **state) {
        (void)state;
        EXPECT_LINE("", "");
        EXPECT_LINE("naïve name.txt", "naïve name.txt");
        EXPECT_LINE("a\nb\tc\rd\x1b[31m\x7f", "a" BAD "b" BAD "c" BAD "d" BAD "[31m" BAD);
        EXPECT_LINE("a\0b", "a" BAD "b");
        EXPECT_LINE("\xc2\x9b\xff\xc3", BAD BAD BAD);
        EXPECT_LINE("\u202egpj.exe\u2066\u200f\u2028\ufeff\u061c", BAD "gpj.exe" BAD BAD BAD BAD BAD);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text_passes),
                cmocka_unit_test(test_colours_pass),
                cmocka_unit_test(test_controls_are_shown),
                cmocka_unit_test(test_other_sequences_are_shown),
                cmocka_unit_test(test_what_is_not_utf8),
                cmocka_unit_test(test_without_the_filter_all_passes),
                cmocka_unit_test(test_lines),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
