/* Names of input files: what a client may and may not call a file, alone and together. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/input_names.h"
#include "run/text.h"

#define NAME(text)                                                                                                     \
        { text, sizeof(text) - 1, 0 }

static void takes_plain_relative_paths(void **state) {
        static const struct input_name good[] = {
                NAME("a"),
                NAME("data.csv"),
                NAME("in/data.csv"),
                NAME("..x"),
                NAME(".hidden"),
                NAME("a/..b/c"),
                NAME("-rf"),
                NAME("a b"),
                NAME("back\\slash"),
                NAME("con"),
                NAME("%2e%2e"),
                NAME("..."),
                NAME("Donn\xc3\xa9"
                     "es \xe2\x80\x93 \xc3\xa9t\xc3\xa9 1.csv"),
                NAME("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/x"),
        };
        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                struct err e = {0};
                if (input_name_check(&good[i], &e) != 0)
                        fail_msg("%s: %s", good[i].bytes, e.message);
        }
}

static void refuses_all_others_by_field(void **state) {
        static char long_part[257], long_name[1026];
        memset(long_part, 'x', 256);
        for (size_t i = 0; i < 1025; i++)
                long_name[i] = i % 200 == 199 ? '/' : 'y';
        const struct input_name bad[] = {
                NAME(""),
                NAME("."),
                NAME(".."),
                NAME("/etc/passwd"),
                NAME("../up.txt"),
                NAME("a/../../up.txt"),
                NAME("a/"),
                NAME("a//b"),
                NAME("a/./b"),
                NAME("a/.."),
                NAME("./a"),
                NAME("bad\0name"),
                NAME("a\nb"),
                NAME("a\x1b[31m"),
                NAME("a\x7f"),
                NAME("/"),
                NAME("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/x"),
                {long_part, 256, 0},
                {long_name, 1025, 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct input_name name = bad[i];
                struct err e = {0};
                name.index = 7;
                if (input_name_check(&name, &e) != -EINVAL)
                        fail_msg("taken: %s", name.bytes);
                assert_string_equal(e.field, "files[7].name");
                assert_non_null(strstr(e.message, "cannot be the name"));
        }
}

static void a_message_never_cuts_a_character(void **state) {
        char name[400] = "";
        struct err e;
        (void)state;
        for (int i = 0; i < 100; i++)
                strcat(name, "\xe4\xbd\xa0");
        for (int shift = 0; shift < 3; shift++) {
                struct input_name bad = {name + 0, strlen(name), 0};
                memmove(name + 1, name, strlen(name) + 1);
                name[0] = 'a';
                bad.length = strlen(name);
                assert_int_equal(input_name_check(&bad, &e), -EINVAL);
                assert_int_equal(text_valid_prefix(e.message, strlen(e.message)), strlen(e.message));
        }
}

static int check_together(const char *const *texts, size_t count, struct err *e) {
        struct input_name names[8];
        for (size_t i = 0; i < count; i++)
                names[i] = (struct input_name){texts[i], strlen(texts[i]), i};
        *e = (struct err){0};
        return input_names_check_together(names, count, e);
}

static void names_are_checked_against_each_other(void **state) {
        struct err e;
        (void)state;
        assert_int_equal(check_together((const char *[]){"b", "a", "a/b"}, 2, &e), 0);
        assert_int_equal(check_together((const char *[]){"a/b", "a/c", "a.b", "A"}, 4, &e), 0);
        assert_int_equal(check_together((const char *[]){"a", "c", "a"}, 3, &e), -EINVAL);
        assert_string_equal(e.field, "files[2].name");
        assert_non_null(strstr(e.message, "\"a\""));
        /* "a" and "a/b" are not neighbours in sorted order. */
        assert_int_equal(check_together((const char *[]){"a/b", "a!", "a"}, 3, &e), -EINVAL);
        assert_string_equal(e.field, "files[0].name");
        assert_int_equal(check_together((const char *[]){"x/y", "x/y/z/t"}, 2, &e), -EINVAL);
        assert_string_equal(e.field, "files[1].name");
        assert_int_equal(check_together(NULL, 0, &e), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_plain_relative_paths),
                cmocka_unit_test(refuses_all_others_by_field),
                cmocka_unit_test(a_message_never_cuts_a_character),
                cmocka_unit_test(names_are_checked_against_each_other),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
