/*
 * Cgroup file systems made of plain files, which behave like the kernel's where it matters here: a new group has files,
 * a group with processes or groups in it cannot be removed, a process is in one group of a hierarchy, and on v2
 * controllers are handed down only by groups without processes. It stands between the code and the C library (link with
 * --wrap for mkdir, mkdirat, rmdir, unlinkat and write).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/cgroup_internal.h"

struct fake {
        char root[64];
        char mountinfo[96], self_cgroup[96], swaps[96];
        struct cgroup_source source;
};

/* An empty folder, no mounts, no swap. */
void fake_begin(struct fake *fake);
void fake_end(struct fake *fake);

/* Lines of /proc/self/mountinfo and /proc/self/cgroup. `point` is a path below the fake's root. */
void fake_mount(struct fake *fake, const char *point, const char *root, const char *type, const char *options);
void fake_self(struct fake *fake, const char *line);
void fake_has_swap(struct fake *fake);

/* A group below the fake's root and its parents, with files. v2: what its parent hands down. */
void fake_group(struct fake *fake, const char *path);
/* v2: the true root of the hierarchy, which no rule about processes concerns; it has these controllers. */
void fake_root_group(struct fake *fake, const char *path, const char *controllers);

void fake_process(struct fake *fake, const char *group, pid_t pid);
/* Where a process is in the hierarchy that is mounted at `point`; "" if nowhere. */
const char *fake_where(const struct fake *fake, const char *point, pid_t pid);

void fake_remove_file(struct fake *fake, const char *path);
void fake_put(struct fake *fake, const char *path, const char *text);
/* Content without the last newline; in a static buffer. NULL: no such file. */
const char *fake_get(const struct fake *fake, const char *path);
bool fake_exists(const struct fake *fake, const char *path);

/* Writes to files of this name are taken, and change nothing. NULL: to none. */
void fake_ignore_writes(const char *file);
