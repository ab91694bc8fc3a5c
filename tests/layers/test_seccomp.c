/*
 * The filter for untrusted code, alone: root, all capabilities, the host's namespaces, no Landlock.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "layer.h"
#include "refused.h"
#include "sandbox/seccomp.h"

static int snippet(void) {
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load(SECCOMP_SNIPPET);
}

static int template(void) {
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load(SECCOMP_TEMPLATE);
}

/* As a child of the fork server has them. */
static int template_and_snippet(void) {
        int r = template();

        return r < 0 ? r : seccomp_load(SECCOMP_SNIPPET);
}

/* Runs the table; says every difference before failing. */
static void expect_refused(int (*confine)(void)) {
        size_t wrong = 0;

        for (size_t i = 0; i < refused_count; i++) {
                const struct refused *r = &refused_calls[i];
                struct outcome outcome = layer_run(confine, r->call, r->data);

                if (outcome.signal || outcome.result != -r->error) {
                        print_error("%s: %s (signal %d), expected %s\n", r->name, strerror((int)-outcome.result),
                                    outcome.signal, strerror(r->error));
                        wrong++;
                }
        }
        assert_int_equal(wrong, 0);
}

static void test_refused(void **state) {
        (void)state;
        layer_need_root();
        expect_refused(snippet);
}

static void test_refused_when_stacked(void **state) {
        (void)state;
        layer_need_root();
        expect_refused(template_and_snippet);
}

/* The positive control: every one of these calls gets another answer from the kernel itself. */
static void test_refused_by_nothing_else(void **state) {
        size_t unproven = 0;

        (void)state;
        layer_need_root();
        for (size_t i = 0; i < refused_count; i++) {
                const struct refused *r = &refused_calls[i];
                struct outcome outcome = layer_run(NULL, r->call, r->data);

                if (outcome.signal || outcome.result == -r->error || outcome.result == -EBADFD) {
                        print_error("%s: %s (signal %d) without a filter as well\n", r->name,
                                    strerror((int)-outcome.result), outcome.signal);
                        unproven++;
                }
        }
        assert_int_equal(unproven, 0);
}

/* ---- Every family ---- */

/* Bit n: socket(n) succeeded. Fails if anything but success or EAFNOSUPPORT came, when asked to be strict. */
static long families(const void *data) {
        bool strict = data != NULL;
        long made = 0;

        for (int family = 0; family < 63; family++) {
                int fd = socket(family, SOCK_STREAM, 0);

                if (fd < 0)
                        fd = socket(family, SOCK_DGRAM, 0);
                if (fd < 0)
                        fd = socket(family, SOCK_RAW, 0);
                if (fd < 0 && strict && errno != EAFNOSUPPORT)
                        return -errno;
                if (fd >= 0)
                        made |= 1L << family;
                close(fd);
        }
        return made;
}

static void test_families(void **state) {
        const long network = 1L << AF_INET | 1L << AF_INET6 | 1L << AF_NETLINK | 1L << AF_PACKET;
        struct outcome with, without;

        (void)state;
        layer_need_root();
        without = layer_run(NULL, families, NULL);
        assert_int_equal(without.result & network, network);
        with = layer_run(snippet, families, "strict");
        assert_int_equal(with.result, 1L << AF_UNIX);
}

/* ---- Other system call tables ---- */

#ifdef __x86_64__
static long x32_getpid(const void *data) {
        (void)data;
        return ERRNO_OF(syscall(0x40000000 | SYS_getpid));
}

static long i386_getpid(const void *data) {
        long result;

        (void)data;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "r8", "r9", "r10", "r11", "memory");
        return result;
}

static void test_foreign_tables(void **state) {
        struct outcome with, without;

        (void)state;
        layer_need_root();
        without = layer_run(NULL, x32_getpid, NULL);
        assert_int_equal(without.signal, 0);
        with = layer_run(snippet, x32_getpid, NULL);
        assert_int_equal(with.signal, SIGSYS);

        without = layer_run(NULL, i386_getpid, NULL);
        with = layer_run(snippet, i386_getpid, NULL);
        /* A kernel without 32-bit emulation answers with SIGSEGV before any filter is asked. */
        assert_int_equal(with.signal, without.signal == SIGSEGV ? SIGSEGV : SIGSYS);
}
#endif

/* ---- What the filters look like from inside ---- */

static long count_filters(const void *data) {
        FILE *status = fopen("/proc/self/status", "r");
        char line[256];
        long count = -1;

        (void)data;
        while (status && fgets(line, sizeof line, status))
                sscanf(line, "Seccomp_filters: %ld", &count);
        return count;
}

static void test_filters_count(void **state) {
        struct outcome before, after;

        (void)state;
        layer_need_root();
        before = layer_run(NULL, count_filters, NULL);
        after = layer_run(snippet, count_filters, NULL);
        assert_int_equal(after.result - before.result, 2); /* the policy, and what is logged */
}

static long number_beyond_all(const void *data) {
        (void)data;
        return ERRNO_OF(syscall(999));
}

static void test_unknown_calls(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(snippet, number_beyond_all, NULL).result, -ENOSYS);
        assert_int_equal(layer_run(snippet, number_beyond_all, NULL).signal, 0);
}

static long minus_one(const void *data) {
        (void)data;
        return ERRNO_OF(syscall(-1));
}

static void test_call_minus_one_is_not_fatal(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(snippet, minus_one, NULL).signal, 0);
        assert_int_equal(layer_run(snippet, minus_one, NULL).result, -ENOSYS);
}

/* ---- The keeper's ---- */

static int keeper(void) {
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load(SECCOMP_KEEPER);
}

static bool is_the_keepers(long number) {
        return number == SYS_ppoll || number == SYS_restart_syscall || number == SYS_exit || number == SYS_exit_group;
}

/* uretprobe and uprobe of x86_64, which no filter is asked about (since 6.14): without a probe they are an illegal
 * instruction. */
static bool is_a_probes(long number) {
        return number == 335 || number == 336;
}

/* The first call that is not refused, or -1. */
static long first_allowed(const void *data) {
        (void)data;
        for (long number = 0; number < 1000; number++)
                if (!is_the_keepers(number) && !is_a_probes(number) &&
                    (syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS))
                        return number;
        return -1;
}

static long wait_a_moment(const void *data) {
        struct timespec moment = {.tv_nsec = 1000};
        (void)data;
        return ERRNO_OF(syscall(SYS_ppoll, NULL, 0, &moment, NULL, 0));
}

static void test_keeper_may_only_wait(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(keeper, first_allowed, NULL).result, -1);
        assert_int_equal(layer_run(keeper, wait_a_moment, NULL).result, 0);
        assert_int_not_equal(layer_run(NULL, first_allowed, NULL).result, -1);
}

/* ---- Loading ---- */

static int unprivileged_without_nnp(void) {
        return setresuid(65534, 65534, 65534) < 0 ? -errno : 0;
}

static long load_snippet(const void *data) {
        (void)data;
        return seccomp_load(SECCOMP_SNIPPET);
}

static void test_needs_no_new_privs(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(unprivileged_without_nnp, load_snippet, NULL).result, -EACCES);
}

/* ---- The api process: two threads, of which one has been there before the filter ---- */

struct second_thread {
        sem_t go;
        long made, started, pid;
};

static void *nothing(void *data) {
        return data;
}

static void *use_calls(void *data) {
        struct second_thread *second = data;
        pthread_t third;

        while (sem_wait(&second->go) < 0)
                ;
        second->made = ERRNO_OF(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0));
        second->started = -pthread_create(&third, NULL, nothing, NULL);
        second->pid = syscall(SYS_getpid);
        return NULL;
}

/* 0, or which of the steps went wrong. */
static long confine_both(const void *data) {
        struct second_thread second = {.made = 1};
        pthread_t thread;

        (void)data;
        if (sem_init(&second.go, 0, 0) < 0 || pthread_create(&thread, NULL, use_calls, &second) != 0)
                return 1;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || seccomp_load_for_all_threads(SECCOMP_API) < 0)
                return 2;
        if (sem_post(&second.go) < 0 || pthread_join(thread, NULL) != 0)
                return 3;
        if (second.made != -EPERM)
                return 4;
        if (second.started == 0)
                return 5;
        return second.pid == getpid() ? 0 : 6;
}

static void test_all_threads(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(NULL, confine_both, NULL).result, 0);
}

static void *load_for_itself(void *data) {
        struct second_thread *second = data;

        second->made = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : seccomp_load(SECCOMP_API);
        while (sem_wait(&second->go) < 0)
                ;
        return NULL;
}

/* A filter of the other thread's own cannot be replaced by ours: that is no success. */
static long confine_one_with_a_filter(const void *data) {
        struct second_thread second = {.made = 1};
        pthread_t thread;

        (void)data;
        if (sem_init(&second.go, 0, 0) < 0 || pthread_create(&thread, NULL, load_for_itself, &second) != 0)
                return 1;
        while (__atomic_load_n(&second.made, __ATOMIC_SEQ_CST) == 1)
                usleep(1000);
        if (second.made < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return 2;
        return seccomp_load_for_all_threads(SECCOMP_API);
}

static void test_all_threads_or_none(void **state) {
        (void)state;
        layer_need_root();
        assert_int_equal(layer_run(NULL, confine_one_with_a_filter, NULL).result, -EBUSY);
}

static long load_nonsense(const void *data) {
        (void)data;
        return seccomp_load((enum seccomp_policy)77);
}

static void test_unknown_policy(void **state) {
        (void)state;
        assert_int_equal(load_nonsense(NULL), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_refused_when_stacked),
                cmocka_unit_test(test_refused_by_nothing_else),
                cmocka_unit_test(test_families),
#ifdef __x86_64__
                cmocka_unit_test(test_foreign_tables),
#endif
                cmocka_unit_test(test_filters_count),
                cmocka_unit_test(test_unknown_calls),
                cmocka_unit_test(test_call_minus_one_is_not_fatal),
                cmocka_unit_test(test_keeper_may_only_wait),
                cmocka_unit_test(test_needs_no_new_privs),
                cmocka_unit_test(test_all_threads),
                cmocka_unit_test(test_all_threads_or_none),
                cmocka_unit_test(test_unknown_policy),
        };

        return cmocka_run_group_tests_name("seccomp, nothing else", tests, NULL, NULL);
}
