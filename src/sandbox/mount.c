/* Mounting by descriptor; see mount.h. */
#include "sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int mount_open_beneath(int root_fd, const char *path, uint64_t extra_flags) {
        struct open_how how = {
                .flags = O_PATH | O_CLOEXEC | extra_flags,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
        };
        int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

int mount_clone(int dir_fd, const char *path) {
        int fd = open_tree(dir_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}

int mount_set(int mount_fd, uint64_t attributes, int recursive) {
        struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
        unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
        return mount_setattr(mount_fd, "", flags, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

struct option {
        const char *key, *value;
};

static int mount_new(const char *type, const struct option *options, size_t count, uint64_t attributes) {
        CLEANUP_CLOSE int fs = fsopen(type, FSOPEN_CLOEXEC);
        if (fs < 0)
                return -errno;
        for (size_t i = 0; i < count; i++)
                if (fsconfig(fs, FSCONFIG_SET_STRING, options[i].key, options[i].value, 0) < 0)
                        return -errno;
        if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        int mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
        return mount_fd < 0 ? -errno : mount_fd;
}

int mount_new_tmpfs(uint64_t bytes, uint64_t inodes, unsigned mode, uint64_t attributes) {
        char size[32], count[32], octal[16];
        snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
        snprintf(count, sizeof(count), "%llu", (unsigned long long)inodes);
        snprintf(octal, sizeof(octal), "%o", mode);
        const struct option options[] = {{"source", "tmpfs"}, {"size", size}, {"nr_inodes", count}, {"mode", octal}};
        return mount_new("tmpfs", options, ARRAY_SIZE(options), attributes);
}

int mount_new_proc(void) {
        /* subset=pid hides everything that other runtimes must mask file by file: /proc/sys, kcore, keys, timer_list …
         */
        const struct option options[] = {{"source", "proc"}, {"hidepid", "invisible"}, {"subset", "pid"}};
        return mount_new("proc", options, ARRAY_SIZE(options),
                         MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

int mount_attach(int mount_fd, int root_fd, const char *path) {
        CLEANUP_CLOSE int target = mount_open_beneath(root_fd, path, 0);
        if (target < 0)
                return target;
        return move_mount(mount_fd, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

int mount_pivot(int root_fd) {
        if (fchdir(root_fd) < 0)
                return -errno;
        /* pivot_root(".", ".") stacks the old root on the new one, where it can be detached: pivot_root(2), NOTES. */
        if (syscall(SYS_pivot_root, ".", ".") < 0)
                return -errno;
        if (umount2(".", MNT_DETACH) < 0)
                return -errno;
        return chdir("/") < 0 ? -errno : 0;
}
