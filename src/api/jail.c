/* The api process jails itself; see jail.h. */
#include "api/jail.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "sandbox/seccomp.h"

#define UIDS_OF_SANDBOXES 65536
#define DESCRIPTORS_LOOKED_AT 1024 /* the process has opened a handful, all of them lowest numbers */

/* ---- the user */

static bool parse_number(const char *text, uid_t *ret) {
        char *end;
        errno = 0;
        unsigned long number = strtoul(text, &end, 10);
        if (errno || end == text || *end || number >= UINT32_MAX)
                return false;
        *ret = (uid_t)number;
        return true;
}

int jail_find_user(const struct config *config, uid_t *ret_uid, gid_t *ret_gid, struct err *e) {
        const char *name = config->user;
        uid_t uid;
        gid_t gid;

        if (!name || !*name) {
                uid = (uid_t)(config->uid_base + UIDS_OF_SANDBOXES);
                gid = uid;
        } else if (parse_number(name, &uid)) {
                const struct passwd *user = getpwuid(uid);
                gid = user ? user->pw_gid : uid;
        } else {
                const struct passwd *user = getpwnam(name);
                if (!user)
                        return err_set_field(e, -ENOENT, "SANDBOX_USER", "there is no user \"%s\" on this machine",
                                             name);
                uid = user->pw_uid;
                gid = user->pw_gid;
        }
        if (uid == 0 || gid == 0)
                return err_set_field(e, -EPERM, "SANDBOX_USER",
                                     "the service does not run its network side as root; name another user");
        *ret_uid = uid;
        *ret_gid = gid;
        return 0;
}

/* ---- the steps */

struct jail {
        int root_fd;
        uid_t uid;
        gid_t gid;
};

static int change_root(const struct jail *jail) {
        if (fchdir(jail->root_fd) < 0 || chroot(".") < 0 || chdir("/") < 0)
                return -errno;
        return 0;
}

/* An open folder outside of the new root would be a way around it: one call of openat(2). See CVE-2024-21626. */
static int keep_no_folder_open(const struct jail *jail) {
        struct stat status;
        if (close(jail->root_fd) < 0)
                return -errno;
        for (int fd = 0; fd < DESCRIPTORS_LOOKED_AT; fd++)
                if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
                        return -EBADF;
        return 0;
}

/* From here on a change of user neither gives nor takes capabilities: they are taken one step later, all of them. */
static int keep_what_the_next_step_needs(const struct jail *jail) {
        (void)jail;
        return caps_keep_only(CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETPCAP));
}

static int become_user(const struct jail *jail) {
        uid_t real, effective, saved;
        gid_t real_group, effective_group, saved_group;
        if (setgroups(0, NULL) < 0 || setresgid(jail->gid, jail->gid, jail->gid) < 0 ||
            setresuid(jail->uid, jail->uid, jail->uid) < 0)
                return -errno;
        if (getresuid(&real, &effective, &saved) < 0 || getresgid(&real_group, &effective_group, &saved_group) < 0)
                return -errno;
        if (real != jail->uid || effective != jail->uid || saved != jail->uid || real_group != jail->gid ||
            effective_group != jail->gid || saved_group != jail->gid || getgroups(0, NULL) != 0)
                return -EPERM;
        return 0;
}

static int drop_capabilities(const struct jail *jail) {
        (void)jail;
        return caps_drop_all();
}

/* No core dump (it would hold keys and code), no tracer of the same user, nothing readable by others. */
static int set_limits(const struct jail *jail) {
        static const struct rlimit none = {0, 0};
        (void)jail;
        umask(077);
        if (setrlimit(RLIMIT_CORE, &none) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        return 0;
}

static int confine_files(const struct jail *jail) {
        (void)jail;
        int r = landlock_confine_api("/");
        if (r > 0)
                log_warning("this kernel has no Landlock; the api process is jailed without it");
        return r < 0 ? r : 0;
}

static int have_no_more_threads(const struct jail *jail) {
        static const struct rlimit none = {0, 0};
        (void)jail;
        return setrlimit(RLIMIT_NPROC, &none) < 0 ? -errno : 0;
}

static int filter_calls(const struct jail *jail) {
        (void)jail;
        return seccomp_load_for_all_threads(SECCOMP_API);
}

struct step {
        const char *what;
        int (*take)(const struct jail *jail);
};

static int take_steps(const struct step *steps, size_t count, const struct jail *jail, struct err *e) {
        for (size_t i = 0; i < count; i++) {
                int r = steps[i].take(jail);
                if (r < 0)
                        return err_set(e, r, "the api process could not %s: %s", steps[i].what, strerror(-r));
        }
        return 0;
}

int jail_enter(int root_fd, uid_t uid, gid_t gid, struct err *e) {
        static const struct step steps[] = {
                {"change its root folder", change_root},
                {"see that no folder outside is open", keep_no_folder_open},
                {"give up most capabilities", keep_what_the_next_step_needs},
                {"become the service user", become_user},
                {"give up the last capabilities", drop_capabilities},
                {"limit itself", set_limits},
                {"confine itself with Landlock", confine_files},
        };
        const struct jail jail = {.root_fd = root_fd, .uid = uid, .gid = gid};
        return take_steps(steps, ARRAY_SIZE(steps), &jail, e);
}

int jail_seal(struct err *e) {
        static const struct step steps[] = {
                {"give up starting threads", have_no_more_threads},
                {"load its system call filter", filter_calls},
        };
        return take_steps(steps, ARRAY_SIZE(steps), NULL, e);
}
