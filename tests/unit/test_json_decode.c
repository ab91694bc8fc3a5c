/* Strict decoding of JSON: what is refused, and which field is named. */
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
#include "base/cleanup.h"

#define PARSE(text, e) parse(text, sizeof(text) - 1, e)

static json_t *parse(const char *text, size_t length, struct err *e) {
        json_t *object = NULL;
        *e = (struct err){.code = 0};
        int r = json_parse_object(text, length, &object, e);
        assert_true((r == 0) == (object != NULL));
        return object;
}

static void refuses_what_is_not_json(void **state) {
        static const struct {
                const char *text;
                size_t length;
        } bad[] = {
#define BAD(text) {text, sizeof(text) - 1}
                BAD(""),
                BAD(" "),
                BAD("{"),
                BAD("}"),
                BAD("null"),
                BAD("1"),
                BAD("\"a\""),
                BAD("[]"),
                BAD("[{}]"),
                BAD("{} {}"),
                BAD("{}x"),
                BAD("{\"a\":1,}"),
                BAD("{'a':1}"),
                BAD("{a:1}"),
                BAD("{\"a\":01}"),
                BAD("{\"a\":+1}"),
                BAD("{\"a\":.5}"),
                BAD("{\"a\":1.}"),
                BAD("{\"a\":NaN}"),
                BAD("{\"a\":Infinity}"),
                BAD("{\"a\":1e999}"),
                BAD("{\"a\":\"\t\"}"),
                BAD("{\"a\":\"\n\"}"),
                BAD("{\"a\":\"\\x41\"}"),
                BAD("{\"a\":\"\\u12\"}"),
                BAD("{\"a\":\"\0\"}"),
                BAD("{\0}"),
                BAD("{}\0"),
                BAD("{\"a\\u0000\":1}"),
                BAD("\xef\xbb\xbf{}"),
                /* not UTF-8: a stray byte, an overlong form, a surrogate, above U+10FFFF, cut off */
                BAD("{\"a\":\"\xff\"}"),
                BAD("{\"a\":\"\xc0\xaf\"}"),
                BAD("{\"a\":\"\xed\xa0\x80\"}"),
                BAD("{\"a\":\"\xf4\x90\x80\x80\"}"),
                BAD("{\"a\":\"\xe2\x82\"}"),
                BAD("{\"\xff\":1}"),
                /* surrogates alone and the wrong way round */
                BAD("{\"a\":\"\\ud800\"}"),
                BAD("{\"a\":\"\\udc00\"}"),
                BAD("{\"a\":\"\\ud800x\"}"),
                BAD("{\"a\":\"\\ud800\\u0041\"}"),
                BAD("{\"a\":\"\\udc00\\ud800\"}"),
                BAD("{\"a\":1,\"a\":1}"),
                BAD("{\"a\":{\"b\":1,\"b\":2}}"),
                BAD("{\"a\":1,\"\\u0061\":2}"),
#undef BAD
        };
        struct err e;
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                if (parse(bad[i].text, bad[i].length, &e))
                        fail_msg("taken: %s", bad[i].text);
                assert_true(strlen(e.message) > 10);
        }
}

static void takes_what_is_json(void **state) {
        struct err e;
        json_t *object = PARSE(
                " {\"a\": \"\\ud83d\\ude00\\u0000\xf0\x9f\x98\x80\", \"b\": [1, -2.5e3, true, null, {}]}\r\n", &e);
        (void)state;
        assert_non_null(object);
        json_t *a = json_object_get(object, "a");
        assert_int_equal(json_string_length(a), 9);
        assert_memory_equal(json_string_value(a), "\xf0\x9f\x98\x80\0\xf0\x9f\x98\x80", 9);
        json_decref(object);
}

static void names_a_duplicate(void **state) {
        struct err e;
        (void)state;
        assert_null(PARSE("{\"code\": 1, \"code\": 2}", &e));
        assert_string_equal(e.field, "code");
        assert_null(PARSE("{\"<a>\": 1, \"<a>\": 2}", &e));
        assert_string_equal(e.field, "");
}

static json_t *nest(unsigned depth, const char *open, const char *close, struct err *e) {
        CLEANUP_FREE char *text = calloc(depth + 1, strlen(open) + strlen(close));
        assert_non_null(text);
        for (unsigned i = 0; i < depth; i++)
                strcat(text, open);
        strcat(text, "1");
        for (unsigned i = 0; i < depth; i++)
                strcat(text, close);
        return parse(text, strlen(text), e);
}

static void bounds_depth(void **state) {
        struct err e;
        (void)state;
        json_t *object = nest(JSON_DEPTH_MAX, "{\"a\":", "}", &e);
        assert_non_null(object);
        json_decref(object);
        assert_null(nest(JSON_DEPTH_MAX + 1, "{\"a\":", "}", &e));
        assert_non_null(strstr(e.message, "64"));
        /* Brackets in strings are no depth. */
        object = PARSE(
                "{\"a\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[\"}", &e);
        assert_non_null(object);
        json_decref(object);
}

static void bounds_the_number_of_values(void **state) {
        static char text[2 * JSON_VALUES_MAX + 100] = "{\"a\":[0";
        size_t used = strlen(text);
        struct err e;
        (void)state;
        for (int i = 0; i < JSON_VALUES_MAX - 2; i++, used += 2)
                memcpy(text + used, ",0", 2);
        memcpy(text + used, "]}", 2);
        json_t *object = parse(text, used + 2, &e);
        assert_non_null(object);
        json_decref(object);
        memcpy(text + used, ",0]}", 4);
        assert_null(parse(text, used + 4, &e));
        assert_non_null(strstr(e.message, "20000"));
}

/* ---- fields */

static json_t *name, *number, *whole, *flag, *list, *map, *any;
static const struct json_field fields[] = {
        {.name = "name", .want = JSON_WANT_STRING, .required = true, .min = 1, .max = 5, .value = &name},
        {.name = "number", .want = JSON_WANT_NUMBER, .above_min = true, .max = 60, .value = &number},
        {.name = "whole", .want = JSON_WANT_INTEGER, .min = 1, .max = 3, .value = &whole},
        {.name = "flag", .want = JSON_WANT_BOOL, .value = &flag},
        {.name = "list", .want = JSON_WANT_ARRAY, .max = 2, .value = &list},
        {.name = "map", .want = JSON_WANT_OBJECT, .value = &map},
        {.name = "any", .want = JSON_WANT_ANY, .value = &any},
        {.name = "text", .want = JSON_WANT_STRING, .nul_allowed = true},
};

static int decode(const char *text, struct err *e) {
        json_t *object = parse(text, strlen(text), e);
        assert_non_null(object);
        int r = json_decode(object, "", fields, ARRAY_SIZE(fields), e);
        json_decref(object);
        return r;
}

static void names_the_field_at_fault(void **state) {
        static const char *const bad[][2] = {
                {"{}", "name"},
                {"{\"name\": null}", "name"},
                {"{\"name\": \"\"}", "name"},
                {"{\"name\": \"123456\"}", "name"},
                {"{\"name\": 5}", "name"},
                {"{\"name\": \"a\\u0000\"}", "name"},
                {"{\"name\": \"a\", \"nam\": 1}", "nam"},
                {"{\"name\": \"a\", \"Name\": 1}", "Name"},
                {"{\"name\": \"a\", \"number\": 0}", "number"},
                {"{\"name\": \"a\", \"number\": -1}", "number"},
                {"{\"name\": \"a\", \"number\": 60.001}", "number"},
                {"{\"name\": \"a\", \"number\": \"1\"}", "number"},
                {"{\"name\": \"a\", \"number\": true}", "number"},
                {"{\"name\": \"a\", \"whole\": 1.0}", "whole"},
                {"{\"name\": \"a\", \"whole\": 4}", "whole"},
                {"{\"name\": \"a\", \"whole\": 0}", "whole"},
                {"{\"name\": \"a\", \"flag\": 1}", "flag"},
                {"{\"name\": \"a\", \"flag\": \"true\"}", "flag"},
                {"{\"name\": \"a\", \"list\": {}}", "list"},
                {"{\"name\": \"a\", \"list\": [1, 2, 3]}", "list"},
                {"{\"name\": \"a\", \"map\": []}", "map"},
                {"{\"name\": \"a\", \"whole\": null}", "whole"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                struct err e;
                if (decode(bad[i][0], &e) != -EINVAL)
                        fail_msg("taken: %s", bad[i][0]);
                assert_string_equal(e.field, bad[i][1]);
                assert_non_null(strstr(e.message, bad[i][1]));
        }
}

static void hands_out_members(void **state) {
        struct err e;
        (void)state;
        json_t *object =
                PARSE("{\"name\": \"abc\", \"number\": 60, \"any\": null, \"text\": \"\\u0000\"}", &e);
        assert_int_equal(json_decode(object, "", fields, ARRAY_SIZE(fields), &e), 0);
        assert_string_equal(json_string_value(name), "abc");
        assert_true(json_number_value(number) == 60);
        assert_null(whole);
        assert_null(flag);
        assert_true(json_is_null(any));
        json_decref(object);
}

static void puts_the_place_before_the_name(void **state) {
        struct err e;
        (void)state;
        json_t *object = PARSE("{\"name\": \"a\", \"x\": 1}", &e);
        assert_int_equal(json_decode(object, "files[3].", fields, ARRAY_SIZE(fields), &e), -EINVAL);
        assert_string_equal(e.field, "files[3].x");
        json_decref(object);
}

static void makes_text_of_any_bytes(void **state) {
        static const struct {
                const char *from;
                size_t length;
                const char *to;
                size_t to_length;
        } cases[] = {
                {"", 0, "", 0},
                {"abc", 3, "abc", 3},
                {"a\0b", 3, "a\0b", 3},
                {"\xff", 1, "\xef\xbf\xbd", 3},
                {"a\xe2\x82", 3, "a\xef\xbf\xbd", 4},
                {"\xe2\x82z\xf0\x9f\x98\x80", 7, "\xef\xbf\xbdz\xf0\x9f\x98\x80", 8},
                {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 9},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                json_t *string = json_string_lossy(cases[i].from, cases[i].length);
                assert_int_equal(json_string_length(string), cases[i].to_length);
                assert_memory_equal(json_string_value(string), cases[i].to, cases[i].to_length);
                json_decref(string);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(refuses_what_is_not_json),    cmocka_unit_test(takes_what_is_json),
                cmocka_unit_test(names_a_duplicate),           cmocka_unit_test(bounds_depth),
                cmocka_unit_test(bounds_the_number_of_values), cmocka_unit_test(names_the_field_at_fault),
                cmocka_unit_test(hands_out_members),           cmocka_unit_test(puts_the_place_before_the_name),
                cmocka_unit_test(makes_text_of_any_bytes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
