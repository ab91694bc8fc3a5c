/* Bytes as text and text as JSON: U+FFFD in the right places, nothing lost, whatever the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "run/json_out.h"
#include "run/text.h"

#define R TEXT_REPLACEMENT
#define CASE(input, output)                                                                                            \
        { input, sizeof(input) - 1, output, sizeof(output) - 1 }

static const struct {
        const char *input;
        size_t input_length;
        const char *output;
        size_t output_length;
} cases[] = {
        CASE("", ""),
        CASE("plain", "plain"),
        CASE("a\0b", "a\0b"),
        CASE("\"\\/\b\f\n\r\t\x01\x1f\x7f", "\"\\/\b\f\n\r\t\x01\x1f\x7f"),
        CASE("h\xc3\xa9llo \xe4\xbd\xa0 \xf0\x9f\x90\x8d", "h\xc3\xa9llo \xe4\xbd\xa0 \xf0\x9f\x90\x8d"),
        CASE("\xff\xfe abc\n", R R " abc\n"),
        CASE("\x80", R),
        CASE("\xc0\xaf", R R),             /* "/" in two bytes */
        CASE("\xe0\x80\xaf", R R R),       /* in three */
        CASE("\xf0\x80\x80\xaf", R R R R), /* in four */
        CASE("\xed\xa0\x80", R R R),       /* a surrogate */
        CASE("\xf4\x90\x80\x80", R R R R), /* above U+10FFFF */
        CASE("\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"),
        CASE("\xe4\xbd", R), /* cut off: one for the whole beginning */
        CASE("\xf0\x9f\x90", R),
        CASE("\xe4\xbdz", R "z"),
        CASE("\xf0\x9f\x90\xe4\xbd\xa0", R "\xe4\xbd\xa0"),
        CASE("\xc3(", R "("),
        /* The example of the Unicode standard, table 3-8. */
        CASE("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"),
};

static void shows_what_is_not_utf8(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct json_out out;
                json_out_init(&out, 0);
                json_out_bytes(&out, cases[i].input, cases[i].input_length);
                assert_false(out.failed);
                json_t *value = json_loadb(out.bytes, out.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                assert_non_null(value);
                assert_int_equal(json_string_length(value), cases[i].output_length);
                assert_memory_equal(json_string_value(value), cases[i].output, cases[i].output_length);
                json_decref(value);
                json_out_deinit(&out);
        }
}

/* A slow decoder, written down from the definition, to compare with. */
static size_t replace_slowly(const unsigned char *bytes, size_t length, char *to) {
        static const struct {
                unsigned char low, high, second_low, second_high;
                size_t length;
        } forms[] = {
                {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
        };
        size_t used = 0;
        for (size_t i = 0; i < length;) {
                size_t good = 0, wanted = 0;
                for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
                        if (bytes[i] >= forms[f].low && bytes[i] <= forms[f].high) {
                                wanted = forms[f].length;
                                for (good = 1; good < wanted && i + good < length; good++) {
                                        unsigned char low = good == 1 ? forms[f].second_low : 0x80;
                                        unsigned char high = good == 1 ? forms[f].second_high : 0xbf;
                                        if (bytes[i + good] < low || bytes[i + good] > high)
                                                break;
                                }
                        }
                if (wanted > 0 && good == wanted) {
                        memcpy(to + used, bytes + i, wanted);
                        used += wanted;
                        i += wanted;
                } else {
                        memcpy(to + used, R, 3);
                        used += 3;
                        i += good > 0 ? good : 1;
                }
        }
        return used;
}

static void agrees_with_the_definition_on_random_bytes(void **state) {
        static const unsigned char interesting[] = {0x00, 'a',  '"',  '\\', 0x7f, 0x80, 0x8f, 0x90,
                                                    0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
                                                    0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
        (void)state;
        srand(3);
        for (int round = 0; round < 20000; round++) {
                unsigned char bytes[24];
                char expected[3 * sizeof(bytes)];
                size_t length = (size_t)rand() % sizeof(bytes);
                for (size_t i = 0; i < length; i++)
                        bytes[i] = interesting[(size_t)rand() % sizeof(interesting)];
                size_t expected_length = replace_slowly(bytes, length, expected);

                struct json_out out;
                json_out_init(&out, 0);
                json_out_bytes(&out, (const char *)bytes, length);
                json_t *value = json_loadb(out.bytes, out.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                assert_non_null(value);
                assert_int_equal(json_string_length(value), expected_length);
                assert_memory_equal(json_string_value(value), expected, expected_length);
                json_decref(value);
                json_out_deinit(&out);

                bool is_valid = expected_length == length && memcmp(expected, bytes, length) == 0;
                assert_int_equal(text_valid_prefix((const char *)bytes, length) == length, is_valid);
        }
}

static void finds_characters_that_are_cut(void **state) {
        static const char snake[] = "x\xf0\x9f\x90\x8d";
        (void)state;
        assert_int_equal(text_cut_off(snake, 1), 0);
        assert_int_equal(text_cut_off(snake, 2), 1);
        assert_int_equal(text_cut_off(snake, 3), 2);
        assert_int_equal(text_cut_off(snake, 4), 3);
        assert_int_equal(text_cut_off(snake, 5), 0);
        assert_int_equal(text_cut_off("\xc0", 1), 0); /* never the beginning of anything */
        assert_int_equal(text_cut_off("\x80\x80\x80\x80", 4), 0);
        assert_int_equal(text_cut_off("", 0), 0);
        assert_int_equal(text_left_over(snake + 2, 3), 3);
        assert_int_equal(text_left_over(snake + 1, 4), 0);
        assert_int_equal(text_left_over("\x80\x80\x80\x80\x80", 5), 3);
        assert_int_equal(text_left_over("", 0), 0);
}

static void writes_members(void **state) {
        struct json_out out;
        (void)state;
        json_out_init(&out, 0);
        json_out_open(&out, '{');
        json_out_member_string(&out, "a", "x");
        json_out_member_string(&out, "n", NULL);
        json_out_member_int(&out, "i", -7);
        json_out_member_bool(&out, "b", true);
        json_out_member_milli(&out, "m0", 0);
        json_out_member_milli(&out, "m1", 412);
        json_out_member_milli(&out, "m2", 1500);
        json_out_member_milli(&out, "m3", 20000);
        json_out_key(&out, "l");
        json_out_open(&out, '[');
        json_out_raw(&out, "{}", 2);
        json_out_open(&out, '[');
        json_out_close(&out, ']');
        json_out_base64(&out, "\x00\xff", 2);
        json_out_base64(&out, "", 0);
        json_out_close(&out, ']');
        json_out_close(&out, '}');
        static const char expected[] = "{\"a\":\"x\",\"n\":null,\"i\":-7,\"b\":true,\"m0\":0,\"m1\":0.412,\"m2\":1.5,"
                                       "\"m3\":20,\"l\":[{},[],\"AP8=\",\"\"]}";
        assert_int_equal(out.used, sizeof(expected) - 1);
        assert_memory_equal(out.bytes, expected, out.used);
        json_out_deinit(&out);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shows_what_is_not_utf8),
                cmocka_unit_test(agrees_with_the_definition_on_random_bytes),
                cmocka_unit_test(finds_characters_that_are_cut),
                cmocka_unit_test(writes_members),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
