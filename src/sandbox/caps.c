#include "sandbox/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPS_MAX 64 /* two words of the kernel's interface; Linux has 41 so far */

/* Root is nobody special any more, by whatever way a process becomes it; and nobody can change that. */
#define SECUREBITS                                                                                                     \
        (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |               \
         SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

struct sets {
        uint64_t effective, permitted, inheritable;
};

static int read_sets(struct sets *ret) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct data[2];

        if (syscall(SYS_capget, &header, data) < 0)
                return -errno;
        ret->effective = data[0].effective | (uint64_t)data[1].effective << 32;
        ret->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
        ret->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
        return 0;
}

static int write_sets(uint64_t mask) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct data[2] = {
                {.effective = (uint32_t)mask, .permitted = (uint32_t)mask},
                {.effective = (uint32_t)(mask >> 32), .permitted = (uint32_t)(mask >> 32)},
        };

        return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* EINVAL ends the list: the kernel knows no capability of this number. */
int caps_bound(uint64_t keep) {
        for (unsigned long i = 0; i < CAPS_MAX; i++) {
                int held = prctl(PR_CAPBSET_READ, i, 0, 0, 0);

                if (held < 0)
                        return errno == EINVAL && i > CAP_SETPCAP ? 0 : -errno;
                if (held && !(keep & CAP_BIT(i)) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
                        return -errno;
        }
        return 0;
}

static int verify(uint64_t mask, bool bounding) {
        struct sets sets;
        int r = read_sets(&sets);

        if (r < 0)
                return r;
        if (sets.effective != mask || sets.permitted != mask || sets.inheritable != 0)
                return -EPERM;
        for (unsigned long i = 0; i < CAPS_MAX; i++) {
                int in_bounding = prctl(PR_CAPBSET_READ, i, 0, 0, 0);

                if (in_bounding < 0)
                        break;
                if (bounding && in_bounding && !(mask & CAP_BIT(i)))
                        return -EPERM;
                if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) != 0)
                        return -EPERM;
        }
        return 0;
}

static int keep_only(uint64_t mask) {
        struct sets before;
        bool can_lock;
        int r = read_sets(&before);

        if (r < 0)
                return r;
        if (mask & ~before.permitted)
                return -EPERM;
        can_lock = before.effective & CAP_BIT(CAP_SETPCAP);
        /* The bounding set would stay. Without capabilities, and with none to be had by exec, it means nothing. */
        if (!can_lock && (before.permitted != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1))
                return -EPERM;
        if (can_lock) {
                r = caps_bound(mask);
                if (r < 0)
                        return r;
                if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
                        return -errno;
        }
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -errno;
        r = write_sets(mask);
        return r < 0 ? r : verify(mask, can_lock);
}

int caps_drop_all(void) {
        return keep_only(0);
}

int caps_keep_only(uint64_t mask) {
        return keep_only(mask);
}

uint64_t caps_effective(void) {
        struct sets sets;

        return read_sets(&sets) < 0 ? 0 : sets.effective;
}
