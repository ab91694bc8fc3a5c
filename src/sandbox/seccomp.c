#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "seccomp-filters.h"

#if defined(__x86_64__)
#define FILTER(name) name##_x86_64
#elif defined(__aarch64__)
#define FILTER(name) name##_aarch64
#else
#error "There are system call policies for x86_64 and aarch64 only."
#endif

#define PROGRAM(name)                                                                                                  \
        { FILTER(name), ARRAY_SIZE(FILTER(name)) }

static const struct {
        struct {
                const struct sock_filter *items;
                size_t n;
        } filter, attacks; /* the second may be empty */
} programs[] = {
        [SECCOMP_SNIPPET] = {PROGRAM(snippet), PROGRAM(snippet_attacks)},
        [SECCOMP_CALL] = {PROGRAM(call), PROGRAM(call_attacks)},
        [SECCOMP_IMPORT] = {PROGRAM(import), PROGRAM(import_attacks)},
        [SECCOMP_INIT] = {PROGRAM(init), {NULL, 0}},
        [SECCOMP_KEEPER] = {PROGRAM(keeper), {NULL, 0}},
        [SECCOMP_TEMPLATE] = {PROGRAM(template), {NULL, 0}},
        [SECCOMP_API] = {PROGRAM(api), PROGRAM(api_attacks)},
        [SECCOMP_EGRESS] = {PROGRAM(egress), PROGRAM(egress_attacks)},
};

/* glibc has no wrapper. The kernel does not write to the filter, whatever its header's missing const says. */
static int load(const struct sock_filter *items, size_t n, unsigned flags) {
        const struct sock_fprog program = {
                .len = (unsigned short)n,
                .filter = (struct sock_filter *)(uintptr_t)items,
        };

        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        /* A positive number is the thread that cannot have it. */
        return r < 0 ? -errno : (r > 0 ? -EBUSY : 0);
}

static int load_policy(enum seccomp_policy policy, unsigned flags) {
        int r;

        if ((size_t)policy >= ARRAY_SIZE(programs))
                return -EINVAL;
        r = load(programs[policy].filter.items, programs[policy].filter.n, flags);
        if (r < 0 || programs[policy].attacks.n == 0)
                return r;
        /*
         * The kernel logs all that one filter refuses, or nothing; so what only an attack would call is refused by a
         * second filter. Where both refuse, the later one counts. Without it the first still refuses all the same.
         */
        return load(programs[policy].attacks.items, programs[policy].attacks.n, flags | SECCOMP_FILTER_FLAG_LOG);
}

int seccomp_load(enum seccomp_policy policy) {
        return load_policy(policy, 0);
}

int seccomp_load_for_all_threads(enum seccomp_policy policy) {
        return load_policy(policy, SECCOMP_FILTER_FLAG_TSYNC);
}
