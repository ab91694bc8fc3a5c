/*
 * Honest work under each layer alone, and under both: workloads.py with the Python that is named by PYTHON, or python3.
 *
 * The script is the argument of this program; its output is shown if it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

static const char *script;

/* The places hide folders in which the script may lie, so it is copied into them. */
static int places(void) {
        char command[4200];
        int fd = open(script, O_RDONLY), r; /* stays open for cp */

        if (fd < 0)
                return -errno;
        r = layer_make_places();
        snprintf(command, sizeof command, "cp /proc/self/fd/%d /home/nonroot/workloads.py", fd);
        if (r == 0 && (system(command) != 0 || chdir("/mnt/data") < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
                r = -EIO;
        return r;
}

static int with_filters(void) {
        int r = places();

        if (r == 0)
                r = seccomp_load(SECCOMP_TEMPLATE);
        return r < 0 ? r : seccomp_load(SECCOMP_SNIPPET);
}

static int with_landlock(void) {
        int r = places();

        return r < 0 ? r : landlock_confine_snippet();
}

/* Without capabilities root is an ordinary user of what it owns. */
static int without_capabilities(void) {
        int r = places();

        return r < 0 ? r : caps_drop_all();
}

static int with_all(void) {
        int r = places();

        if (r == 0)
                r = caps_drop_all();
        if (r == 0)
                r = landlock_confine_snippet();
        if (r >= 0)
                r = seccomp_load(SECCOMP_TEMPLATE);
        return r < 0 ? r : seccomp_load(SECCOMP_SNIPPET);
}

static long work(const void *data) {
        const char *python = getenv("PYTHON");
        int status;
        pid_t pid;

        (void)data;
        alarm(120);
        pid = fork();
        if (pid == 0) {
                execlp(python ? python : "python3", "python3", "/home/nonroot/workloads.py", "/mnt/data", (char *)NULL);
                _exit(127);
        }
        return waitpid(pid, &status, 0) == pid ? status : -errno;
}

static void try(int (*confine)(void)) {
        layer_need_root();
        assert_int_equal(layer_run(confine, work, NULL).result, 0);
}

static void test_unconfined(void **state) {
        (void)state;
        try(places);
}

static void test_filters(void **state) {
        (void)state;
        try(with_filters);
}

static void test_landlock(void **state) {
        (void)state;
        if (landlock_abi() < 2)
                skip();
        try(with_landlock);
}

static void test_no_capabilities(void **state) {
        (void)state;
        try(without_capabilities);
}

static void test_all(void **state) {
        (void)state;
        try(with_all);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_unconfined),      cmocka_unit_test(test_filters), cmocka_unit_test(test_landlock),
                cmocka_unit_test(test_no_capabilities), cmocka_unit_test(test_all),
        };

        if (argc != 2) {
                fprintf(stderr, "usage: test_workloads WORKLOADS.py\n");
                return 2;
        }
        script = argv[1];
        return cmocka_run_group_tests_name("honest work", tests, NULL, NULL);
}
