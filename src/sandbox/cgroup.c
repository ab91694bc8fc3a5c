#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "sandbox/cgroup_internal.h"

#define LEFTOVER_TRIES 300 /* of LEFTOVER_WAIT_MS each, for what an earlier run left to die */
#define LEFTOVER_WAIT_MS 10
#define SWEEP_DEPTH 12 /* groups in groups */

/* ---- Files ---- */

int cgroup_file_open(int dir_fd, const char *file, int flags) {
        int fd = openat(dir_fd, file, flags | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : fd;
}

int cgroup_file_write(int dir_fd, const char *file, const char *text) {
        CLEANUP_CLOSE int fd = cgroup_file_open(dir_fd, file, O_WRONLY | O_TRUNC);

        if (fd < 0)
                return fd;
        return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int cgroup_file_write_number(int dir_fd, const char *file, uint64_t number) {
        char text[32];

        snprintf(text, sizeof text, "%" PRIu64, number);
        return cgroup_file_write(dir_fd, file, text);
}

static int read_text(int fd, char *buffer, size_t size) {
        ssize_t length = pread(fd, buffer, size - 1, 0);

        if (length < 0)
                return -errno;
        buffer[length] = '\0';
        return (int)length;
}

int cgroup_file_read(int dir_fd, const char *file, char *buffer, size_t size) {
        CLEANUP_CLOSE int fd = cgroup_file_open(dir_fd, file, O_RDONLY);

        return fd < 0 ? fd : read_text(fd, buffer, size);
}

/* The start of the line "KEY number", behind the key. */
static const char *find_key(const char *text, const char *key) {
        size_t length = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, key, length) == 0 && line[length] == ' ')
                        return line + length + 1;
        }
        return NULL;
}

int cgroup_fd_read_number(int fd, const char *key, uint64_t *ret) {
        char buffer[2048], *end;
        const char *text = buffer;
        int r = read_text(fd, buffer, sizeof buffer);
        uint64_t number;

        if (r < 0)
                return r;
        if (key)
                text = find_key(buffer, key);
        if (!text || *text < '0' || *text > '9')
                return -ENODATA;
        errno = 0;
        number = strtoull(text, &end, 10);
        if (errno)
                return -errno;
        *ret = number;
        return 0;
}

int cgroup_file_read_number(int dir_fd, const char *file, uint64_t *ret) {
        CLEANUP_CLOSE int fd = cgroup_file_open(dir_fd, file, O_RDONLY);

        return fd < 0 ? fd : cgroup_fd_read_number(fd, NULL, ret);
}

int cgroup_file_set(int dir_fd, const char *file, uint64_t number, struct err *e) {
        uint64_t taken = 0;
        int r = cgroup_file_write_number(dir_fd, file, number);

        if (r == 0)
                r = cgroup_file_read_number(dir_fd, file, &taken);
        if (r < 0)
                return err_set(e, r, "cannot set %s to %" PRIu64 ": %s", file, number, strerror(-r));
        if (taken != number)
                return err_set(e, -EIO, "%s was set to %" PRIu64 " but reads %" PRIu64, file, number, taken);
        return 0;
}

int cgroup_kill_listed(int dir_fd) {
        CLEANUP_CLOSE int fd = cgroup_file_open(dir_fd, "cgroup.procs", O_RDONLY);
        CLEANUP_FCLOSE FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
        int killed = 0, pid;

        if (fd < 0)
                return fd;
        if (!list)
                return -errno;
        take_fd(&fd);
        while (fscanf(list, "%d", &pid) == 1) /* 0 stands for a process of a PID namespace that is not ours */
                if (pid > 0 && pid != getpid())
                        killed += kill(pid, SIGKILL) == 0;
        return killed;
}

/* ---- The service's own place ---- */

static const struct cgroup_source proc = {"/proc/self/mountinfo", "/proc/self/cgroup", "/proc/swaps"};

int cgroup_detect(struct err *e) {
        struct cgroup_host host = {0};
        int r = cgroup_host_find(&proc, &host, e);

        if (r < 0)
                return r;
        r = host.version;
        cgroup_host_deinit(&host);
        return r;
}

/* What becomes part of a path: nothing that leads elsewhere. */
static bool good_name(const char *name) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
        size_t length = strlen(name);

        return length > 0 && length < sizeof((struct cgroup *)NULL)->name && strspn(name, letters) == length &&
               name[0] != '.';
}

static void wait_a_little(void) {
        nanosleep(&(struct timespec){.tv_nsec = LEFTOVER_WAIT_MS * 1000000L}, NULL);
}

/* A group of an earlier run: no new processes (v1 and v2 have this file), an end to the present ones, and away. */
static int remove_leftover(int parent_fd, const char *name) {
        CLEANUP_CLOSE int fd = cgroup_file_open(parent_fd, name, O_RDONLY | O_DIRECTORY);

        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        for (int i = 0; i < LEFTOVER_TRIES; i++) {
                cgroup_file_write(fd, "pids.max", "0");
                cgroup_kill_listed(fd);
                if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                        return 0;
                if (errno != EBUSY)
                        return -errno;
                wait_a_little();
        }
        return -EBUSY;
}

/* Everything below one parent. */
static int remove_leftovers(int parent_fd) {
        int fd = cgroup_file_open(parent_fd, ".", O_RDONLY | O_DIRECTORY), r = 0;
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!dir)
                return fd < 0 ? fd : -errno;
        while ((entry = readdir(dir))) {
                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                r = remove_leftover(parent_fd, entry->d_name);
                if (r < 0)
                        return r;
        }
        return 0;
}

/*
 * Looks through a hierarchy for what an earlier run of this name left in other places: a run from another login session
 * was in another group. Nothing else has this name, and who holds the name now is the only one to use it.
 */
static void sweep(int dir_fd, const char *name, unsigned depth) {
        CLEANUP_CLOSEDIR DIR *dir = fdopendir(dir_fd);
        const struct dirent *entry;

        if (!dir)
                close(dir_fd);
        while (dir && (entry = readdir(dir))) {
                CLEANUP_CLOSE int fd = -1;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                fd = cgroup_file_open(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY);
                if (fd < 0)
                        continue;
                if (strcmp(entry->d_name, name) == 0) {
                        remove_leftovers(fd);
                        unlinkat(dir_fd, name, AT_REMOVEDIR);
                } else if (depth < SWEEP_DEPTH) {
                        sweep(take_fd(&fd), name, depth + 1);
                }
        }
}

static void sweep_all(const struct cgroup_host *host, const char *name) {
        for (size_t i = 0; i < CONTROLLERS; i++) {
                int fd = host->top[i] ? open(host->top[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

                if (fd >= 0)
                        sweep(fd, name, 0);
        }
}

static int open_parent(struct cgroup_tree *tree, size_t i, struct err *e) {
        const char *path = tree->parents[i];
        int r;

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return err_set(e, -errno, "cannot make the control group %s: %s%s", path, strerror(errno),
                               errno == EROFS ? "; in a container, let it see /sys/fs/cgroup for writing" : "");
        tree->parent_fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (tree->parent_fds[i] < 0)
                return err_set(e, -errno, "cannot open the control group %s: %s", path, strerror(errno));
        r = remove_leftovers(tree->parent_fds[i]);
        if (r < 0)
                return err_set(e, r,
                               "cannot remove what an earlier run left in %s: %s; end the processes that the files "
                               "cgroup.procs below it list",
                               path, strerror(-r));
        return 0;
}

static struct cgroup_tree *tree_new(void) {
        struct cgroup_tree *tree = calloc(1, sizeof *tree);

        for (size_t i = 0; tree && i < CGROUP_HIERARCHIES_MAX; i++)
                tree->parent_fds[i] = -1;
        return tree;
}

static void tree_free(struct cgroup_tree *tree) {
        for (size_t i = 0; i < CGROUP_HIERARCHIES_MAX; i++) {
                close_fd(&tree->parent_fds[i]);
                free(tree->parents[i]);
        }
        free(tree->base);
        free(tree->leaf);
        free(tree);
}

static int open_tree(const struct cgroup_host *host, const char *name, struct cgroup_tree *tree, struct err *e) {
        int r;

        tree->version = host->version;
        tree->has_swap = host->has_swap;
        tree->ops = host->version == 1 ? &cgroup_v1_ops : &cgroup_v2_ops;
        sweep_all(host, name);
        r = host->version == 1 ? cgroup_v1_prepare(host, name, tree, e) : cgroup_v2_prepare(host, name, tree, e);
        for (size_t i = 0; r == 0 && i < tree->n; i++)
                r = open_parent(tree, i, e);
        if (r == 0 && tree->ops->ready)
                r = tree->ops->ready(tree, e);
        return r;
}

int cgroup_open_from(const struct cgroup_source *source, const char *instance, struct cgroup_tree **ret,
                     struct err *e) {
        struct cgroup_tree *tree = NULL;
        struct cgroup_host host = {0};
        char name[80];
        int r;

        if (!good_name(instance))
                return err_set(e, -EINVAL, "\"%s\" cannot name a control group", instance);
        snprintf(name, sizeof name, "sandboxd-%s", instance);
        r = cgroup_host_find(source, &host, e);
        if (r < 0)
                return r;
        tree = tree_new();
        r = tree ? open_tree(&host, name, tree, e) : -ENOMEM;
        cgroup_host_deinit(&host);
        if (r < 0 && tree)
                cgroup_close(&tree);
        else
                *ret = tree;
        return r;
}

int cgroup_open(const char *instance, struct cgroup_tree **ret, struct err *e) {
        return cgroup_open_from(&proc, instance, ret, e);
}

void cgroup_close(struct cgroup_tree **tree) {
        struct cgroup_tree *t = *tree;

        if (!t)
                return;
        for (size_t i = 0; i < t->n; i++) {
                if (t->parent_fds[i] >= 0)
                        remove_leftovers(t->parent_fds[i]);
                if (t->parents[i])
                        rmdir(t->parents[i]); /* another run of this name would take it over: no harm if it stays */
        }
        if (t->ops && t->ops->leave)
                t->ops->leave(t);
        tree_free(t);
        *tree = NULL;
}

int cgroup_version(const struct cgroup_tree *tree) {
        return tree->version;
}

/* ---- One group ---- */

static int make_folders(struct cgroup *cgroup, struct err *e) {
        for (size_t i = 0; i < cgroup->tree->n; i++) {
                int parent = cgroup->tree->parent_fds[i];

                if (mkdirat(parent, cgroup->name, 0755) < 0)
                        return err_set(e, -errno, "cannot make the control group %s/%s: %s", cgroup->tree->parents[i],
                                       cgroup->name, strerror(errno));
                cgroup->dir_fds[i] = cgroup_file_open(parent, cgroup->name, O_RDONLY | O_DIRECTORY);
                if (cgroup->dir_fds[i] < 0) {
                        unlinkat(parent, cgroup->name, AT_REMOVEDIR);
                        return err_set(e, cgroup->dir_fds[i], "cannot open the control group %s/%s: %s",
                                       cgroup->tree->parents[i], cgroup->name, strerror(-cgroup->dir_fds[i]));
                }
        }
        return 0;
}

int cgroup_create(const struct cgroup_tree *tree, const char *name, const struct cgroup_limits *limits,
                  struct cgroup *ret, struct err *e) {
        struct cgroup cgroup = CGROUP_INIT;
        int r;

        if (!good_name(name))
                return err_set(e, -EINVAL, "\"%s\" cannot name a control group", name);
        cgroup.tree = tree;
        snprintf(cgroup.name, sizeof cgroup.name, "%s", name);
        r = make_folders(&cgroup, e);
        if (r == 0)
                r = tree->ops->set_limits(&cgroup, limits, e);
        if (r == 0)
                r = tree->ops->open_files(&cgroup, e);
        if (r < 0) {
                cgroup_destroy(&cgroup);
                return r;
        }
        *ret = cgroup;
        return 0;
}

int cgroup_attach(struct cgroup *cgroup, pid_t pid) {
        for (size_t i = 0; i < cgroup->tree->n; i++) {
                int r = cgroup_file_write_number(cgroup->dir_fds[i], "cgroup.procs", (uint64_t)pid);

                if (r < 0)
                        return r;
        }
        return 0;
}

int cgroup_oom_fd(const struct cgroup *cgroup, uint32_t *ret_epoll_events) {
        return cgroup->tree->ops->oom_fd(cgroup, ret_epoll_events);
}

void cgroup_oom_ack(struct cgroup *cgroup) {
        cgroup->tree->ops->oom_ack(cgroup);
}

int cgroup_read_usage(const struct cgroup *cgroup, struct cgroup_usage *ret) {
        return cgroup->tree->ops->read_usage(cgroup, ret);
}

int cgroup_set_memory(struct cgroup *cgroup, uint64_t memory_bytes) {
        return cgroup->tree->ops->set_memory(cgroup, memory_bytes);
}

int cgroup_set_cpu(struct cgroup *cgroup, uint32_t cpu_percent) {
        return cgroup->tree->ops->set_cpu(cgroup, cpu_percent);
}

void cgroup_reset_peak(struct cgroup *cgroup) {
        (void)!pwrite(cgroup->memory_fd, "0", 1, 0);
}

int cgroup_kill(struct cgroup *cgroup) {
        return cgroup->tree ? cgroup->tree->ops->kill(cgroup) : 0;
}

int cgroup_destroy(struct cgroup *cgroup) {
        if (!cgroup->tree)
                return 0;
        for (size_t i = 0; i < cgroup->tree->n; i++) {
                if (cgroup->dir_fds[i] < 0)
                        continue;
                if (unlinkat(cgroup->tree->parent_fds[i], cgroup->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                        return -errno;
                close_fd(&cgroup->dir_fds[i]);
        }
        close_fd(&cgroup->cpu_fd);
        close_fd(&cgroup->memory_fd);
        close_fd(&cgroup->events_fd);
        close_fd(&cgroup->oom_fd);
        cgroup->tree = NULL;
        return 0;
}
