/*
 * Mounting by descriptor.
 *
 * Root-side code, run before anything untrusted exists in the room. Targets are resolved inside the root descriptor
 * without following any link (openat2), and mounts are made detached and then moved onto the descriptor, so that no
 * path is walked twice: the class of CVE-2021-30465 and CVE-2025-31133 has no string to race.
 * Needs Linux 5.12 (mount_setattr).
 */
#pragma once

#include <stdint.h>

/* Every function: 0 (or a descriptor) or negative errno. Descriptors are close-on-exec. */

/* A detached copy of `path`, with what is mounted below it. */
int mount_clone(int dir_fd, const char *path);

/* Sets attributes (MOUNT_ATTR_*) on a mount; `recursive` for all below it as well. */
int mount_set(int mount_fd, uint64_t attributes, int recursive);

/* A detached tmpfs owned by the caller. Sizes are exact; `mode` like 0755. */
int mount_new_tmpfs(uint64_t bytes, uint64_t inodes, unsigned mode, uint64_t attributes);

/* A detached /proc of the caller's PID namespace, without other users' processes and without anything but processes. */
int mount_new_proc(void);

/* Attaches a detached mount to `path` below `root_fd`; refuses links on the way. */
int mount_attach(int mount_fd, int root_fd, const char *path);

/* Makes the mount at `root_fd` the root of this mount namespace and drops the old root. Working directory: the new "/".
 */
int mount_pivot(int root_fd);

/* As openat(2) with O_PATH, without leaving `root_fd` and without following any link. */
int mount_open_beneath(int root_fd, const char *path, uint64_t extra_flags);
