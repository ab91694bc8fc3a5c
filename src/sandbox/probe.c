#include "sandbox/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "sandbox/caps.h"
#include "sandbox/cgroup.h"
#include "sandbox/landlock.h"
#include "sandbox/probe_trial.h"

#define KERNEL_MAJOR 5
#define KERNEL_MINOR 14 /* cgroup.kill, MADV_POPULATE_WRITE; before it mount_setattr (5.12), openat2 (5.6) */

static void __attribute__((format(printf, 3, 4)))
say(struct probe_result *result, enum probe_state state, const char *format, ...) {
        va_list arguments;

        result->state = state;
        va_start(arguments, format);
        vsnprintf(result->message, sizeof result->message, format, arguments);
        va_end(arguments);
}

static void __attribute__((format(printf, 2, 3))) advise(struct probe_result *result, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(result->advice, sizeof result->advice, format, arguments);
        va_end(arguments);
}

/* Appends to a list of words. */
static void add_word(char *list, size_t size, const char *word) {
        size_t length = strlen(list);

        snprintf(list + length, size - length, "%s%s", length ? ", " : "", word);
}

/* The number in a file, such as a sysctl's; -1 if it cannot be read. */
static long long number_in(const char *path) {
        CLEANUP_FCLOSE FILE *in = fopen(path, "re");
        long long number;

        return in && fscanf(in, "%lld", &number) == 1 ? number : -1;
}

static bool kernel_at_least(unsigned major, unsigned minor) {
        struct utsname name;
        unsigned has_major = 0, has_minor = 0;

        if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &has_major, &has_minor) != 2)
                return false;
        return has_major > major || (has_major == major && has_minor >= minor);
}

static void check_kernel(const struct probe_context *context, struct probe_result *result) {
        struct utsname name = {.release = "unknown"};

        (void)context;
        uname(&name);
        say(result, PROBE_OK, "Linux %s on %s", name.release, name.machine);
        if (kernel_at_least(KERNEL_MAJOR, KERNEL_MINOR))
                return;
        result->state = PROBE_FAIL;
        advise(result, "install Linux %d.%d or later", KERNEL_MAJOR, KERNEL_MINOR);
}

static void check_privilege(const struct probe_context *context, struct probe_result *result) {
        static const struct {
                const char *name;
                unsigned number;
        } needed[] = {
                {"CAP_SYS_ADMIN", CAP_SYS_ADMIN},
                {"CAP_SETUID", CAP_SETUID},
                {"CAP_SETGID", CAP_SETGID},
                {"CAP_SETPCAP", CAP_SETPCAP},
                {"CAP_KILL", CAP_KILL},
                {"CAP_CHOWN", CAP_CHOWN},
                {"CAP_MKNOD", CAP_MKNOD},
                {"CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE},
                {"CAP_SYS_CHROOT", CAP_SYS_CHROOT},
        };
        char missing[192] = "";
        uint64_t held = caps_effective();

        (void)context;
        for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
                if (!(held & CAP_BIT(needed[i].number)))
                        add_word(missing, sizeof missing, needed[i].name);
        if (geteuid() == 0 && !missing[0]) {
                say(result, PROBE_OK, "root, with the capabilities that are needed");
                return;
        }
        say(result, PROBE_FAIL, "running as user %u%s%s", (unsigned)geteuid(), missing[0] ? ", without " : "", missing);
        advise(result, geteuid() ? "start it as root: it gives up privilege wherever it can"
                                 : "in a container, start it with --privileged or add these capabilities");
}

static void check_user_namespaces(const struct probe_context *context, struct probe_result *result) {
        long long allowed = number_in("/proc/sys/user/max_user_namespaces");
        long long restricted = number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        int r = trial_outer(context->uid_base, context->uid_count);

        if (r == 0)
                r = trial_room(context->uid_base, context->uid_count, CLONE_NEWNS);
        if (r == 0) {
                say(result, PROBE_OK, "can be made and nested, at most %lld of them", allowed);
                return;
        }
        say(result, PROBE_FAIL, "cannot be made and nested: %s", strerror(-r));
        if (allowed == 0)
                advise(result, "allow them: sysctl -w user.max_user_namespaces=100000 (and in /etc/sysctl.d)");
        else if (restricted == 1)
                advise(result,
                       "AppArmor restricts them: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give "
                       "sandboxd a profile that allows \"userns\"");
        else if (r == -EPERM)
                advise(result,
                       "in a container or a chroot, start it with --privileged; else look at what security modules "
                       "(AppArmor, SELinux) and seccomp filters forbid");
        else
                advise(result, "the kernel needs CONFIG_USER_NS=y");
}

static void check_namespaces(const struct probe_context *context, struct probe_result *result) {
        static const struct {
                const char *name, *option;
                int flag;
        } kinds[] = {
                {"pid", "CONFIG_PID_NS", CLONE_NEWPID},     {"mount", "CONFIG_NAMESPACES", CLONE_NEWNS},
                {"network", "CONFIG_NET_NS", CLONE_NEWNET}, {"ipc", "CONFIG_IPC_NS", CLONE_NEWIPC},
                {"uts", "CONFIG_UTS_NS", CLONE_NEWUTS},     {"cgroup", "CONFIG_CGROUPS", CLONE_NEWCGROUP},
        };
        char missing[128] = "", options[192] = "";

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (trial_room(context->uid_base, context->uid_count, kinds[i].flag) < 0) {
                        add_word(missing, sizeof missing, kinds[i].name);
                        add_word(options, sizeof options, kinds[i].option);
                }
        if (!missing[0]) {
                say(result, PROBE_OK, "pid, mount, network, ipc, uts and cgroup namespaces can be made");
                return;
        }
        say(result, PROBE_FAIL, "these kinds cannot be made: %s", missing);
        advise(result,
               "make user namespaces work first; then the kernel needs %s, and /proc/sys/user/max_*_namespaces must "
               "not be 0",
               options);
}

static void check_mounts(const struct probe_context *context, struct probe_result *result) {
        const char *step = NULL;
        int r = trial_mounts(context->uid_base, context->uid_count, &step);

        if (r == 0) {
                say(result, PROBE_OK, "a sandbox can have its own /proc and tmpfs");
                return;
        }
        say(result, PROBE_FAIL, "a sandbox fails at %s: %s", step ? step : "making it", strerror(-r));
        advise(result,
               "something is mounted over parts of /proc, or /proc is read-only, as containers have it; start the "
               "container with --security-opt systempaths=unconfined, or --privileged");
}

/* Asks for nothing much, but so that a kernel which has the call does not say that it has not. */
static void check_calls(const struct probe_context *context, struct probe_result *result) {
        static const struct {
                const char *name;
                long number;
        } calls[] = {
                {"clone3", SYS_clone3},
                {"pidfd_open", SYS_pidfd_open},
                {"openat2", SYS_openat2},
                {"close_range", SYS_close_range},
                {"open_tree", SYS_open_tree},
                {"move_mount", SYS_move_mount},
                {"fsopen", SYS_fsopen},
                {"mount_setattr", 442},
                {"pidfd_send_signal", SYS_pidfd_send_signal},
        };
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char missing[192] = "";

        (void)context;
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                if (syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 && (errno == ENOSYS || errno == EPERM))
                        add_word(missing, sizeof missing, calls[i].name);
        if (page == MAP_FAILED || madvise(page, 4096, 23 /* MADV_POPULATE_WRITE */) < 0)
                add_word(missing, sizeof missing, "madvise(MADV_POPULATE_WRITE)");
        if (page != MAP_FAILED)
                munmap(page, 4096);
        if (!missing[0]) {
                say(result, PROBE_OK, "the kernel has all that are used");
                return;
        }
        say(result, PROBE_FAIL, "not available: %s", missing);
        advise(result,
               "install Linux %d.%d or later; in a container, its seccomp profile must allow them "
               "(--security-opt seccomp=unconfined)",
               KERNEL_MAJOR, KERNEL_MINOR);
}

static void check_cgroups(const struct probe_context *context, struct probe_result *result) {
        static const struct cgroup_limits limits = {.memory_bytes = 16 << 20, .pids = 8, .cpu_percent = 100};
        struct cgroup cgroup = CGROUP_INIT;
        struct cgroup_tree *tree = NULL;
        struct err e = {0};
        char name[32];
        int version = cgroup_detect(&e);

        (void)context;
        if (version == 2) { /* not tried here: it could move this process, and what started it, to another group */
                say(result, PROBE_WARN,
                    "cgroup v2 with memory, pids and cpu; support for v2 is untested on real hosts");
                return;
        }
        snprintf(name, sizeof name, "probe-%d", (int)getpid());
        if (version < 0 || cgroup_open(name, &tree, &e) < 0 || cgroup_create(tree, "trial", &limits, &cgroup, &e) < 0) {
                say(result, PROBE_FAIL, "%s", e.message);
                advise(result, "the controllers memory, pids and cpu must be there and writable");
        } else {
                say(result, PROBE_OK, "cgroup v1 with memory, pids, cpu and cpuacct");
        }
        cgroup_destroy(&cgroup);
        cgroup_close(&tree);
}

static void check_seccomp(const struct probe_context *context, struct probe_result *result) {
        int r = trial_seccomp();

        (void)context;
        if (r == 0) {
                say(result, PROBE_OK, "the filter for untrusted code loads and holds");
                return;
        }
        say(result, PROBE_FAIL, "the filter for untrusted code %s: %s", r < 0 ? "cannot be loaded" : "does not hold",
            r < 0 ? strerror(-r) : "a call that it refuses got through");
        advise(result,
               "the kernel needs CONFIG_SECCOMP_FILTER=y; a hypervisor or emulator that runs it must support it");
}

static void check_landlock(const struct probe_context *context, struct probe_result *result) {
        int abi = landlock_abi();

        (void)context;
        if (abi == 0) {
                say(result, PROBE_WARN, "this kernel has no Landlock, or it is off; sandboxes do without this layer");
                advise(result, "boot with lsm=landlock,… (see /sys/kernel/security/lsm), on a kernel with "
                               "CONFIG_SECURITY_LANDLOCK=y");
        } else if (abi < 6) {
                say(result, PROBE_OK, "version %d: files%s; signals and abstract sockets need version 6 (Linux 6.12)",
                    abi, abi >= 4 ? " and TCP" : "");
        } else {
                say(result, PROBE_OK, "version %d: files, TCP, signals and abstract sockets", abi);
        }
}

/* Is the file system in the kernel, or can it be loaded? Only the first is listed. */
static bool kernel_knows(const char *type) {
        CLEANUP_FCLOSE FILE *in = fopen("/proc/filesystems", "re");
        char line[128];

        while (in && fgets(line, sizeof line, in)) {
                char *name = strrchr(line, '\t');

                line[strcspn(line, "\n")] = '\0';
                if (name && strcmp(name + 1, type) == 0)
                        return true;
        }
        return false;
}

/* "erofs", "squashfs", or NULL: neither, by the file's own mark. */
static const char *image_type(int fd) {
        unsigned char erofs[4], squashfs[4];

        if (pread(fd, erofs, 4, 1024) == 4 && memcmp(erofs, "\xe2\xe1\xf5\xe0", 4) == 0)
                return "erofs";
        return pread(fd, squashfs, 4, 0) == 4 && memcmp(squashfs, "hsqs", 4) == 0 ? "squashfs" : NULL;
}

static void check_image_file(const char *path, int fd, struct probe_result *result) {
        const char *type = image_type(fd);
        bool needs_loop = type && (strcmp(type, "squashfs") == 0 || !kernel_at_least(6, 12));

        if (!type) {
                say(result, PROBE_FAIL, "%s is neither an erofs nor a squashfs image", path);
                advise(result, "build it again: make image");
        } else if (needs_loop && access("/dev/loop-control", R_OK | W_OK) < 0) {
                say(result, PROBE_FAIL, "%s needs a loop device, and /dev/loop-control cannot be used: %s", path,
                    strerror(errno));
                advise(result, "modprobe loop; or set SANDBOX_IMAGE to the folder form of the image (rootfs)");
        } else if (!kernel_knows(type)) {
                say(result, PROBE_WARN, "%s is there; the kernel has not loaded %s yet", path, type);
                advise(result, "modprobe %s; if there is no such module, set SANDBOX_IMAGE to the folder form (rootfs)",
                       type);
        } else {
                say(result, PROBE_OK, "%s, %s%s", path, type, needs_loop ? ", through a loop device" : "");
        }
}

static void check_image(const struct probe_context *context, struct probe_result *result) {
        const char *path = context->image;
        CLEANUP_CLOSE int fd = -1;
        char python[4096];
        struct stat info;

        if (!path || !*path) {
                say(result, PROBE_WARN, "not looked at: none was named");
                return;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &info) < 0) {
                say(result, PROBE_FAIL, "%s: %s", path, strerror(errno));
                advise(result, "build it: make image; or set SANDBOX_IMAGE to where it is");
                return;
        }
        if (!S_ISDIR(info.st_mode)) {
                check_image_file(path, fd, result);
                return;
        }
        snprintf(python, sizeof python, "%s/usr/local/bin/python3.12", path);
        say(result, PROBE_OK, "%s, a folder", path);
        if (access(python, X_OK) == 0)
                return;
        say(result, PROBE_FAIL, "%s is a folder without usr/local/bin/python3.12", path);
        advise(result, "build the image again: make image");
}

/* Lines "name:FIRST:COUNT" (subuid) or "name:x:ID:…" (passwd, group): is one within the range? Names it. */
static bool range_taken(const char *file, bool ranges, const struct probe_context *context, char *ret, size_t size) {
        CLEANUP_FCLOSE FILE *in = fopen(file, "re");
        char line[1024];

        while (in && fgets(line, sizeof line, in)) {
                char name[64];
                uint64_t first, count = 1;
                int n = ranges ? sscanf(line, "%63[^:]:%" SCNu64 ":%" SCNu64, name, &first, &count)
                               : sscanf(line, "%63[^:]:%*[^:]:%" SCNu64, name, &first);

                if (n != (ranges ? 3 : 2))
                        continue;
                if (first < context->uid_base + context->uid_count && first + count > context->uid_base) {
                        snprintf(ret, size, "%s in %s", name, file);
                        return true;
                }
        }
        return false;
}

static void check_ids(const struct probe_context *context, struct probe_result *result) {
        uint64_t last = context->uid_base + context->uid_count - 1;
        char holder[128] = "";

        say(result, PROBE_OK, "host IDs %" PRIu64 " to %" PRIu64 " are free", context->uid_base, last);
        if (context->uid_base < 65536 || last >= UINT32_MAX) {
                say(result, PROBE_FAIL,
                    "host IDs %" PRIu64 " to %" PRIu64 " cannot be used: they must lie between 65536 and "
                    "4294967294",
                    context->uid_base, last);
        } else if (range_taken("/etc/passwd", false, context, holder, sizeof holder) ||
                   range_taken("/etc/group", false, context, holder, sizeof holder)) {
                say(result, PROBE_FAIL, "host IDs %" PRIu64 " to %" PRIu64 " are not free: %s", context->uid_base, last,
                    holder);
        } else if (range_taken("/etc/subuid", true, context, holder, sizeof holder) ||
                   range_taken("/etc/subgid", true, context, holder, sizeof holder)) {
                say(result, PROBE_WARN, "host IDs %" PRIu64 " to %" PRIu64 " are also given to %s", context->uid_base,
                    last, holder);
        }
        if (result->state != PROBE_OK)
                advise(result, "set SANDBOX_UID_BASE to the first of %" PRIu64 " IDs that nobody else uses",
                       context->uid_count);
}

static void check_user(const struct probe_context *context, struct probe_result *result) {
        const struct passwd *user;

        if (!context->user || !*context->user) {
                say(result, PROBE_OK, "the api process runs as host ID %" PRIu64,
                    context->uid_base + context->uid_count - 1);
                return;
        }
        user = getpwnam(context->user);
        if (user && user->pw_uid != 0) {
                say(result, PROBE_OK, "the api process runs as %s (%u)", context->user, (unsigned)user->pw_uid);
                return;
        }
        say(result, PROBE_FAIL, "the api process cannot run as \"%s\": %s", context->user,
            user ? "that is root" : "there is no such user");
        advise(result, "make a system user for it (useradd --system), or leave SANDBOX_USER empty");
}

static void check_settings(const struct probe_context *context, struct probe_result *result) {
        static const struct {
                const char *name, *path;
                long long at_least;
        } settings[] = {
                {"kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict", 1},
                {"kernel.dmesg_restrict", "/proc/sys/kernel/dmesg_restrict", 1},
                {"kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled", 1},
                {"kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled", 1},
                {"kernel.yama.ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", 1},
                {"fs.protected_symlinks", "/proc/sys/fs/protected_symlinks", 1},
                {"fs.protected_hardlinks", "/proc/sys/fs/protected_hardlinks", 1},
        };
        char list[256] = "";

        (void)context;
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                long long value = number_in(settings[i].path);

                if (value < 0 || value >= settings[i].at_least)
                        continue;
                add_word(list, sizeof list, settings[i].name);
                snprintf(list + strlen(list), sizeof list - strlen(list), "=%lld", settings[i].at_least);
        }
        if (number_in("/proc/sys/dev/tty/legacy_tiocsti") == 1)
                add_word(list, sizeof list, "dev.tty.legacy_tiocsti=0");
        say(result, PROBE_OK, "the sysctls that protect a host further are set");
        if (!list[0])
                return;
        say(result, PROBE_WARN, "some sysctls could protect this host further; nothing here rests on them");
        advise(result, "sysctl -w %s", list);
        for (char *comma = result->advice; (comma = strstr(comma, ", "));)
                memmove(comma, comma + 1, strlen(comma)); /* as the command wants it */
}

static const struct check {
        const char *name;
        bool required;
        void (*call)(const struct probe_context *context, struct probe_result *result);
} checks[] = {
        {"kernel", true, check_kernel},
        {"privilege", true, check_privilege},
        {"system calls", true, check_calls},
        {"host IDs", true, check_ids},
        {"user namespaces", true, check_user_namespaces},
        {"namespaces", true, check_namespaces},
        {"mounts", true, check_mounts},
        {"cgroups", true, check_cgroups},
        {"seccomp", true, check_seccomp},
        {"Landlock", false, check_landlock},
        {"image", true, check_image},
        {"service user", true, check_user},
        {"kernel settings", false, check_settings},
};

int probe_run(const struct probe_context *context, probe_fn call, void *data) {
        int failed = 0;

        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                struct probe_result result = {.name = checks[i].name, .required = checks[i].required};

                checks[i].call(context, &result);
                failed += result.required && result.state == PROBE_FAIL;
                call(&result, data);
        }
        return failed;
}
