/*
 * What the files of cgroup.h share: the host's hierarchies, the operations of a version, small reads and writes.
 */
#pragma once

#include <stddef.h>

#include "sandbox/cgroup.h"

/* "pids" comes first, so that leftovers are kept from forking before they are killed. */
enum cgroup_controller { CONTROLLER_PIDS, CONTROLLER_MEMORY, CONTROLLER_CPU, CONTROLLER_CPUACCT, CONTROLLERS };

#define CGROUP_PATH_MAX 4096
#define CPU_PERIOD_US 20000u /* short, so that a throttled sandbox is not stopped for long at a time */

/* Where to look; the tests look elsewhere. */
struct cgroup_source {
        const char *mountinfo, *self_cgroup, *swaps;
};

/* What cgroup_host.c finds. */
struct cgroup_host {
        int version;
        bool has_swap;
        /* This process's own groups, and the tops of what it can see. v1: by controller, v2: the first alone. Heap. */
        char *own[CONTROLLERS], *top[CONTROLLERS];
};

int cgroup_open_from(const struct cgroup_source *source, const char *instance, struct cgroup_tree **ret, struct err *e);

int cgroup_host_find(const struct cgroup_source *source, struct cgroup_host *ret, struct err *e);
void cgroup_host_deinit(struct cgroup_host *host);

struct cgroup_ops {
        /* Sets every limit and reads it back. */
        int (*set_limits)(struct cgroup *cgroup, const struct cgroup_limits *limits, struct err *e);
        /* Opens the files of cgroup_read_usage and whatever tells of running out of memory. */
        int (*open_files)(struct cgroup *cgroup, struct err *e);
        int (*read_usage)(const struct cgroup *cgroup, struct cgroup_usage *ret);
        int (*set_memory)(struct cgroup *cgroup, uint64_t bytes);
        int (*set_cpu)(struct cgroup *cgroup, uint32_t percent); /* CGROUP_CPU_UNLIMITED: all there is */
        int (*kill)(struct cgroup *cgroup);
        int (*oom_fd)(const struct cgroup *cgroup, uint32_t *ret_epoll_events);
        void (*oom_ack)(struct cgroup *cgroup);
        /* May be NULL. Once the parents are there: lets them have children, looks whether all files are there. */
        int (*ready)(struct cgroup_tree *tree, struct err *e);
        /* May be NULL. Undoes what prepare did beyond naming the parents. */
        void (*leave)(struct cgroup_tree *tree);
};

struct cgroup_tree {
        int version;
        bool has_swap;
        const struct cgroup_ops *ops;
        size_t n; /* hierarchies */
        size_t index[CONTROLLERS];
        char *parents[CGROUP_HIERARCHIES_MAX]; /* ".../sandboxd-<instance>" */
        int parent_fds[CGROUP_HIERARCHIES_MAX];
        char *base, *leaf; /* v2: the group above the parent; where this process was moved to, or NULL */
};

extern const struct cgroup_ops cgroup_v1_ops, cgroup_v2_ops;

/* Names the parents. v1: below this process's own groups. v2: below one that can have such children. */
int cgroup_v1_prepare(const struct cgroup_host *host, const char *name, struct cgroup_tree *tree, struct err *e);
int cgroup_v2_prepare(const struct cgroup_host *host, const char *name, struct cgroup_tree *tree, struct err *e);

static inline int cgroup_dir(const struct cgroup *cgroup, enum cgroup_controller controller) {
        return cgroup->dir_fds[cgroup->tree->index[controller]];
}

/* Files of a group. 0 (or a descriptor) or a negative errno. */
int cgroup_file_open(int dir_fd, const char *file, int flags);
int cgroup_file_write(int dir_fd, const char *file, const char *text);
int cgroup_file_write_number(int dir_fd, const char *file, uint64_t number);
int cgroup_file_read(int dir_fd, const char *file, char *buffer, size_t size); /* returns the length */
/* Reads from the start of an open file, again and again. `key`: the number behind that word; NULL: the first. */
int cgroup_fd_read_number(int fd, const char *key, uint64_t *ret);
int cgroup_file_read_number(int dir_fd, const char *file, uint64_t *ret);

/* Writes and reads back; -EIO if the kernel took another value. The error says which. */
int cgroup_file_set(int dir_fd, const char *file, uint64_t number, struct err *e);

/* SIGKILLs every process that is listed in the group now, but this one. Returns how many, or a negative errno. */
int cgroup_kill_listed(int dir_fd);
