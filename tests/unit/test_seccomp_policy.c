/*
 * The compiled policies, run by an interpreter of their own rather than by a kernel: both architectures on either.
 */
#define SECCOMP_ALL_ARCHITECTURES
#include "seccomp-filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CALLS 512 /* numbers looked at, more than there are */

enum { SNIPPET, CALL, IMPORT, TEMPLATE, INIT, API, EGRESS, POLICIES };

struct program {
        const struct sock_filter *items;
        size_t n;
};

struct arch {
        const char *name;
        uint32_t audit;
        struct program policies[POLICIES], attacks[POLICIES];
};

#define PROGRAM(name)                                                                                                  \
        { name, COUNT(name) }
#define ARCH(label, number, suffix)                                                                                    \
        {                                                                                                              \
                .name = label, .audit = number,                                                                        \
                .policies = {[SNIPPET] = PROGRAM(snippet_##suffix),                                                    \
                             [CALL] = PROGRAM(call_##suffix),                                                          \
                             [IMPORT] = PROGRAM(import_##suffix),                                                      \
                             [TEMPLATE] = PROGRAM(template_##suffix),                                                  \
                             [INIT] = PROGRAM(init_##suffix),                                                          \
                             [API] = PROGRAM(api_##suffix),                                                            \
                             [EGRESS] = PROGRAM(egress_##suffix)},                                                     \
                .attacks = {[SNIPPET] = PROGRAM(snippet_attacks_##suffix),                                             \
                            [CALL] = PROGRAM(call_attacks_##suffix),                                                   \
                            [IMPORT] = PROGRAM(import_attacks_##suffix),                                               \
                            [API] = PROGRAM(api_attacks_##suffix),                                                     \
                            [EGRESS] = PROGRAM(egress_attacks_##suffix)},                                              \
        }

static const struct arch archs[] = {
        ARCH("x86_64", AUDIT_ARCH_X86_64, x86_64),
        ARCH("aarch64", AUDIT_ARCH_AARCH64, aarch64),
};

/* Numbers by architecture, in the order of `archs`; -1: it has none. */
struct call {
        int numbers[2];
};

static const struct call call_read = {{0, 63}}, call_open = {{2, -1}}, call_socket = {{41, 198}},
                         call_clone = {{56, 220}}, call_execve = {{59, 221}}, call_fcntl = {{72, 25}},
                         call_ptrace = {{101, 117}}, call_ioctl = {{16, 29}}, call_mount = {{165, 40}},
                         call_setns = {{308, 268}}, call_seccomp = {{317, 277}}, call_mknodat = {{259, 33}},
                         call_prctl = {{157, 167}}, call_setresuid = {{117, 147}}, call_landlock = {{444, 444}},
                         call_clone3 = {{435, 435}}, call_kill = {{62, 129}}, call_setsockopt = {{54, 208}},
                         call_accept4 = {{288, 242}}, call_prlimit64 = {{302, 261}}, call_bpf = {{321, 280}},
                         call_fork = {{57, -1}};

/* ---- The interpreter ---- */

static uint32_t load(const struct seccomp_data *data, uint32_t offset) {
        uint32_t word;

        assert_true(offset + 4 <= sizeof *data && offset % 4 == 0);
        memcpy(&word, (const char *)data + offset, 4);
        return word;
}

static uint32_t run(const struct program *program, const struct seccomp_data *data) {
        uint32_t a = 0;

        for (size_t at = 0; at < program->n; at++) {
                const struct sock_filter *i = &program->items[at];

                switch (i->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        a = load(data, i->k);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        break;
                case BPF_JMP | BPF_JA:
                        at += i->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        at += a == i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        at += a >= i->k ? i->jt : i->jf;
                        break;
                case BPF_RET | BPF_K:
                        return i->k;
                default:
                        fail_msg("instruction %zu has the odd code 0x%x", at, i->code);
                }
        }
        fail_msg("the program runs past its end");
        return 0;
}

static uint32_t answer(const struct arch *arch, int policy, uint32_t number, uint64_t a0, uint64_t a1, uint64_t a2) {
        const struct seccomp_data data = {.nr = (int)number, .arch = arch->audit, .args = {a0, a1, a2}};

        return run(&arch->policies[policy], &data);
}

#define ERRNO(error) (SECCOMP_RET_ERRNO | (error))

/* Expects the same on every architecture that has the call. */
static void expect(int policy, struct call call, uint64_t a0, uint64_t a1, uint64_t a2, uint32_t wanted) {
        for (size_t i = 0; i < COUNT(archs); i++) {
                uint32_t got;

                if (call.numbers[i] < 0)
                        continue;
                got = answer(&archs[i], policy, (uint32_t)call.numbers[i], a0, a1, a2);
                if (got != wanted)
                        fail_msg("%s: call %d answers 0x%x, not 0x%x", archs[i].name, call.numbers[i], got, wanted);
        }
}

/* ---- Tests ---- */

/* What the kernel checks when it loads a filter (kernel/seccomp.c, net/core/filter.c): lengths, jumps, an end. */
static void test_well_formed(void **state) {
        (void)state;
        for (size_t i = 0; i < COUNT(archs); i++)
                for (int p = 0; p < POLICIES; p++) {
                        const struct program *program = &archs[i].policies[p];

                        assert_in_range(program->n, 10, 4096);
                        for (size_t at = 0; at < program->n; at++) {
                                const struct sock_filter *f = &program->items[at];
                                size_t far = f->jt > f->jf ? f->jt : f->jf;

                                if (BPF_CLASS(f->code) == BPF_JMP)
                                        assert_true(at + 1 + (BPF_OP(f->code) == BPF_JA ? f->k : far) < program->n);
                        }
                        assert_int_equal(program->items[program->n - 1].code, BPF_RET | BPF_K);
                }
}

static void test_foreign_tables_are_killed(void **state) {
        (void)state;
        for (size_t i = 0; i < COUNT(archs); i++)
                for (int p = 0; p < POLICIES; p++) {
                        struct seccomp_data data = {.nr = 0, .arch = AUDIT_ARCH_I386};

                        assert_int_equal(run(&archs[i].policies[p], &data), SECCOMP_RET_KILL_PROCESS);
                        data.arch = AUDIT_ARCH_ARM;
                        assert_int_equal(run(&archs[i].policies[p], &data), SECCOMP_RET_KILL_PROCESS);
                        data.arch = archs[1 - i].audit;
                        assert_int_equal(run(&archs[i].policies[p], &data), SECCOMP_RET_KILL_PROCESS);
                }
        /* x32: the same architecture, another table. */
        for (int p = 0; p < POLICIES; p++) {
                assert_int_equal(answer(&archs[0], p, 0x40000000, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
                assert_int_equal(answer(&archs[0], p, 0x40000000 + 59, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
                assert_int_equal(answer(&archs[0], p, 0xfffffffe, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
                assert_int_equal(answer(&archs[0], p, 0xffffffff, 0, 0, 0), ERRNO(ENOSYS)); /* no call at all */
        }
}

static void test_future_calls_are_unknown(void **state) {
        (void)state;
        for (size_t i = 0; i < COUNT(archs); i++)
                for (int p = 0; p < POLICIES; p++)
                        for (uint32_t number = 470; number < 5000; number++)
                                assert_int_equal(answer(&archs[i], p, number, 0, 0, 0), ERRNO(ENOSYS));
}

static void test_snippet(void **state) {
        (void)state;
        expect(SNIPPET, call_read, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_open, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_execve, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_kill, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_mount, 0, 0, 0, ERRNO(EPERM));
        expect(SNIPPET, call_setns, 0, 0, 0, ERRNO(EPERM));
        expect(SNIPPET, call_ptrace, 0, 0, 0, ERRNO(EPERM));
        expect(SNIPPET, call_bpf, 0, 0, 0, ERRNO(EPERM));
        expect(SNIPPET, call_setresuid, 0, 0, 0, ERRNO(EPERM));
        expect(SNIPPET, call_clone3, 0, 0, 0, ERRNO(ENOSYS));
        expect(SNIPPET, call_landlock, 0, 0, 0, ERRNO(ENOSYS));
}

static void test_families(void **state) {
        (void)state;
        for (uint64_t family = 0; family < 64; family++)
                expect(SNIPPET, call_socket, family, 0, 0, family == 1 ? SECCOMP_RET_ALLOW : ERRNO(EAFNOSUPPORT));
        /* The kernel takes an int: the upper half changes nothing, for better or worse. */
        expect(SNIPPET, call_socket, UINT64_C(0x700000001), 0, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_socket, UINT64_C(0x100000002), 0, 0, ERRNO(EAFNOSUPPORT));
}

static void test_clone_flags(void **state) {
        (void)state;
        for (int bit = 0; bit < 32; bit++) {
                const uint64_t refused = 0x7e020080 /* namespaces */ | 0x2000 /* PTRACE */ | 0x8000 /* PARENT */ |
                                         0x800000 /* UNTRACED */;
                uint64_t flag = UINT64_C(1) << bit;

                expect(SNIPPET, call_clone, flag, 0, 0, flag & refused ? ERRNO(EPERM) : SECCOMP_RET_ALLOW);
                expect(SNIPPET, call_clone, flag | 17 | UINT64_C(1) << 45, 0, 0,
                       flag & refused ? ERRNO(EPERM) : SECCOMP_RET_ALLOW);
        }
        expect(SNIPPET, call_clone, 0x3d0f00, 0, 0, SECCOMP_RET_ALLOW); /* a thread of glibc */
        expect(TEMPLATE, call_clone, 0x8011, 0, 0, SECCOMP_RET_ALLOW);  /* CLONE_PARENT */
        expect(TEMPLATE, call_clone, 0x10000011, 0, 0, ERRNO(EPERM));
}

static void test_lists(void **state) {
        (void)state;
        expect(SNIPPET, call_ioctl, 0, 0x5401, 0, SECCOMP_RET_ALLOW);     /* TCGETS, the first of the list */
        expect(SNIPPET, call_ioctl, 0, 0x40049409, 0, SECCOMP_RET_ALLOW); /* FICLONE, the last */
        expect(SNIPPET, call_ioctl, 0, 0x5412, 0, ERRNO(EPERM));          /* TIOCSTI */
        expect(SNIPPET, call_ioctl, 0, UINT64_C(0x100005412), 0, ERRNO(EPERM));
        expect(SNIPPET, call_ioctl, 0, UINT64_C(0x100005401), 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_fcntl, 0, 8, 0, ERRNO(EPERM));    /* F_SETOWN */
        expect(SNIPPET, call_fcntl, 0, 1031, 0, ERRNO(EPERM)); /* F_SETPIPE_SZ */
        expect(SNIPPET, call_fcntl, 0, 1030, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_prctl, 22, 0, 0, ERRNO(EPERM)); /* PR_SET_SECCOMP */
        expect(SNIPPET, call_prctl, 15, 0, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_prlimit64, 0, 7, 0, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_prlimit64, 1, 7, 0, ERRNO(EPERM));
}

static void test_masks(void **state) {
        (void)state;
        expect(SNIPPET, call_mknodat, 0, 0, 0010644, SECCOMP_RET_ALLOW); /* FIFO */
        expect(SNIPPET, call_mknodat, 0, 0, 0020644, ERRNO(EPERM));      /* character device */
        expect(SNIPPET, call_mknodat, 0, 0, 0060644, ERRNO(EPERM));      /* block device: two bits more than a FIFO */
        expect(SNIPPET, call_mknodat, 0, 0, 0030644, ERRNO(EPERM));      /* a FIFO's bit among others */
}

/* Two tests joined by "and". */
static void test_conjunction(void **state) {
        (void)state;
        expect(SNIPPET, call_setsockopt, 0, 1, 2, SECCOMP_RET_ALLOW);
        expect(SNIPPET, call_setsockopt, 0, 6, 2, ERRNO(ENOPROTOOPT));
        expect(SNIPPET, call_setsockopt, 0, 1, 26, ERRNO(ENOPROTOOPT)); /* SO_ATTACH_FILTER */
        expect(SNIPPET, call_setsockopt, 0, 6, 26, ERRNO(ENOPROTOOPT));
}

/* Alternatives: of each family only these types, and of each type only these protocols. */
static void test_sockets_of_a_call(void **state) {
        (void)state;
        for (uint64_t family = 0; family < 64; family++)
                for (uint64_t type = 0; type < 16; type++)
                        for (uint64_t protocol = 0; protocol < 300; protocol++) {
                                bool internet = family == 2 || family == 10, plain = type == 1 || type == 2,
                                     usual = protocol == 0 || protocol == 6 || protocol == 17,
                                     good = family == 1 || (internet && plain && usual);
                                uint32_t wanted = good ? SECCOMP_RET_ALLOW : ERRNO(EAFNOSUPPORT);

                                expect(CALL, call_socket, family, type, protocol, wanted);
                                expect(CALL, call_socket, family, type | 02004000 /* CLOEXEC, NONBLOCK */, protocol,
                                       wanted);
                        }
}

static void test_socket_options_of_a_call(void **state) {
        static const uint64_t good[][2] = {{1, 2}, {1, 15}, {6, 1}, {6, 18}, {0, 11}, {41, 25}, {41, 26}};
        static const uint64_t bad[][2] = {{1, 26} /* SO_ATTACH_FILTER */, {1, 25} /* SO_BINDTODEVICE */,
                                          {1, 36} /* SO_MARK */,          {6, 13} /* TCP_CONGESTION */,
                                          {6, 31} /* TCP_ULP */,          {6, 19} /* TCP_REPAIR */,
                                          {0, 35} /* IP_ADD_MEMBERSHIP */, {0, 19} /* IP_TRANSPARENT */,
                                          {0, 64} /* IPT_SO_SET_REPLACE */, {41, 20} /* IPV6_JOIN_GROUP */,
                                          {17, 103} /* UDP_SEGMENT */,    {132, 0}};

        (void)state;
        for (size_t i = 0; i < COUNT(good); i++)
                expect(CALL, call_setsockopt, 0, good[i][0], good[i][1], SECCOMP_RET_ALLOW);
        for (size_t i = 0; i < COUNT(bad); i++)
                expect(CALL, call_setsockopt, 0, bad[i][0], bad[i][1], ERRNO(ENOPROTOOPT));
}

/* But for sockets, a call may what a snippet may, and no more. */
static void test_a_call_is_as_confined_as_a_snippet(void **state) {
        static const uint64_t samples[] = {0, 1, 2, 15, 0x5401, 0x5412, 0x3d0f00, 0010644, 0020644, 1030, 0xffffffff};

        (void)state;
        for (size_t i = 0; i < COUNT(archs); i++)
                for (uint32_t number = 0; number < CALLS; number++)
                        for (size_t j = 0; j < COUNT(samples); j++) {
                                uint64_t v = samples[j];

                                if (number == (uint32_t)call_socket.numbers[i] ||
                                    number == (uint32_t)call_setsockopt.numbers[i])
                                        continue;
                                assert_int_equal(answer(&archs[i], CALL, number, v, v, v),
                                                 answer(&archs[i], SNIPPET, number, v, v, v));
                        }
}

/* Children of the fork server have both filters, so what the lower one refuses is refused. */
static void test_template_allows_what_snippets_may(void **state) {
        static const uint64_t samples[] = {0, 1, 2, 15, 0x5401, 0x3d0f00, 0010644, 1030, 0xffffffff};

        (void)state;
        for (size_t i = 0; i < COUNT(archs); i++)
                for (uint32_t number = 0; number < CALLS; number++)
                        for (size_t j = 0; j < COUNT(samples); j++) {
                                uint64_t v = samples[j];

                                if (answer(&archs[i], SNIPPET, number, v, v, v) != SECCOMP_RET_ALLOW)
                                        continue;
                                if (answer(&archs[i], TEMPLATE, number, v, v, v) != SECCOMP_RET_ALLOW)
                                        fail_msg("%s: the template refuses call %u", archs[i].name, number);
                        }
}

static void test_template(void **state) {
        (void)state;
        expect(TEMPLATE, call_setns, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(TEMPLATE, call_setresuid, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(TEMPLATE, call_seccomp, 1, 0, 0, SECCOMP_RET_ALLOW);
        expect(TEMPLATE, call_landlock, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(TEMPLATE, call_mount, 0, 0, 0, ERRNO(EPERM));
        expect(TEMPLATE, call_ptrace, 0, 0, 0, ERRNO(EPERM));
        expect(TEMPLATE, call_bpf, 0, 0, 0, ERRNO(EPERM));
        expect(TEMPLATE, call_socket, 2, 0, 0, ERRNO(EAFNOSUPPORT));
}

static void test_init_starts_nothing(void **state) {
        (void)state;
        expect(INIT, call_execve, 0, 0, 0, ERRNO(ENOSYS));
        expect(INIT, call_clone, 17, 0, 0, ERRNO(ENOSYS));
        expect(INIT, call_fork, 0, 0, 0, ERRNO(ENOSYS));
        expect(INIT, call_socket, 1, 0, 0, ERRNO(ENOSYS));
        expect(INIT, call_kill, 0, 0, 0, SECCOMP_RET_ALLOW);
}

static void test_api_starts_nothing(void **state) {
        (void)state;
        expect(API, call_execve, 0, 0, 0, ERRNO(EPERM));
        expect(API, call_clone, 17, 0, 0, ERRNO(EPERM));
        expect(API, call_fork, 0, 0, 0, ERRNO(EPERM));
        expect(API, call_clone3, 0, 0, 0, ERRNO(ENOSYS));
        expect(API, call_socket, 1, 0, 0, ERRNO(EPERM));
        expect(API, call_kill, 1, 9, 0, ERRNO(EPERM));
        expect(API, call_accept4, 0, 0, 0, SECCOMP_RET_ALLOW);
}

static void test_egress_dials_and_does_nothing_else(void **state) {
        const uint64_t nonblock_cloexec = SOCK_NONBLOCK | SOCK_CLOEXEC;
        (void)state;
        expect(EGRESS, call_socket, AF_INET, SOCK_STREAM | nonblock_cloexec, 0, SECCOMP_RET_ALLOW);
        expect(EGRESS, call_socket, AF_INET6, SOCK_DGRAM | nonblock_cloexec, 0, SECCOMP_RET_ALLOW);
        expect(EGRESS, call_socket, AF_INET, SOCK_RAW | nonblock_cloexec, 0, ERRNO(EPERM));
        expect(EGRESS, call_socket, AF_UNIX, SOCK_STREAM | nonblock_cloexec, 0, ERRNO(EPERM));
        expect(EGRESS, call_socket, AF_NETLINK, SOCK_DGRAM | nonblock_cloexec, 0, ERRNO(EPERM));
        expect(EGRESS, call_setsockopt, SOL_SOCKET, 13, 0, ERRNO(ENOPROTOOPT)); /* not in the first place */
        expect(EGRESS, call_setsockopt, 3, SOL_SOCKET, 13, SECCOMP_RET_ALLOW);  /* SO_LINGER */
        expect(EGRESS, call_setsockopt, 3, SOL_SOCKET, 25, ERRNO(ENOPROTOOPT)); /* SO_BINDTODEVICE */
        expect(EGRESS, call_setsockopt, 3, 6, 25, SECCOMP_RET_ALLOW);           /* TCP_NOTSENT_LOWAT */
        expect(EGRESS, call_setsockopt, 3, 6, 13, ERRNO(ENOPROTOOPT));          /* TCP_CONGESTION */
        expect(EGRESS, call_accept4, 0, 0, 0, SECCOMP_RET_ALLOW);
        expect(EGRESS, call_open, 0, 0, 0, ERRNO(EPERM));
        expect(EGRESS, call_execve, 0, 0, 0, ERRNO(EPERM));
        expect(EGRESS, call_clone, 17, 0, 0, ERRNO(EPERM));
        expect(EGRESS, call_fork, 0, 0, 0, ERRNO(EPERM));
        expect(EGRESS, call_clone3, 0, 0, 0, ERRNO(ENOSYS));
        expect(EGRESS, call_fcntl, 0, 0, 0, ERRNO(ENOSYS));
        expect(EGRESS, call_kill, 1, 9, 0, ERRNO(EPERM));
        expect(EGRESS, call_ptrace, 0, 0, 0, ERRNO(EPERM));
}

/* The second filter closes the door through which it came, refuses attacks, and lets all else pass to the first. */
static void test_attacks(void **state) {
        (void)state;
        for (size_t i = 0; i < COUNT(archs); i++) {
                struct seccomp_data data = {.arch = archs[i].audit};

                for (data.nr = 0; data.nr < CALLS; data.nr++) {
                        uint32_t got = run(&archs[i].attacks[SNIPPET], &data);
                        bool door = data.nr == call_seccomp.numbers[i];

                        if (door || got != SECCOMP_RET_ALLOW)
                                assert_int_equal(got, ERRNO(EPERM));
                        /* Nothing rests on the second filter alone, but the door. */
                        if (got != SECCOMP_RET_ALLOW && !door)
                                assert_int_equal(run(&archs[i].policies[SNIPPET], &data), ERRNO(EPERM));
                }
                data.nr = call_ptrace.numbers[i];
                assert_int_equal(run(&archs[i].attacks[SNIPPET], &data), ERRNO(EPERM));
                assert_int_equal(run(&archs[i].attacks[CALL], &data), ERRNO(EPERM));
                assert_int_equal(run(&archs[i].attacks[API], &data), ERRNO(EPERM));
                data.nr = call_mount.numbers[i];
                assert_int_equal(run(&archs[i].attacks[SNIPPET], &data), SECCOMP_RET_ALLOW);
        }
        expect(SNIPPET, call_seccomp, 1, 0, 0, SECCOMP_RET_ALLOW); /* SECCOMP_SET_MODE_FILTER: open for it */
        expect(SNIPPET, call_seccomp, 0, 0, 0, ERRNO(EPERM));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_well_formed),
                cmocka_unit_test(test_foreign_tables_are_killed),
                cmocka_unit_test(test_future_calls_are_unknown),
                cmocka_unit_test(test_snippet),
                cmocka_unit_test(test_families),
                cmocka_unit_test(test_clone_flags),
                cmocka_unit_test(test_lists),
                cmocka_unit_test(test_masks),
                cmocka_unit_test(test_conjunction),
                cmocka_unit_test(test_sockets_of_a_call),
                cmocka_unit_test(test_socket_options_of_a_call),
                cmocka_unit_test(test_a_call_is_as_confined_as_a_snippet),
                cmocka_unit_test(test_template_allows_what_snippets_may),
                cmocka_unit_test(test_template),
                cmocka_unit_test(test_init_starts_nothing),
                cmocka_unit_test(test_api_starts_nothing),
                cmocka_unit_test(test_egress_dials_and_does_nothing_else),
                cmocka_unit_test(test_attacks),
        };

        return cmocka_run_group_tests_name("system call policies", tests, NULL, NULL);
}
