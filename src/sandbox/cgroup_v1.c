/*
 * cgroup v1: one hierarchy for each controller, or one for several (cpu,cpuacct).
 *
 * There is no killing of a group at once and no oom.group: the spawner kills a room whose oom_kills rise. Kernel memory
 * counts in memory.limit_in_bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"
#include "sandbox/cgroup_internal.h"

static int index_of(struct cgroup_tree *tree, const char *path) {
        for (size_t i = 0; i < tree->n; i++)
                if (strcmp(tree->parents[i], path) == 0)
                        return (int)i;
        return -1;
}

int cgroup_v1_prepare(const struct cgroup_host *host, const char *name, struct cgroup_tree *tree, struct err *e) {
        for (size_t i = 0; i < CONTROLLERS; i++) {
                CLEANUP_FREE char *path = NULL;
                int known;

                if (asprintf(&path, "%s/%s", host->own[i], name) < 0) {
                        path = NULL;
                        return err_set(e, -ENOMEM, "out of memory");
                }
                known = index_of(tree, path);
                tree->index[i] = known < 0 ? tree->n : (size_t)known;
                if (known < 0)
                        tree->parents[tree->n++] = TAKE_PTR(path);
        }
        return 0;
}

/* Accounting of swap can be off (swapaccount=0); then nothing bounds it. */
static int ready(struct cgroup_tree *tree, struct err *e) {
        int memory = tree->parent_fds[tree->index[CONTROLLER_MEMORY]];

        if (faccessat(memory, "memory.memsw.limit_in_bytes", W_OK, 0) == 0 || !tree->has_swap)
                return 0;
        return err_set(e, -ENODEV,
                       "this kernel does not account for swap, so a sandbox could use it without limit; boot with "
                       "swapaccount=1, or switch swap off (swapoff -a)");
}

/* Memory and swap together have the same limit as memory. It may never be lower: the order depends on the direction. */
static int set_memory(struct cgroup *cgroup, uint64_t bytes) {
        int dir = cgroup_dir(cgroup, CONTROLLER_MEMORY);
        int r = cgroup_file_write_number(dir, "memory.memsw.limit_in_bytes", bytes);
        bool no_memsw = r == -ENOENT;

        if (r < 0 && r != -EINVAL && !no_memsw) /* EINVAL: it would be lower than the limit of memory is now */
                return r;
        r = cgroup_file_write_number(dir, "memory.limit_in_bytes", bytes);
        if (r < 0 || no_memsw)
                return r;
        return cgroup_file_write_number(dir, "memory.memsw.limit_in_bytes", bytes);
}

static int set_cpu(struct cgroup *cgroup, uint32_t percent) {
        char text[32];

        snprintf(text, sizeof text, "%d", percent == CGROUP_CPU_UNLIMITED ? -1 : (int)(CPU_PERIOD_US / 100 * percent));
        return cgroup_file_write(cgroup_dir(cgroup, CONTROLLER_CPU), "cpu.cfs_quota_us", text);
}

static int set_limits(struct cgroup *cgroup, const struct cgroup_limits *limits, struct err *e) {
        int memory = cgroup_dir(cgroup, CONTROLLER_MEMORY), cpu = cgroup_dir(cgroup, CONTROLLER_CPU);
        uint64_t bytes = limits->memory_bytes & ~(uint64_t)4095; /* the kernel counts pages */
        int r = cgroup_file_set(memory, "memory.limit_in_bytes", bytes, e);

        if (r < 0)
                return r;
        r = cgroup_file_set(memory, "memory.memsw.limit_in_bytes", bytes, e);
        if (r < 0 && r != -ENOENT) /* see ready(): then there is no swap */
                return r;
        cgroup_file_write_number(memory, "memory.swappiness", 0); /* only a hint beside the limit above */
        if (limits->socket_bytes > 0)
                r = cgroup_file_set(memory, "memory.kmem.tcp.limit_in_bytes", limits->socket_bytes, e);
        if (r < 0 && r != -ENOENT) /* a kernel without it counts none */
                return r;
        r = cgroup_file_set(cgroup_dir(cgroup, CONTROLLER_PIDS), "pids.max", limits->pids, e);
        if (r < 0)
                return r;
        r = cgroup_file_set(cpu, "cpu.cfs_period_us", CPU_PERIOD_US, e);
        if (r < 0)
                return r;
        return cgroup_file_set(cpu, "cpu.cfs_quota_us", (uint64_t)CPU_PERIOD_US * limits->cpu_percent / 100, e);
}

/* Documentation/admin-guide/cgroup-v1/memory.rst, section 10: an eventfd is signalled when memory runs out. */
static int watch_oom(struct cgroup *cgroup, int memory, struct err *e) {
        char text[64];
        int r;

        cgroup->oom_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (cgroup->oom_fd < 0)
                return err_set(e, -errno, "cannot make an eventfd: %s", strerror(errno));
        snprintf(text, sizeof text, "%d %d", cgroup->oom_fd, cgroup->events_fd);
        r = cgroup_file_write(memory, "cgroup.event_control", text);
        return r < 0 ? err_set(e, r, "cannot watch for running out of memory (cgroup.event_control): %s", strerror(-r))
                     : 0;
}

static int open_one(int dir_fd, const char *file, int flags, int *ret, struct err *e) {
        *ret = cgroup_file_open(dir_fd, file, flags);
        return *ret < 0 ? err_set(e, *ret, "cannot open %s: %s", file, strerror(-*ret)) : 0;
}

static int open_files(struct cgroup *cgroup, struct err *e) {
        int memory = cgroup_dir(cgroup, CONTROLLER_MEMORY);
        int r = open_one(cgroup_dir(cgroup, CONTROLLER_CPUACCT), "cpuacct.usage", O_RDONLY, &cgroup->cpu_fd, e);

        if (r == 0)
                r = open_one(memory, "memory.max_usage_in_bytes", O_RDWR, &cgroup->memory_fd, e);
        if (r == 0)
                r = open_one(memory, "memory.oom_control", O_RDONLY, &cgroup->events_fd, e);
        return r < 0 ? r : watch_oom(cgroup, memory, e);
}

/* memory.failcnt is no sign: it stays 0 when memsw's limit is the same, and rises when page cache is dropped. */
static int read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret) {
        struct cgroup_usage usage;
        uint64_t ns;
        int r = cgroup_fd_read_number(cgroup->cpu_fd, NULL, &ns);

        if (r == 0)
                r = cgroup_fd_read_number(cgroup->memory_fd, NULL, &usage.memory_peak);
        if (r == 0)
                r = cgroup_fd_read_number(cgroup->events_fd, "oom_kill", &usage.oom_kills);
        if (r < 0)
                return r;
        usage.cpu_us = ns / 1000;
        *ret = usage;
        return 0;
}

static int kill_all(struct cgroup *cgroup) {
        int pids = cgroup_dir(cgroup, CONTROLLER_PIDS), r = cgroup_file_write(pids, "pids.max", "0");

        if (r < 0)
                return r;
        r = cgroup_kill_listed(pids);
        return r < 0 ? r : 0;
}

static int oom_fd(const struct cgroup *cgroup, uint32_t *ret_epoll_events) {
        *ret_epoll_events = EPOLLIN;
        return cgroup->oom_fd;
}

static void oom_ack(struct cgroup *cgroup) {
        eventfd_t count;

        eventfd_read(cgroup->oom_fd, &count); /* nothing to be done if there was nothing to read */
}

const struct cgroup_ops cgroup_v1_ops = {
        .set_limits = set_limits,
        .open_files = open_files,
        .read_usage = read_usage,
        .set_memory = set_memory,
        .set_cpu = set_cpu,
        .kill = kill_all,
        .oom_fd = oom_fd,
        .oom_ack = oom_ack,
        .ready = ready,
};
