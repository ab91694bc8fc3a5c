/*
 * The compiler of policies, which is the argument of this program: what it takes, and that it says what is wrong where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *compiler;
static char folder[] = "/tmp/compile-seccomp-XXXXXX";
static char said[4096];

static void put(const char *name, const char *text) {
        char path[128];
        FILE *out;

        snprintf(path, sizeof path, "%s/%s", folder, name);
        out = fopen(path, "w");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
}

/* Compiles a policy of this text; returns the exit status, and keeps what was said. */
static int compile(const char *text) {
        char command[1024];
        FILE *pipe;
        size_t length;

        put("test.policy", text);
        snprintf(command, sizeof command, "'%s' %s/out.h %s/test.policy 2>&1", compiler, folder, folder);
        pipe = popen(command, "r");
        assert_non_null(pipe);
        length = fread(said, 1, sizeof said - 1, pipe);
        said[length] = '\0';
        return WEXITSTATUS(pclose(pipe));
}

static void expect_good(const char *text) {
        if (compile(text) != 0)
                fail_msg("%s", said);
        assert_string_equal(said, "");
}

static void expect_bad(const char *text, const char *words) {
        assert_int_equal(compile(text), 1);
        if (!strstr(said, words))
                fail_msg("said \"%s\", without \"%s\"", said, words);
}

/* Text of the header, and how many instructions the first array has. */
static size_t header(char *ret, size_t size) {
        char path[128];
        size_t length, count = 0;
        FILE *in;

        snprintf(path, sizeof path, "%s/out.h", folder);
        in = fopen(path, "r");
        assert_non_null(in);
        length = fread(ret, 1, size - 1, in);
        ret[length] = '\0';
        fclose(in);
        for (const char *at = ret; (at = strstr(at, "{0x")) && at < strstr(ret, "};"); at++)
                count++;
        return count;
}

static void test_names(void **state) {
        (void)state;
        expect_good("default ENOSYS\nallow read\n");
        expect_good("default ENOSYS\nallow open fork\n"); /* on one architecture only */
        expect_bad("default ENOSYS\nallow read\nallow raed\n",
                   "test.policy:3: no architecture has a system call \"raed\"");
        expect_bad("default ENOSYS\nallow read\n\nallow write read\n", "test.policy:4: read is named twice");
        expect_bad("default ENOSYS\ndeny EWHAT read\n", "\"EWHAT\" is not an error");
        expect_bad("default ENOSYS\ngrant read\n", "unknown statement \"grant\"");
        expect_bad("default ENOSYS\nallow\n", "allow what?");
        expect_bad("allow read\n", "no default");
        expect_bad("default ENOSYS\ndefault EPERM\n", "a second default");
        expect_bad("default ENOSYS EPERM\n", "\"EPERM\" was not expected");
        expect_bad("", "no default");
}

static void test_conditions(void **state) {
        (void)state;
        expect_good("default ENOSYS\nallow socket if arg0 == AF_UNIX else EAFNOSUPPORT\n");
        expect_good("default ENOSYS\nallow socket if arg0 in 1 0x2 and arg1 & 3|4 == 3 else EPERM # why\n");
        expect_good("default ENOSYS\nallow socket if arg0 == 1 or arg0 in 2 10 and arg1 & 0xf in 1 2 else EPERM\n");
        expect_bad("default ENOSYS\nallow socket if arg0 == 1 or else EPERM\n", "\"else\" is not an argument");
        expect_bad("default ENOSYS\nallow socket if arg1 & 1 in 1 2 else EPERM\n", "can never have this value");
        expect_bad("default ENOSYS\nallow socket if arg0 == AF_UNIX\n", "a test needs \"else ERRNO\"");
        expect_bad("default ENOSYS\nallow socket if arg6 == 1 else EPERM\n", "\"arg6\" is not an argument");
        expect_bad("default ENOSYS\nallow socket if arg0 = 1 else EPERM\n", "expected ==, in or &");
        expect_bad("default ENOSYS\nallow socket if arg0 in else EPERM\n", "\"in\" without values");
        expect_bad("default ENOSYS\nallow socket if arg0 == AF_WHAT else EPERM\n", "\"AF_WHAT\" is neither");
        expect_bad("default ENOSYS\nallow socket if arg0 == 0x100000000 else EPERM\n", "neither a number of 32 bits");
        expect_bad("default ENOSYS\nallow socket if arg0 & 1 == 2 else EPERM\n", "can never have this value");
        expect_bad("default ENOSYS\ndeny EPERM socket if arg0 == 1 else ENOSYS\n",
                   "only \"allow\" can have a condition");
        expect_bad("default ENOSYS\nallow socket if\n  arg0 == 1\n", "test.policy:2: ");
}

static void test_include_and_override(void **state) {
        (void)state;
        put("base.policy", "default ENOSYS\nallow read\nattack ptrace\n");
        expect_good("include base.policy\noverride deny EPERM read\n");
        expect_bad("include base.policy\ndeny EPERM read\n", "test.policy:2: read is named twice");
        expect_bad("include base.policy\noverride allow write\n", "nothing to override about write");
        expect_bad("include none.policy\n", "none.policy: No such file");
        put("base.policy", "default ENOSYS\n\nallow raed\n");
        expect_bad("include base.policy\n", "base.policy:3: ");
}

static void test_attacks_make_a_second_filter(void **state) {
        static char text[1 << 16];

        (void)state;
        expect_good("default ENOSYS\nallow read\n");
        header(text, sizeof text);
        assert_non_null(strstr(text, "test_x86_64[]"));
        assert_non_null(strstr(text, "test_aarch64[]"));
        assert_null(strstr(text, "attacks"));
        expect_good("default ENOSYS\nallow read\nattack ptrace\n");
        header(text, sizeof text);
        assert_non_null(strstr(text, "test_attacks_x86_64[]"));
        expect_good("default ENOSYS\nallow read\nattack ptrace\nattacks unlogged\n");
        header(text, sizeof text);
        assert_null(strstr(text, "test_attacks_x86_64[]"));
}

/* Neighbours that are treated alike become one range; what equals the default costs nothing. */
static void test_size(void **state) {
        static char text[1 << 16];
        size_t one, four, redundant;

        (void)state;
        expect_good("default ENOSYS\nallow read\n");
        one = header(text, sizeof text);
        expect_good("default ENOSYS\nallow read write open close\n"); /* 0 to 3 on x86_64 */
        four = header(text, sizeof text);
        expect_good("default ENOSYS\nallow read\ndeny ENOSYS mount\n");
        redundant = header(text, sizeof text);
        assert_true(one > 0);
        assert_int_equal(one, four);
        assert_int_equal(one, redundant);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_conditions),
                cmocka_unit_test(test_include_and_override),
                cmocka_unit_test(test_attacks_make_a_second_filter),
                cmocka_unit_test(test_size),
        };
        char command[128];
        int failed;

        if (argc != 2 || !mkdtemp(folder)) {
                fprintf(stderr, "usage: test_compile_seccomp COMPILER\n");
                return 2;
        }
        compiler = argv[1];
        failed = cmocka_run_group_tests_name("compiler of policies", tests, NULL, NULL);
        snprintf(command, sizeof command, "rm -r %s", folder);
        return system(command) == 0 ? failed : 1;
}
