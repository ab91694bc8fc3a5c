/*
 * Control groups alone, for real: root, no filter, no Landlock, the host's namespaces. On whichever version the host
 * has.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "layer.h"
#include "sandbox/cgroup.h"

#define MIB (UINT64_C(1) << 20)

static const struct cgroup_limits limits = {.memory_bytes = 32 * MIB, .pids = 16, .cpu_percent = 50};
static struct cgroup_tree *tree;
static char instance[32];

static int set_up(void **state) {
        struct err e = {0};

        (void)state;
        if (geteuid() != 0)
                return 0;
        snprintf(instance, sizeof instance, "layer-test-%d", (int)getpid());
        if (cgroup_open(instance, &tree, &e) < 0) {
                print_error("%s\n", e.message);
                return -1;
        }
        return 0;
}

static int tear_down(void **state) {
        (void)state;
        cgroup_close(&tree);
        return 0;
}

static double seconds(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct cgroup make(const char *name) {
        struct cgroup cgroup = CGROUP_INIT;
        struct err e = {0};

        if (cgroup_create(tree, name, &limits, &cgroup, &e) < 0)
                fail_msg("%s", e.message);
        return cgroup;
}

/* Starts a process that is in the group before it does anything. */
static pid_t start_in(struct cgroup *cgroup, void (*act)(void)) {
        int gate[2];
        pid_t pid;

        assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                char go;

                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (read(gate[0], &go, 1) == 1)
                        act();
                _exit(0);
        }
        assert_int_equal(cgroup_attach(cgroup, pid), 0);
        assert_int_equal(write(gate[1], "", 1), 1);
        close(gate[0]);
        close(gate[1]);
        return pid;
}

static int status_of(pid_t pid) {
        int status = 0;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

/* Kills, reaps, removes. */
static void end(struct cgroup *cgroup) {
        int r = -EBUSY;

        assert_int_equal(cgroup_kill(cgroup), 0);
        for (int i = 0; i < 500 && r == -EBUSY; i++) {
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                r = cgroup_destroy(cgroup);
                if (r == -EBUSY) {
                        cgroup_kill(cgroup);
                        usleep(10000);
                }
        }
        assert_int_equal(r, 0);
}

static struct cgroup_usage usage_of(const struct cgroup *cgroup) {
        struct cgroup_usage usage;

        assert_int_equal(cgroup_read_usage(cgroup, &usage), 0);
        return usage;
}

static void touch(size_t bytes) {
        volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (size_t i = 0; i < bytes; i += 4096)
                memory[i] = 1;
}

/* ---- Memory ---- */

static void use_too_much(void) {
        touch(64 * MIB);
}

static void use_some(void) {
        touch(8 * MIB);
}

static bool oom_event(const struct cgroup *cgroup, int timeout_ms) {
        uint32_t events;
        struct pollfd waiting = {.fd = cgroup_oom_fd(cgroup, &events)};

        waiting.events = (short)events;
        return poll(&waiting, 1, timeout_ms) == 1 && (waiting.revents & waiting.events);
}

static void test_out_of_memory(void **state) {
        struct cgroup cgroup;
        int status;

        (void)state;
        layer_need_root();
        cgroup = make("memory");
        assert_false(oom_event(&cgroup, 0));
        status = status_of(start_in(&cgroup, use_too_much));
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_true(oom_event(&cgroup, 1000));
        cgroup_oom_ack(&cgroup);
        assert_false(oom_event(&cgroup, 0));
        assert_true(usage_of(&cgroup).oom_kills >= 1);
        assert_in_range(usage_of(&cgroup).memory_peak, limits.memory_bytes - MIB, limits.memory_bytes);
        end(&cgroup);
}

/* The control: the same program under a limit that suffices, and a killed one that is not out of memory. */
static void test_enough_memory(void **state) {
        struct cgroup cgroup;

        (void)state;
        layer_need_root();
        cgroup = make("enough");
        assert_int_equal(status_of(start_in(&cgroup, use_some)), 0);
        assert_int_equal(usage_of(&cgroup).oom_kills, 0);
        assert_in_range(usage_of(&cgroup).memory_peak, 8 * MIB, 12 * MIB);
        assert_int_equal(cgroup_set_memory(&cgroup, 128 * MIB), 0); /* up … */
        assert_int_equal(status_of(start_in(&cgroup, use_too_much)), 0);
        assert_int_equal(cgroup_set_memory(&cgroup, 16 * MIB), 0); /* … and down */
        assert_true(WIFSIGNALED(status_of(start_in(&cgroup, use_too_much))));
        end(&cgroup);
}

/* Pages of files that are read or written are given back rather than counted as running out. */
static void write_and_read_a_file(void) {
        static char block[1 << 20];
        int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        for (int i = 0; fd >= 0 && i < 48; i++)
                if (write(fd, block, sizeof block) < 0)
                        _exit(2);
        if (fd < 0 || fsync(fd) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                _exit(3);
        while (read(fd, block, sizeof block) > 0)
                ;
}

static void test_page_cache_is_no_fault(void **state) {
        struct cgroup cgroup;

        (void)state;
        layer_need_root();
        cgroup = make("cache");
        assert_int_equal(status_of(start_in(&cgroup, write_and_read_a_file)), 0);
        assert_int_equal(usage_of(&cgroup).oom_kills, 0);
        end(&cgroup);
}

/* ---- Processes ---- */

static void fork_many(void) {
        int made = 0;

        while (made < 100) {
                pid_t pid = fork();

                if (pid == 0)
                        for (;;)
                                pause();
                if (pid < 0)
                        break;
                made++;
        }
        _exit(made);
}

static void test_pids(void **state) {
        struct cgroup cgroup;

        (void)state;
        layer_need_root();
        cgroup = make("pids");
        assert_int_equal(WEXITSTATUS(status_of(start_in(&cgroup, fork_many))), limits.pids - 1);
        end(&cgroup); /* fifteen orphans are left to kill */
}

static void fork_for_ever(void) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
                if (fork() < 0)
                        usleep(100);
}

static void test_kill_a_fork_bomb(void **state) {
        struct cgroup cgroup;
        double start;

        (void)state;
        layer_need_root();
        cgroup = make("bomb");
        start_in(&cgroup, fork_for_ever);
        usleep(100000);
        start = seconds();
        end(&cgroup);
        assert_true(seconds() - start < 5);
}

static void test_busy_until_reaped(void **state) {
        struct cgroup cgroup;
        pid_t pid;

        (void)state;
        layer_need_root();
        cgroup = make("busy");
        pid = start_in(&cgroup, fork_for_ever);
        assert_int_equal(cgroup_destroy(&cgroup), -EBUSY);
        assert_int_equal(cgroup_destroy(&cgroup), -EBUSY); /* and may be asked again */
        (void)pid;
        end(&cgroup);
        assert_int_equal(cgroup_destroy(&cgroup), 0); /* even when it is gone */
}

/* ---- CPU ---- */

static void spin(void) {
        for (double start = seconds(); seconds() - start < 1;)
                ;
}

static void test_cpu(void **state) {
        struct cgroup cgroup;

        (void)state;
        layer_need_root();
        cgroup = make("cpu");
        assert_int_equal(status_of(start_in(&cgroup, spin)), 0);
        assert_in_range(usage_of(&cgroup).cpu_us, 50000, 650000); /* half of a second, on a host that may be busy */
        end(&cgroup);
}

/* ---- Groups ---- */

static void test_refuses_names(void **state) {
        static const char *const names[] = {"", ".", "..", "a/b", "../x", ".hidden", "a b", "new\nline"};
        struct cgroup cgroup = CGROUP_INIT;
        struct cgroup_tree *other = NULL;
        struct err e;

        (void)state;
        layer_need_root();
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
                assert_int_equal(cgroup_create(tree, names[i], &limits, &cgroup, &e), -EINVAL);
                assert_int_equal(cgroup_open(names[i], &other, &e), -EINVAL);
        }
        assert_null(other);
}

static void test_name_taken(void **state) {
        struct cgroup first, second = CGROUP_INIT;
        struct err e = {0};

        (void)state;
        layer_need_root();
        first = make("taken");
        assert_int_equal(cgroup_create(tree, "taken", &limits, &second, &e), -EEXIST);
        assert_non_null(strstr(e.message, "taken"));
        assert_int_equal(cgroup_destroy(&second), 0);    /* nothing to destroy */
        assert_int_equal(usage_of(&first).oom_kills, 0); /* nor was the first harmed */
        end(&first);
}

static void test_no_descriptor_is_inherited(void **state) {
        struct cgroup cgroup;
        int before, after;

        (void)state;
        layer_need_root();
        cgroup = make("descriptors");
        /* A shell sees the three standard ones and whatever else this program was started with. */
        before = system("exit $(ls /proc/self/fd | wc -l)");
        end(&cgroup);
        after = system("exit $(ls /proc/self/fd | wc -l)");
        assert_int_equal(before, after);
}

static void wait_for_ever(void) {
        for (;;)
                pause();
}

/* What a run that was killed leaves: a group with processes in it. The next of the same name finds and ends it. */
static void test_leftovers(void **state) {
        char name[64], command[256];
        struct cgroup_tree *next = NULL;
        struct cgroup cgroup = CGROUP_INIT;
        struct err e = {0};
        int status;
        pid_t pid, crashed;

        (void)state;
        layer_need_root();
        snprintf(name, sizeof name, "%s-crash", instance);
        crashed = fork();
        if (crashed == 0) {
                struct cgroup_tree *mine;

                if (cgroup_open(name, &mine, &e) < 0 || cgroup_create(mine, "left", &limits, &cgroup, &e) < 0)
                        _exit(1);
                _exit(0); /* without closing anything */
        }
        assert_int_equal(waitpid(crashed, &status, 0), crashed);
        assert_int_equal(status, 0);

        pid = fork(); /* joins what is there, by hand */
        if (pid == 0) {
                snprintf(command, sizeof command,
                         "for d in $(find /sys/fs/cgroup -path '*/sandboxd-%s/left' -type d); do echo %d > "
                         "$d/cgroup.procs; done",
                         name, (int)getpid());
                _exit(system(command) == 0 ? (wait_for_ever(), 0) : 1);
        }
        usleep(300000);
        assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* it is there and waits */
        assert_int_equal(cgroup_open(name, &next, &e), 0);
        assert_int_equal(WTERMSIG(status_of(pid)), SIGKILL);
        cgroup_close(&next);
        assert_null(next);
        snprintf(command, sizeof command, "test -z \"$(find /sys/fs/cgroup -name 'sandboxd-%s')\"", name);
        assert_int_equal(system(command), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_out_of_memory),
                cmocka_unit_test(test_enough_memory),
                cmocka_unit_test(test_page_cache_is_no_fault),
                cmocka_unit_test(test_pids),
                cmocka_unit_test(test_kill_a_fork_bomb),
                cmocka_unit_test(test_busy_until_reaped),
                cmocka_unit_test(test_cpu),
                cmocka_unit_test(test_refuses_names),
                cmocka_unit_test(test_name_taken),
                cmocka_unit_test(test_no_descriptor_is_inherited),
                cmocka_unit_test(test_leftovers),
        };

        return cmocka_run_group_tests_name("control groups, nothing else", tests, set_up, tear_down);
}
