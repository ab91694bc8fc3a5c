/* The keeper; see keeper.h. */
#include "sandbox/keeper.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

#define STACK_BYTES (64 << 10)

enum { KEEPER_STARTING = 1 }; /* else 0, or a negative errno */

static _Alignas(16) char stack[STACK_BYTES];
static atomic_int state;

/*
 * ppoll of nothing, for ever, without libc: errno and all else that is thread-local is the snippet's too. The signals
 * are blocked; SIGKILL needs nobody's help.
 */
static _Noreturn void wait_for_the_end(void) {
        for (;;) {
#if defined(__x86_64__)
                register long size __asm__("r8") = 0;
                register long mask __asm__("r10") = 0;
                long result;
                __asm__ volatile("syscall"
                                 : "=a"(result)
                                 : "0"((long)SYS_ppoll), "D"(0L), "S"(0L), "d"(0L), "r"(mask), "r"(size)
                                 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
                register long number __asm__("x8") = SYS_ppoll;
                register long fds __asm__("x0") = 0;
                register long count __asm__("x1") = 0;
                register long timeout __asm__("x2") = 0;
                register long mask __asm__("x3") = 0;
                register long size __asm__("x4") = 0;
                __asm__ volatile("svc 0"
                                 : "+r"(fds)
                                 : "r"(number), "r"(count), "r"(timeout), "r"(mask), "r"(size)
                                 : "memory");
#else
#error "write the waiting system call for this architecture"
#endif
        }
}

static int confine(void) {
        sigset_t all;
        sigfillset(&all);
        if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
                return -errno;
        if (setsid() < 0)
                return -errno;
        /* A Landlock domain of its own, beside the snippet's: neither can look at the other, so /proc does not show it.
         */
        int r = landlock_confine_snippet();
        if (r < 0)
                return r;
        if (close_range(0, UINT_MAX, 0) < 0)
                return -errno;
        return seccomp_load(SECCOMP_KEEPER);
}

static int keep(void *unused) {
        (void)unused;
        int r = confine();
        atomic_store(&state, r);
        if (r < 0)
                return 1;
        wait_for_the_end();
}

int keeper_start(void) {
        atomic_store(&state, KEEPER_STARTING);
        /* The spawner's child, not the snippet's, which would find it with wait(2). */
        if (clone(keep, stack + STACK_BYTES, CLONE_VM | CLONE_PARENT, NULL) < 0)
                return -errno;
        while (atomic_load(&state) == KEEPER_STARTING)
                sched_yield(); /* it uses this thread's errno: nothing may happen here meanwhile */
        return atomic_load(&state);
}
