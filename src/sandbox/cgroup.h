/*
 * Control groups: memory, processes and CPU time of one sandbox, on cgroup v1 and v2.
 *
 * Runs in the spawner, as root. Trusts the kernel's cgroup file system; what a sandbox does inside its group reaches
 * this code as numbers only. cgroup.c finds out what the host has and holds what both versions share; cgroup_v1.c and
 * cgroup_v2.c know the files. Tested for real on v1; v2 by unit tests on a made-up tree.
 *
 * Life:   cgroup_open → (cgroup_create → cgroup_attach … → cgroup_kill → cgroup_destroy)* → cgroup_close
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_tree; /* this service's place in the host's cgroups */

struct cgroup_limits {
        uint64_t memory_bytes; /* without swap; memory of the kernel and of tmpfs counts */
        uint64_t socket_bytes; /* v1 only: buffers of TCP and UDP, which it counts apart; 0: no limit. In v2 they are memory */
        uint32_t pids;         /* processes and threads */
        uint32_t cpu_percent;  /* of one CPU */
};

struct cgroup_usage {
        uint64_t cpu_us;      /* since the group was made, all processes */
        uint64_t memory_peak; /* bytes */
        uint64_t oom_kills;   /* processes that the kernel killed because memory_bytes was reached */
};

#define CGROUP_HIERARCHIES_MAX 4 /* v1: memory, pids, cpu, cpuacct; some may be one. v2: one */

struct cgroup {
        const struct cgroup_tree *tree;
        char name[64];
        int dir_fds[CGROUP_HIERARCHIES_MAX]; /* the group's folders */
        int cpu_fd, memory_fd, events_fd;    /* files that cgroup_read_usage reads */
        int oom_fd;                          /* see cgroup_oom_fd */
};

/* Before cgroup_create, so that cgroup_destroy may always be called. */
#define CGROUP_INIT                                                                                                    \
        { .dir_fds = {-1, -1, -1, -1}, .cpu_fd = -1, .memory_fd = -1, .events_fd = -1, .oom_fd = -1 }

/*
 * Finds the host's cgroups and makes "sandboxd-<instance>" below this process's own groups (or below the root, where
 * the own group cannot have children). Whatever an earlier run of this instance left there is killed and removed. On v2
 * this process may be moved into a leaf group of its own. 0 or a negative errno; the error says which controller is
 * missing and what to do. Call it once, before there are threads or children.
 */
int cgroup_open(const char *instance, struct cgroup_tree **ret, struct err *e);

/* Kills and removes what is left, then the parent groups. NULL-safe; sets the caller's pointer to NULL. */
void cgroup_close(struct cgroup_tree **tree);

/* Which version cgroup_open would use: 1 or 2, or a negative errno. Only looks. */
int cgroup_detect(struct err *e);

/* 1, or 2. */
int cgroup_version(const struct cgroup_tree *tree);

/* Makes a group and sets its limits; reads them back. On failure nothing is left. 0 or a negative errno. */
int cgroup_create(const struct cgroup_tree *tree, const char *name, const struct cgroup_limits *limits,
                  struct cgroup *ret, struct err *e);

/* Moves a process (one thread, as yet) in. What it has allocated before stays charged to where it was. */
int cgroup_attach(struct cgroup *cgroup, pid_t pid);

/*
 * A descriptor (borrowed) for an event loop, and the events to wait for. It fires when the group is out of memory, and
 * may fire for no reason: call cgroup_oom_ack, then cgroup_read_usage, and look whether oom_kills has risen.
 */
int cgroup_oom_fd(const struct cgroup *cgroup, uint32_t *ret_epoll_events);
void cgroup_oom_ack(struct cgroup *cgroup);

/* Cheap: three reads of open files. 0 or a negative errno. */
int cgroup_read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret);

/* Changes the memory limit, such as a little more for collecting files from a sandbox that had used it up. */
int cgroup_set_memory(struct cgroup *cgroup, uint64_t memory_bytes);

/* Changes the share of the processor. */
int cgroup_set_cpu(struct cgroup *cgroup, uint32_t cpu_percent);
#define CGROUP_CPU_UNLIMITED 0

/* Lets memory_peak begin anew, where the kernel can (v1; v2 from Linux 6.12 on). */
void cgroup_reset_peak(struct cgroup *cgroup);

/* SIGKILLs everything in the group; nothing in it can fork any more. Returns at once: dying and reaping take time. */
int cgroup_kill(struct cgroup *cgroup);

/* Removes the group and closes its descriptors. -EBUSY while something in it is not reaped: kill, reap, call again. */
int cgroup_destroy(struct cgroup *cgroup);
