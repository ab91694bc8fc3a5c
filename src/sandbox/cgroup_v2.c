/*
 * cgroup v2: one hierarchy, controllers handed down group by group.
 *
 * A group that hands controllers down may hold no processes itself ("no internal processes", cgroups(7)). So this
 * process may have to step into a leaf of its own, so that its group can have sandboxes as children. Not yet run on a
 * real host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "sandbox/cgroup_internal.h"

#define EVACUATE_TRIES 100 /* processes may be forking while they are moved */

static const char *const needed[] = {"memory", "pids", "cpu"};

static char *join(const char *folder, const char *name) {
        char *path;

        return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* Is `word` one of the words of `text`? */
static bool has_word(const char *text, const char *word) {
        size_t length = strlen(word);

        for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
                if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\n' || at[length] == '\0'))
                        return true;
        return false;
}

/* Which of the controllers `file` (cgroup.controllers, cgroup.subtree_control) of the group lacks; "" if none. */
static int missing_of(const char *group, const char *file, char *ret, size_t size) {
        CLEANUP_CLOSE int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char text[1024];
        int r = fd < 0 ? -errno : cgroup_file_read(fd, file, text, sizeof text);

        ret[0] = '\0';
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(needed); i++)
                if (!has_word(text, needed[i]))
                        snprintf(ret + strlen(ret), size - strlen(ret), "%s%s", ret[0] ? ", " : "", needed[i]);
        return r < 0 ? r : 0;
}

/* Hands the controllers down to the group's children. -EBUSY: it holds processes. */
static int hand_down(const char *group) {
        CLEANUP_CLOSE int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char missing[64];
        int r = fd < 0 ? -errno : missing_of(group, "cgroup.subtree_control", missing, sizeof missing);

        if (r < 0 || !missing[0])
                return r;
        return cgroup_file_write(fd, "cgroup.subtree_control", "+memory +pids +cpu");
}

/* Only this process in it, so that moving all of it moves nothing of anybody else? */
static bool alone_in(const char *group) {
        CLEANUP_CLOSE int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char text[256], self[32];

        snprintf(self, sizeof self, "%d\n", (int)getpid());
        return fd >= 0 && cgroup_file_read(fd, "cgroup.procs", text, sizeof text) >= 0 && strcmp(text, self) == 0;
}

/* Moves one process. -ESRCH: it has ended meanwhile, which is as good. */
static int move(int to_fd, pid_t pid) {
        int r = cgroup_file_write_number(to_fd, "cgroup.procs", (uint64_t)pid);

        return r == -ESRCH ? 0 : r;
}

/* Moves every process of a group into another. */
static int evacuate(const char *from, const char *to) {
        CLEANUP_CLOSE int from_fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSE int to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char text[64];

        if (from_fd < 0 || to_fd < 0)
                return -errno;
        for (int i = 0; i < EVACUATE_TRIES * 16; i++) {
                int pid = 0, r = cgroup_file_read(from_fd, "cgroup.procs", text, sizeof text);

                if (r <= 0)
                        return r;
                if (sscanf(text, "%d", &pid) != 1 || pid <= 0)
                        return -EBUSY; /* a process of a PID namespace that is not ours */
                r = move(to_fd, pid);
                if (r < 0)
                        return r;
        }
        return -EBUSY;
}

/* Steps out of `base` into a leaf below it, with all that is in it. */
static int step_into_leaf(struct cgroup_tree *tree, const char *base, const char *name) {
        CLEANUP_FREE char *leaf_name = NULL, *leaf = NULL;
        int r;

        if (asprintf(&leaf_name, "%s-service", name) < 0) {
                leaf_name = NULL;
                return -ENOMEM;
        }
        leaf = join(base, leaf_name);
        if (!leaf)
                return -ENOMEM;
        if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
                return -errno;
        r = evacuate(base, leaf);
        if (r == 0)
                r = hand_down(base);
        if (r < 0) {
                evacuate(leaf, base);
                rmdir(leaf);
                return r;
        }
        tree->leaf = TAKE_PTR(leaf);
        return 0;
}

/*
 * A group that can have children with the controllers: this process's own, if it is alone there (a service of systemd
 * with Delegate=yes) or at the top of all it can see (a container); else the top. Others' processes are never moved
 * elsewhere.
 */
static int choose_base(const struct cgroup_host *host, const char *name, struct cgroup_tree *tree, const char **ret) {
        const char *own = host->own[0], *top = host->top[0];
        char missing[64];
        int r = missing_of(own, "cgroup.controllers", missing, sizeof missing);

        if (r == 0 && !missing[0]) {
                r = hand_down(own);
                if (r == -EBUSY && (alone_in(own) || strcmp(own, top) == 0))
                        r = step_into_leaf(tree, own, name);
                if (r == 0) {
                        *ret = own;
                        return 0;
                }
        }
        r = missing_of(top, "cgroup.controllers", missing, sizeof missing);
        if (r == 0)
                r = missing[0] ? -ENODEV : hand_down(top);
        *ret = top;
        return r;
}

int cgroup_v2_prepare(const struct cgroup_host *host, const char *name, struct cgroup_tree *tree, struct err *e) {
        const char *base = NULL;
        char missing[64];
        int r = choose_base(host, name, tree, &base);

        if (r == -ENODEV && missing_of(host->top[0], "cgroup.controllers", missing, sizeof missing) == 0)
                return err_set(
                        e, r,
                        "cgroup controllers are missing in %s: %s; the kernel must have them, not disabled on its "
                        "command line (cgroup_disable), and a container's manager must hand them down",
                        host->top[0], missing);
        if (r < 0)
                return err_set(e, r,
                               "cannot make control groups below %s or %s: %s; start the service by systemd with "
                               "Delegate=yes, or let the container see /sys/fs/cgroup for writing",
                               host->own[0], host->top[0], strerror(-r));
        tree->n = 1;
        tree->base = strdup(base);
        tree->parents[0] = join(base, name);
        return tree->base && tree->parents[0] ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int ready(struct cgroup_tree *tree, struct err *e) {
        int r = hand_down(tree->parents[0]);

        if (r < 0)
                return err_set(e, r, "cannot hand the controllers memory, pids and cpu down in %s: %s",
                               tree->parents[0], strerror(-r));
        return 0;
}

/* The other way round: the parents are gone, so the base may hold processes again. */
static void leave(struct cgroup_tree *tree) {
        CLEANUP_CLOSE int fd = -1;

        if (!tree->leaf || !tree->base)
                return;
        fd = open(tree->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || cgroup_file_write(fd, "cgroup.subtree_control", "-memory -pids -cpu") < 0)
                return;
        if (evacuate(tree->leaf, tree->base) == 0)
                rmdir(tree->leaf);
}

static int set_swap(int dir, const struct cgroup_tree *tree, struct err *e) {
        int r = cgroup_file_set(dir, "memory.swap.max", 0, e);

        if (r != -ENOENT)
                return r;
        if (tree->has_swap)
                return err_set(
                        e, -ENODEV,
                        "this kernel does not account for swap, so a sandbox could use it without limit; boot with "
                        "swapaccount=1, or switch swap off (swapoff -a)");
        return 0;
}

static void describe_cpu(uint32_t percent, char *ret, size_t size) {
        if (percent == CGROUP_CPU_UNLIMITED)
                snprintf(ret, size, "max %u", CPU_PERIOD_US);
        else
                snprintf(ret, size, "%u %u", CPU_PERIOD_US / 100 * percent, CPU_PERIOD_US);
}

static int set_cpu(struct cgroup *cgroup, uint32_t percent) {
        char text[64];

        describe_cpu(percent, text, sizeof text);
        return cgroup_file_write(cgroup->dir_fds[0], "cpu.max", text);
}

/* Reads back as "quota period". */
static int check_cpu(struct cgroup *cgroup, uint32_t percent, struct err *e) {
        char text[64], taken[64];
        int r = set_cpu(cgroup, percent);

        describe_cpu(percent, text, sizeof text);
        if (r == 0)
                r = cgroup_file_read(cgroup->dir_fds[0], "cpu.max", taken, sizeof taken);
        if (r < 0)
                return err_set(e, r, "cannot set cpu.max to %s: %s", text, strerror(-r));
        taken[strcspn(taken, "\n")] = '\0';
        return strcmp(text, taken) == 0 ? 0 : err_set(e, -EIO, "cpu.max was set to %s but reads %s", text, taken);
}

static int set_limits(struct cgroup *cgroup, const struct cgroup_limits *limits, struct err *e) {
        int dir = cgroup->dir_fds[0];
        int r = cgroup_file_set(dir, "memory.max", limits->memory_bytes & ~(uint64_t)4095, e);

        if (r == 0)
                r = set_swap(dir, cgroup->tree, e);
        if (r == 0) /* all of a sandbox dies, not one process of it (Linux 4.19) */
                r = cgroup_file_set(dir, "memory.oom.group", 1, e);
        if (r == 0)
                r = cgroup_file_set(dir, "pids.max", limits->pids, e);
        return r < 0 ? r : check_cpu(cgroup, limits->cpu_percent, e);
}

static int open_one(int dir_fd, const char *file, int *ret, struct err *e) {
        *ret = cgroup_file_open(dir_fd, file, O_RDONLY);
        return *ret < 0 ? err_set(e, *ret, "cannot open %s: %s", file, strerror(-*ret)) : 0;
}

static int open_files(struct cgroup *cgroup, struct err *e) {
        int dir = cgroup->dir_fds[0], r = open_one(dir, "cpu.stat", &cgroup->cpu_fd, e);

        if (r == 0) /* for writing, to reset it: Linux 6.12 */
                cgroup->memory_fd = cgroup_file_open(dir, "memory.peak", O_RDWR);
        if (r == 0 && cgroup->memory_fd < 0)
                r = open_one(dir, "memory.peak", &cgroup->memory_fd, NULL);
        if (r == -ENOENT) /* before Linux 5.19 only what is used now is known */
                r = open_one(dir, "memory.current", &cgroup->memory_fd, e);
        if (r == 0)
                r = open_one(dir, "memory.events", &cgroup->events_fd, e);
        return r;
}

static int read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret) {
        struct cgroup_usage usage;
        int r = cgroup_fd_read_number(cgroup->cpu_fd, "usage_usec", &usage.cpu_us);

        if (r == 0)
                r = cgroup_fd_read_number(cgroup->memory_fd, NULL, &usage.memory_peak);
        if (r == 0)
                r = cgroup_fd_read_number(cgroup->events_fd, "oom_kill", &usage.oom_kills);
        if (r < 0)
                return r;
        *ret = usage;
        return 0;
}

static int set_memory(struct cgroup *cgroup, uint64_t bytes) {
        return cgroup_file_write_number(cgroup->dir_fds[0], "memory.max", bytes);
}

static int kill_all(struct cgroup *cgroup) {
        int dir = cgroup->dir_fds[0], r = cgroup_file_write(dir, "cgroup.kill", "1"); /* Linux 5.14 */

        if (r != -ENOENT)
                return r;
        r = cgroup_file_write(dir, "pids.max", "0");
        if (r == 0)
                r = cgroup_kill_listed(dir);
        return r < 0 ? r : 0;
}

/* kernfs raises EPOLLPRI (and EPOLLERR) when the file changes, until it is read again through this descriptor. */
static int oom_fd(const struct cgroup *cgroup, uint32_t *ret_epoll_events) {
        *ret_epoll_events = EPOLLPRI;
        return cgroup->events_fd;
}

static void oom_ack(struct cgroup *cgroup) {
        uint64_t ignored;

        (void)cgroup_fd_read_number(cgroup->events_fd, "oom_kill", &ignored);
}

const struct cgroup_ops cgroup_v2_ops = {
        .set_limits = set_limits,
        .open_files = open_files,
        .read_usage = read_usage,
        .set_memory = set_memory,
        .set_cpu = set_cpu,
        .kill = kill_all,
        .oom_fd = oom_fd,
        .oom_ack = oom_ack,
        .ready = ready,
        .leave = leave,
};
