/*
 * Names that seccomp/ may use, for compile-seccomp: constants, errors, and system calls that libraries may not know
 * yet.
 *
 * Numbers rather than headers where a distribution's headers may be too old; all are the same on x86_64 and aarch64.
 */
#pragma once

#include <stdint.h>

struct named_value {
        const char *name;
        uint32_t value;
};

#define ERROR(name)                                                                                                    \
        { #name, name }

static const struct named_value error_names[] = {
        ERROR(EPERM),        ERROR(EACCES),     ERROR(EINVAL),      ERROR(ENOSYS),
        ERROR(EAFNOSUPPORT), ERROR(EOPNOTSUPP), ERROR(ENOPROTOOPT),
};

/* Since Linux 5.1 a new call gets the same number everywhere (include/uapi/asm-generic/unistd.h). */
static const struct named_value recent_calls[] = {
        {"pidfd_send_signal", 424},
        {"io_uring_setup", 425},
        {"io_uring_enter", 426},
        {"io_uring_register", 427},
        {"open_tree", 428},
        {"move_mount", 429},
        {"fsopen", 430},
        {"fsconfig", 431},
        {"fsmount", 432},
        {"fspick", 433},
        {"pidfd_open", 434},
        {"clone3", 435},
        {"close_range", 436},
        {"openat2", 437},
        {"pidfd_getfd", 438},
        {"faccessat2", 439},
        {"process_madvise", 440},
        {"epoll_pwait2", 441},
        {"mount_setattr", 442},
        {"quotactl_fd", 443},
        {"landlock_create_ruleset", 444},
        {"landlock_add_rule", 445},
        {"landlock_restrict_self", 446},
        {"memfd_secret", 447},
        {"process_mrelease", 448},
        {"futex_waitv", 449},
        {"set_mempolicy_home_node", 450},
        {"cachestat", 451},
        {"fchmodat2", 452},
        {"map_shadow_stack", 453},
        {"futex_wake", 454},
        {"futex_wait", 455},
        {"futex_requeue", 456},
        {"statmount", 457},
        {"listmount", 458},
        {"lsm_get_self_attr", 459},
        {"lsm_set_self_attr", 460},
        {"lsm_list_modules", 461},
        {"mseal", 462},
        {"setxattrat", 463},
        {"getxattrat", 464},
        {"listxattrat", 465},
        {"removexattrat", 466},
        {"open_tree_attr", 467},
        {"file_getattr", 468},
        {"file_setattr", 469},
};

static const struct named_value constants[] = {
        /* clone(2) */
        {"CLONE_NAMESPACES", 0x7e020080}, /* NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME */
        {"CLONE_PTRACE", 0x00002000},
        {"CLONE_PARENT", 0x00008000},
        {"CLONE_UNTRACED", 0x00800000},
        /* socket(2), setsockopt(2) */
        {"AF_UNIX", 1},
        {"SOL_SOCKET", 1},
        {"IPPROTO_TCP", 6},
        {"SO_REUSEADDR", 2},
        {"SO_BROADCAST", 6},
        {"SO_SNDBUF", 7},
        {"SO_RCVBUF", 8},
        {"SO_KEEPALIVE", 9},
        {"SO_OOBINLINE", 10},
        {"SO_PRIORITY", 12},
        {"SO_LINGER", 13},
        {"SO_REUSEPORT", 15},
        {"SO_PASSCRED", 16},
        {"SO_RCVLOWAT", 18},
        {"SO_RCVTIMEO", 20},
        {"SO_SNDTIMEO", 21},
        {"SO_TIMESTAMP", 29},
        {"TCP_NODELAY", 1},
        {"TCP_CORK", 3},
        /* ioctl(2) */
        {"TCGETS", 0x5401},
        {"TIOCGPGRP", 0x540f},
        {"TIOCGWINSZ", 0x5413},
        {"FIONREAD", 0x541b},
        {"FIONBIO", 0x5421},
        {"FIONCLEX", 0x5450},
        {"FIOCLEX", 0x5451},
        {"FIOASYNC", 0x5452},
        {"FICLONE", 0x40049409},
        /* fcntl(2) */
        {"F_DUPFD", 0},
        {"F_GETFD", 1},
        {"F_SETFD", 2},
        {"F_GETFL", 3},
        {"F_SETFL", 4},
        {"F_GETLK", 5},
        {"F_SETLK", 6},
        {"F_SETLKW", 7},
        {"F_GETOWN", 9},
        {"F_OFD_GETLK", 36},
        {"F_OFD_SETLK", 37},
        {"F_OFD_SETLKW", 38},
        {"F_SETLEASE", 1024},
        {"F_GETLEASE", 1025},
        {"F_DUPFD_CLOEXEC", 1030},
        {"F_SETPIPE_SZ", 1031},
        {"F_GETPIPE_SZ", 1032},
        {"F_ADD_SEALS", 1033},
        {"F_GET_SEALS", 1034},
        /* prctl(2), arch_prctl(2), setpriority(2), mknod(2) */
        {"PR_SET_PDEATHSIG", 1},
        {"PR_GET_PDEATHSIG", 2},
        {"PR_GET_DUMPABLE", 3},
        {"PR_GET_KEEPCAPS", 7},
        {"PR_SET_NAME", 15},
        {"PR_GET_NAME", 16},
        {"PR_GET_SECCOMP", 21},
        {"PR_CAPBSET_READ", 23},
        {"PR_GET_SECUREBITS", 27},
        {"PR_SET_TIMERSLACK", 29},
        {"PR_GET_TIMERSLACK", 30},
        {"PR_SET_CHILD_SUBREAPER", 36},
        {"PR_GET_CHILD_SUBREAPER", 37},
        {"PR_SET_NO_NEW_PRIVS", 38},
        {"PR_GET_NO_NEW_PRIVS", 39},
        {"PR_GET_TID_ADDRESS", 40},
        {"PR_SVE_GET_VL", 51},
        {"PR_GET_SPECULATION_CTRL", 52},
        {"PR_GET_TAGGED_ADDR_CTRL", 56},
        {"PR_SET_VMA", 0x53564d41},
        {"ARCH_SET_FS", 0x1002},
        {"ARCH_GET_FS", 0x1003},
        {"PRIO_PROCESS", 0},
        {"S_IFMT", 0170000},
        {"S_IFIFO", 0010000},
};
