/* Long strings past jansson: whatever way a body is read, the result is the same. */
#include <setjmp.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/json.h"
#include "api/json_long.h"
#include "base/cleanup.h"

#define FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

static json_t *read_past(const char *text, size_t length, size_t threshold, struct err *e) {
        struct json_long taken;
        *e = (struct err){.code = 0};
        if (json_long_take(&taken, text, length, threshold, e) < 0) {
                assert_null(taken.rest);
                return NULL;
        }
        json_t *tree = taken.rest ? json_loadb(taken.rest, taken.rest_length, FLAGS, NULL)
                                  : json_loadb(text, length, FLAGS, NULL);
        if (tree)
                assert_int_equal(json_long_restore(&taken, tree), 0);
        json_long_deinit(&taken);
        return tree;
}

static uint32_t random_state = 1;

static uint32_t random_number(uint32_t below) {
        random_state = random_state * 1664525 + 1013904223;
        return (random_state >> 8) % below;
}

static size_t put(char *to, size_t used, const char *part, size_t length) {
        memcpy(to + used, part, length);
        return used + length;
}

/* A string of parts that are nearly right, between quotes. */
static size_t put_string(char *to, size_t used) {
        static const char *const parts[] = {
                "a",
                "bcdefgh",
                "ü",
                "\xf0\x9f\x98\x80",
                "\\n",
                "\\\"",
                "\\\\",
                "\\/",
                "\\b",
                "\\u0041",
                "\\u00e9",
                "\\u20AC",
                "\\ud83d\\ude00",
                " ",
                "{",
                "]",
                ",",
                ":",
                "'",
                /* from here on mostly wrong */
                "\\ud83d",
                "\\ude00",
                "\\x",
                "\\u12",
                "\\u12g4",
                "\n",
                "\x01",
                "\xff",
                "\xc3",
                "\xed\xa0\x80",
                "\\",
        };
        bool wrong = random_number(10) == 0;
        used = put(to, used, "\"", 1);
        for (uint32_t count = random_number(12); count--;) {
                const char *part = parts[random_number(wrong ? ARRAY_SIZE(parts) : 19)];
                used = put(to, used, part, strlen(part));
                if (random_number(50) == 0)
                        used = put(to, used, "\\u0000", 6);
        }
        return put(to, used, "\"", 1);
}

static size_t put_value(char *to, size_t used, int depth) {
        uint32_t count = random_number(4);
        switch (depth ? random_number(5) : 2) {
        case 0:
                return put(to, used, "[1 ,true]", 9);
        case 1:
                used = put(to, used, "[", 1);
                for (uint32_t i = 0; i < count; i++) {
                        used = put(to, used, ", ", i ? 2 : 0);
                        used = put_value(to, used, depth - 1);
                }
                return put(to, used, "]", 1);
        case 2:
                used = put(to, used, "{", 1);
                for (uint32_t i = 0; i < count; i++) {
                        char name[16];
                        int length = sprintf(name, "%s\"%c\"%s:", i ? "," : "", (char)('a' + i), i ? "" : " \n");
                        used = put(to, used, name, (size_t)length);
                        used = put_value(to, used, depth - 1);
                }
                return put(to, used, "}", 1);
        default:
                return put_string(to, used);
        }
}

static void reads_as_jansson_reads(void **state) {
        unsigned good = 0, bad = 0;
        (void)state;
        for (int round = 0; round < 100000; round++) {
                static char text[1 << 16];
                struct err e;
                size_t length = put_value(text, 0, 3);
                if (random_number(20) == 0)
                        text[random_number((uint32_t)length)] = (char)random_number(256);
                json_t *wanted = json_loadb(text, length, FLAGS, NULL);
                json_t *got = read_past(text, length, 2 + random_number(20), &e);
                /* Names may not be long; that is the one thing that differs, and it only refuses more. */
                bool long_name = strncmp(e.message, "A name", 6) == 0;
                if (!long_name && !json_equal(wanted, got) && (wanted || got))
                        fail_msg("differs: %.*s", (int)length, text);
                good += wanted && got;
                bad += !wanted && !got;
                json_decref(wanted);
                json_decref(got);
        }
        assert_true(good > 10000 && bad > 1000);
}

static void takes_megabytes(void **state) {
        const size_t size = 5 << 20;
        CLEANUP_FREE char *text = malloc(size + 100);
        struct err e;
        json_t *object;
        (void)state;
        assert_non_null(text);
        size_t used = (size_t)sprintf(text, "{\"code\": \"");
        memset(text + used, 'x', size);
        memcpy(text + used + size, "\\n\", \"b\": [1]}", 14);
        assert_int_equal(json_parse_object(text, used + size + 14, &object, &e), 0);
        assert_int_equal(json_string_length(json_object_get(object, "code")), size + 1);
        assert_int_equal(json_array_size(json_object_get(object, "b")), 1);
        json_decref(object);

        text[used + size / 2] = '\xff';
        assert_int_equal(json_parse_object(text, used + size + 14, &object, &e), -EINVAL);
        assert_non_null(strstr(e.message, "UTF-8"));
        text[used + size / 2] = '\n';
        assert_int_equal(json_parse_object(text, used + size + 14, &object, &e), -EINVAL);
        text[used + size / 2] = '\\';
        assert_int_equal(json_parse_object(text, used + size + 14, &object, &e), -EINVAL);
        text[used + size / 2] = '"';
        assert_int_equal(json_parse_object(text, used + size + 14, &object, &e), -EINVAL);
}

static void refuses_long_names(void **state) {
        CLEANUP_FREE char *text = malloc(JSON_LONG_BYTES + 100);
        struct err e;
        json_t *object;
        (void)state;
        assert_non_null(text);
        memset(text, 'x', JSON_LONG_BYTES + 100);
        memcpy(text, "{\"", 2);
        memcpy(text + JSON_LONG_BYTES + 2, "\" \t: 1}", 7);
        assert_int_equal(json_parse_object(text, JSON_LONG_BYTES + 9, &object, &e), -EINVAL);
        assert_non_null(strstr(e.message, "A name"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_as_jansson_reads),
                cmocka_unit_test(takes_megabytes),
                cmocka_unit_test(refuses_long_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
