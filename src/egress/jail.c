/* The way into the jail; see jail.h. */
#include "egress/jail.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

struct jail {
        int root_fd;
        uid_t uid;
        const uint16_t *ports;
        size_t port_count;
};

static int change_root(const struct jail *jail) {
        int r = fchdir(jail->root_fd) < 0 || chroot(".") < 0 || chdir("/") < 0 ? -errno : 0;
        return close(jail->root_fd) < 0 && r == 0 ? -errno : r;
}

static int become_user(const struct jail *jail) {
        uid_t real, effective, saved;
        int r = caps_keep_only(CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETPCAP));
        if (r < 0)
                return r;
        if (setgroups(0, NULL) < 0 || setresgid(jail->uid, jail->uid, jail->uid) < 0 ||
            setresuid(jail->uid, jail->uid, jail->uid) < 0 || getresuid(&real, &effective, &saved) < 0)
                return -errno;
        return real == jail->uid && effective == jail->uid && saved == jail->uid && getegid() == jail->uid ? 0 : -EPERM;
}

static int drop_capabilities(const struct jail *jail) {
        (void)jail;
        return caps_drop_all();
}

/* No core dump, no other process or thread, no file. */
static int set_limits(const struct jail *jail) {
        static const struct rlimit none = {0, 0};
        (void)jail;
        umask(0777);
        return setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0 ||
                               prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
                       ? -errno
                       : 0;
}

static int confine(const struct jail *jail) {
        int r = landlock_confine_egress(jail->ports, jail->port_count);
        if (r > 0)
                log_warning("this kernel has no Landlock; the egress process is jailed without it");
        return r < 0 ? r : 0;
}

static int filter_calls(const struct jail *jail) {
        (void)jail;
        return seccomp_load(SECCOMP_EGRESS);
}

int jail_enter(int root_fd, uid_t uid, const uint16_t *ports, size_t port_count, struct err *e) {
        static const struct {
                const char *what;
                int (*take)(const struct jail *jail);
        } steps[] = {
                {"change its root folder", change_root},         {"become its user", become_user},
                {"give up its capabilities", drop_capabilities}, {"limit itself", set_limits},
                {"confine itself with Landlock", confine},       {"load its system call filter", filter_calls},
        };
        const struct jail jail = {root_fd, uid, ports, port_count};
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
                int r = steps[i].take(&jail);
                if (r < 0)
                        return err_set(e, r, "the egress process could not %s: %s", steps[i].what, strerror(-r));
        }
        return 0;
}
