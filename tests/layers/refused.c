#include "refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "layer.h"

/* A call and its arguments, for those that need no preparation. */
struct plain {
        long number;
        unsigned long arguments[6];
};

static long plain(const void *data) {
        const struct plain *p = data;
        const unsigned long *a = p->arguments;

        return ERRNO_OF(syscall(p->number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

#define TEXT(literal) ((unsigned long)(uintptr_t)(literal))
#define NOWHERE TEXT("/no such folder")
#define CALL(label, number, wanted, ...)                                                                               \
        { label, plain, &(const struct plain){number, {__VA_ARGS__}}, wanted }

/* ---- Calls that need some preparation ---- */

/* The child of a clone that got through ends at once. */
static long clone_with(const void *data) {
        unsigned long flags = *(const unsigned long *)data;
        long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

        if (pid == 0)
                _exit(0);
        return ERRNO_OF(pid);
}

static long clone3_plain(const void *data) {
        struct {
                uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
        } arguments = {.exit_signal = SIGCHLD};
        long pid = syscall(SYS_clone3, &arguments, sizeof arguments);

        (void)data;
        if (pid == 0)
                _exit(0);
        return ERRNO_OF(pid);
}

static long io_uring(const void *data) {
        char parameters[120] = {0};

        (void)data;
        return ERRNO_OF(syscall(425, 1, parameters));
}

static long read_own_memory(const void *data) {
        char from[8] = "secret", to[8];
        struct iovec remote = {from, sizeof from}, local = {to, sizeof to};

        return ERRNO_OF(syscall(*(const long *)data, getpid(), &local, 1UL, &remote, 1UL, 0UL));
}

static long compare_files(const void *data) {
        (void)data;
        return ERRNO_OF(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0));
}

/* On a terminal of its own, which nobody reads. The request has 64 bits here, of which the kernel uses 32. */
static long terminal(const void *data) {
        int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

        if (fd < 0)
                return -EBADFD;
        return ERRNO_OF(syscall(SYS_ioctl, fd, *(const unsigned long *)data, "x"));
}

struct control {
        int command;
        long value;
};

static long file_control(const void *data) {
        const struct control *c = data;
        int ends[2], fd;

        if (pipe(ends) < 0)
                return -EBADFD;
        fd = c->command == F_NOTIFY ? open("/", O_RDONLY | O_CLOEXEC) : ends[0];
        return ERRNO_OF(syscall(SYS_fcntl, fd, c->command, c->command == F_SETOWN ? getpid() : c->value));
}

static long lease(const void *data) {
        char path[] = "/tmp/layer-lease-XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        (void)data;
        unlink(path);
        return fd < 0 ? -EBADFD : ERRNO_OF(fcntl(fd, F_SETLEASE, F_WRLCK));
}

static long make_node(const void *data) {
        char folder[] = "/tmp/layer-node-XXXXXX";
        long r;

        if (!mkdtemp(folder) || chdir(folder) < 0)
                return -EBADFD;
        r = ERRNO_OF(syscall(SYS_mknodat, AT_FDCWD, "node", *(const mode_t *)data | 0600, makedev(1, 3)));
        unlink("node");
        rmdir(folder);
        return r;
}

static long limits_of_parent(const void *data) {
        struct rlimit limit;

        (void)data;
        return ERRNO_OF(syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, &limit));
}

static long attach_program(const void *data) {
        struct sock_filter code = {BPF_RET | BPF_K, 0, 0, 0};
        struct sock_fprog program = {1, &code};
        int ends[2];

        (void)data;
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0)
                return -EBADFD;
        return ERRNO_OF(setsockopt(ends[0], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}

static long query_own(const void *data) {
        uint32_t buffer[64];

        return ERRNO_OF(syscall(*(const long *)data, 0, buffer, sizeof buffer, 0, 0, 0));
}

#define CLONE(label, flags)                                                                                            \
        { "clone(" label ")", clone_with, &(const unsigned long){flags}, EPERM }
#define IOCTL(label, request)                                                                                          \
        { "ioctl(" label ")", terminal, &(const unsigned long){request}, EPERM }
#define FCNTL(command, value)                                                                                          \
        { "fcntl(" #command ")", file_control, &(const struct control){command, value}, EPERM }
#define SOCKET(family, type) CALL("socket(" #family ")", SYS_socket, EAFNOSUPPORT, family, type)

const struct refused refused_calls[] = {
        /* Mounts, roots, namespaces. */
        CALL("mount", SYS_mount, EPERM, TEXT("none"), NOWHERE, TEXT("tmpfs")),
        CALL("umount2", SYS_umount2, EPERM, NOWHERE),
        CALL("chroot", SYS_chroot, EPERM, NOWHERE),
        CALL("pivot_root", SYS_pivot_root, EPERM, NOWHERE, NOWHERE),
        CALL("unshare(user)", SYS_unshare, EPERM, CLONE_NEWUSER),
        CALL("unshare(pid)", SYS_unshare, EPERM, CLONE_NEWPID),
        CALL("unshare(mount)", SYS_unshare, EPERM, CLONE_NEWNS),
        CALL("unshare(network)", SYS_unshare, EPERM, CLONE_NEWNET),
        CALL("unshare(time)", SYS_unshare, EPERM, 0x80 /* CLONE_NEWTIME */),
        CALL("unshare(nothing)", SYS_unshare, EPERM, 0),
        CALL("setns", SYS_setns, EPERM, -1UL),
        CLONE("user", CLONE_NEWUSER),
        CLONE("pid", CLONE_NEWPID),
        CLONE("mount", CLONE_NEWNS),
        CLONE("network", CLONE_NEWNET),
        CLONE("ipc", CLONE_NEWIPC),
        CLONE("uts", CLONE_NEWUTS),
        CLONE("cgroup", CLONE_NEWCGROUP),
        CLONE("ptrace", CLONE_PTRACE),
        CLONE("untraced", CLONE_UNTRACED),
        CLONE("parent", CLONE_PARENT),
        CLONE("user, upper bits set", CLONE_NEWUSER | 1UL << 40),
        {"clone3", clone3_plain, NULL, ENOSYS},
        CALL("open_tree", SYS_open_tree, ENOSYS, (unsigned long)AT_FDCWD, TEXT("/"), 0),
        CALL("move_mount", SYS_move_mount, ENOSYS, -1UL, TEXT(""), -1UL, TEXT(""), 4),
        CALL("fsopen", SYS_fsopen, ENOSYS, TEXT("tmpfs"), 0),
        CALL("fsmount", SYS_fsmount, ENOSYS, -1UL),
        CALL("mount_setattr", 442, ENOSYS, -1UL, TEXT("")),

        /* Other processes. */
        CALL("ptrace", SYS_ptrace, EPERM, PTRACE_TRACEME),
        {"process_vm_readv", read_own_memory, &(const long){SYS_process_vm_readv}, EPERM},
        {"process_vm_writev", read_own_memory, &(const long){SYS_process_vm_writev}, EPERM},
        {"kcmp", compare_files, NULL, EPERM},
        CALL("pidfd_getfd", 438, EPERM, -1UL),
        CALL("process_madvise", 440, ENOSYS, -1UL),
        {"prlimit64(another process)", limits_of_parent, NULL, EPERM},
        CALL("setpriority(a user)", SYS_setpriority, EPERM, PRIO_USER, 0, 0),
        CALL("migrate_pages", SYS_migrate_pages, EPERM, 0, 0, 0, 0),

        /* Ways into the kernel with much behind them. */
        CALL("bpf", SYS_bpf, EPERM, 0, 0, 0),
        {"io_uring_setup", io_uring, NULL, ENOSYS},
        CALL("io_uring_enter", 426, ENOSYS, -1UL),
        CALL("io_uring_register", 427, ENOSYS, -1UL),
        CALL("io_setup", SYS_io_setup, ENOSYS, 0, 0),
        CALL("userfaultfd", SYS_userfaultfd, ENOSYS, 0),
        CALL("perf_event_open", SYS_perf_event_open, EPERM, 0),
        CALL("keyctl", SYS_keyctl, EPERM, 0, -3UL, 0),
        CALL("add_key", SYS_add_key, EPERM, 0, 0, 0, 0),
        CALL("request_key", SYS_request_key, EPERM, 0, 0, 0, 0),
        CALL("splice", SYS_splice, ENOSYS, -1UL, 0, -1UL, 0, 1),
        CALL("tee", SYS_tee, ENOSYS, -1UL, -1UL, 1),
        CALL("vmsplice", SYS_vmsplice, ENOSYS, -1UL),
        CALL("fanotify_init", SYS_fanotify_init, ENOSYS, 0, 0),
        CALL("seccomp", SYS_seccomp, EPERM, 99),
        {"prctl(PR_SET_SECCOMP)", plain, &(const struct plain){SYS_prctl, {PR_SET_SECCOMP, 99}}, EPERM},
        CALL("landlock_create_ruleset", 444, ENOSYS, 0, 0, 1),
        {"setsockopt(SO_ATTACH_FILTER)", attach_program, NULL, ENOPROTOOPT},

        /* The machine. */
        CALL("kexec_load", SYS_kexec_load, EPERM, 0, 0, 0, 0xff), /* flags that do not exist */
        CALL("init_module", SYS_init_module, EPERM, 0, 0, 0),
        CALL("finit_module", SYS_finit_module, EPERM, -1UL, 0, 0),
        CALL("delete_module", SYS_delete_module, EPERM, 0, 0),
        CALL("reboot", SYS_reboot, EPERM, 0, 0, 0, 0), /* not the magic numbers */
        CALL("swapon", SYS_swapon, EPERM, NOWHERE, 0),
        CALL("swapoff", SYS_swapoff, EPERM, NOWHERE),
        CALL("acct", SYS_acct, EPERM, NOWHERE),
        CALL("syslog", SYS_syslog, EPERM, 99),
        CALL("sethostname", SYS_sethostname, EPERM, 0, -1UL),
        CALL("setdomainname", SYS_setdomainname, EPERM, 0, -1UL),
        CALL("settimeofday", SYS_settimeofday, EPERM, 0, 0),
        CALL("clock_settime", SYS_clock_settime, EPERM, -1UL, 0),
        CALL("adjtimex", SYS_adjtimex, EPERM, 0),
        CALL("quotactl", SYS_quotactl, EPERM, -1UL, 0, 0, 0),
        CALL("open_by_handle_at", SYS_open_by_handle_at, EPERM, -1UL, 0, 0),
        CALL("name_to_handle_at", SYS_name_to_handle_at, EPERM, -1UL, 0, 0, 0, 0),
#ifdef __x86_64__
        CALL("iopl", SYS_iopl, EPERM, 0),
        CALL("ioperm", SYS_ioperm, EPERM, 0, 0, 0),
        CALL("modify_ldt", SYS_modify_ldt, EPERM, 99),
        CALL("arch_prctl(ARCH_CET_STATUS and others)", SYS_arch_prctl, EINVAL, 0x1004 /* ARCH_GET_GS */, -8UL),
#endif

        /* Who it is. */
        CALL("setuid", SYS_setuid, EPERM, 0),
        CALL("setgid", SYS_setgid, EPERM, 0),
        CALL("setresuid", SYS_setresuid, EPERM, -1UL, -1UL, -1UL),
        CALL("setresgid", SYS_setresgid, EPERM, -1UL, -1UL, -1UL),
        CALL("setreuid", SYS_setreuid, EPERM, -1UL, -1UL),
        CALL("setgroups", SYS_setgroups, EPERM, 0, 0),
        CALL("setfsuid", SYS_setfsuid, EPERM, -1UL),
        CALL("capset", SYS_capset, EPERM, 0, 0),
        CALL("fchownat", SYS_fchownat, EPERM, (unsigned long)AT_FDCWD, NOWHERE, 0, 0, 0),
        CALL("setxattr", SYS_setxattr, EOPNOTSUPP, NOWHERE, TEXT("user.a"), TEXT("b"), 1, 0),
        {"prctl(PR_SET_SECUREBITS)", plain, &(const struct plain){SYS_prctl, {PR_SET_SECUREBITS, 0}}, EPERM},
        {"prctl(PR_SET_KEEPCAPS)", plain, &(const struct plain){SYS_prctl, {PR_SET_KEEPCAPS, 0}}, EPERM},
        {"prctl(PR_SET_DUMPABLE)", plain, &(const struct plain){SYS_prctl, {PR_SET_DUMPABLE, 1}}, EPERM},
        CALL("personality(no randomisation)", SYS_personality, EPERM, ADDR_NO_RANDOMIZE),

        /* Terminals, descriptors, devices. */
        IOCTL("TIOCSTI", TIOCSTI),
        IOCTL("TIOCSTI, upper bits set", TIOCSTI | 1UL << 32),
        IOCTL("TIOCLINUX", TIOCLINUX),
        IOCTL("TCSETS", TCSETS),
        IOCTL("0", 0),
        FCNTL(F_SETOWN, 0),
        FCNTL(F_SETSIG, SIGUSR1),
        FCNTL(F_NOTIFY, DN_CREATE),
        FCNTL(F_SETPIPE_SZ, 1 << 20),
        {"fcntl(F_SETLEASE)", lease, NULL, EPERM},
        {"mknod(character device)", make_node, &(const mode_t){S_IFCHR}, EPERM},
        {"mknod(block device)", make_node, &(const mode_t){S_IFBLK}, EPERM},

        /* Memory and messages shared past the room's files. */
        CALL("shmget", SYS_shmget, EPERM, 0, 0, 0),
        CALL("semget", SYS_semget, EPERM, 0, 0, 0),
        CALL("msgget", SYS_msgget, EPERM, 1, 0),
        CALL("mq_open", SYS_mq_open, EPERM, 0, 0, 0, 0),
        CALL("mbind", SYS_mbind, EPERM, 0, 0, 0, 0, 0, 0),
        CALL("move_pages", SYS_move_pages, EPERM, 0, 0, 0, 0, 0, 0),

        /* Scheduling beside the limits. */
        CALL("sched_setscheduler", SYS_sched_setscheduler, EPERM, 0, 99, 0),
        {"sched_setattr", query_own, &(const long){SYS_sched_setattr}, EPERM},
        CALL("ioprio_set", SYS_ioprio_set, EPERM, 99, 0, 0),

        /* Networks. Making the socket is all that is tried. */
        SOCKET(AF_INET, SOCK_STREAM),
        SOCKET(AF_INET, SOCK_DGRAM),
        SOCKET(AF_INET, SOCK_RAW),
        SOCKET(AF_INET6, SOCK_STREAM),
        SOCKET(AF_INET6, SOCK_DGRAM),
        SOCKET(AF_NETLINK, SOCK_RAW),
        SOCKET(AF_PACKET, SOCK_RAW),
        SOCKET(AF_VSOCK, SOCK_STREAM),
        CALL("socketpair(AF_INET)", SYS_socketpair, EAFNOSUPPORT, AF_INET, SOCK_STREAM, 0, 0),
};

const size_t refused_count = sizeof refused_calls / sizeof refused_calls[0];
