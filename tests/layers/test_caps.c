/*
 * Giving up capabilities alone: no filter, no Landlock, the host's namespaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer.h"
#include "sandbox/caps.h"

static int dropped(void) {
        return caps_drop_all();
}

static int only_kill(void) {
        return caps_keep_only(CAP_BIT(CAP_KILL));
}

/* A set of /proc/self/status. */
static uint64_t set_named(const char *name) {
        FILE *status = fopen("/proc/self/status", "r");
        char line[256], found[32];
        unsigned long long value = ~0ULL, read;

        while (status && fgets(line, sizeof line, status))
                if (sscanf(line, "%31[^:]: %llx", found, &read) == 2 && strcmp(found, name) == 0)
                        value = read;
        if (status)
                fclose(status);
        return value;
}

static long all_sets(const void *data) {
        static const char *const names[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

        (void)data;
        for (size_t i = 0; i < 5; i++)
                if (set_named(names[i]) != 0)
                        return (long)i + 1;
        return 0;
}

static void test_every_set_is_empty(void **state) {
        (void)state;
        layer_need_root();
        assert_int_not_equal(layer_run(NULL, all_sets, NULL).result, 0);
        assert_int_equal(layer_run(dropped, all_sets, NULL).result, 0);
}

/* Runs a shell as root, which exec would give everything, and asks it for its own sets. */
static long sets_after_exec(const void *data) {
        (void)data;
        return system("grep -qE '^Cap(Prm|Eff):[[:space:]]*0+$' /proc/self/status") == 0 ? 0 : 1;
}

/* A set-user-ID-root copy of grep looks at its own sets. */
static long sets_after_setuid_program(const void *data) {
        int status;
        pid_t pid = fork();

        (void)data;
        if (pid == 0) {
                execl("/opt/grep", "grep", "-qE", "^CapEff:[[:space:]]*0+$", "/proc/self/status", (char *)NULL);
                _exit(2);
        }
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

static void test_exec_gives_nothing_back(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(NULL, sets_after_exec, NULL).result, 1);
        assert_int_equal(layer_run(dropped, sets_after_exec, NULL).result, 0);
}

static int setuid_program(void) {
        if (mount("tmpfs", "/opt", "tmpfs", 0, NULL) < 0)
                return -errno;
        return system("cp /bin/grep /opt/grep && chmod 4755 /opt/grep") == 0 ? 0 : -EIO;
}

static int become_nobody(void) {
        return setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0
                       ? -errno
                       : 0;
}

static int program_and_nobody(void) {
        int r = setuid_program();

        return r < 0 ? r : become_nobody();
}

/* The order of a process that changes its user itself. */
static int program_and_dropped_nobody(void) {
        int r = setuid_program();

        if (r == 0)
                r = caps_keep_only(CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETPCAP));
        if (r == 0)
                r = become_nobody();
        return r < 0 ? r : caps_drop_all();
}

static void test_setuid_program_gives_nothing(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(program_and_nobody, sets_after_setuid_program, NULL).result, 1);
        assert_int_equal(layer_run(program_and_dropped_nobody, sets_after_setuid_program, NULL).result, 0);
}

static long privileged_acts(const void *data) {
        (void)data;
        if (mount("tmpfs", "/mnt", "tmpfs", 0, NULL) == 0 || errno != EPERM)
                return 1;
        if (unshare(CLONE_NEWNET) == 0 || errno != EPERM)
                return 2;
        if (chroot("/") == 0 || errno != EPERM)
                return 3;
        if (setresuid(1, 1, 1) == 0 || errno != EPERM)
                return 4;
        if (prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0 || errno != EPERM)
                return 5;
        if (prctl(PR_CAPBSET_DROP, CAP_KILL, 0, 0, 0) == 0 || errno != EPERM)
                return 6;
        return 0;
}

static void test_privileged_acts(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(NULL, privileged_acts, NULL).result, 1); /* the mount succeeds */
        assert_int_equal(layer_run(dropped, privileged_acts, NULL).result, 0);
}

static long what_is_left(const void *data) {
        (void)data;
        return set_named("CapInh") == 0 && set_named("CapAmb") == 0 && set_named("CapEff") == set_named("CapPrm") &&
                               set_named("CapBnd") == set_named("CapPrm")
                       ? (long)caps_effective()
                       : -1;
}

static void test_keep_some(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(only_kill, what_is_left, NULL).result, CAP_BIT(CAP_KILL));
}

static int nobody(void) {
        return become_nobody();
}

static int nobody_for_good(void) {
        int r = become_nobody();

        return r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : r;
}

static long drop_again(const void *data) {
        return *(const int *)data ? caps_keep_only(CAP_BIT(CAP_SYS_ADMIN)) : caps_drop_all();
}

static void test_without_the_privilege_to_drop(void **state) {
        const int all = 0, some = 1;

        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(only_kill, drop_again, &all).result, -EPERM);
        assert_int_equal(layer_run(nobody, drop_again, &all).result, -EPERM); /* a set-user-ID program would gain */
        assert_int_equal(layer_run(nobody_for_good, drop_again, &all).result, 0);
        assert_int_equal(layer_run(nobody_for_good, drop_again, &some).result, -EPERM);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_set_is_empty),
                cmocka_unit_test(test_exec_gives_nothing_back),
                cmocka_unit_test(test_setuid_program_gives_nothing),
                cmocka_unit_test(test_privileged_acts),
                cmocka_unit_test(test_keep_some),
                cmocka_unit_test(test_without_the_privilege_to_drop),
        };

        return cmocka_run_group_tests_name("capabilities, nothing else", tests, NULL, NULL);
}
