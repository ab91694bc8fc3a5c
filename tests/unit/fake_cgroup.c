#include "fake_cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESSES_MAX 32

int __real_mkdir(const char *path, mode_t mode);
int __real_mkdirat(int dir_fd, const char *name, mode_t mode);
int __real_rmdir(const char *path);
int __real_unlinkat(int dir_fd, const char *name, int flags);
ssize_t __real_write(int fd, const void *data, size_t size);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode);
int __wrap_rmdir(const char *path);
int __wrap_unlinkat(int dir_fd, const char *name, int flags);
ssize_t __wrap_write(int fd, const void *data, size_t size);

/* One fake at a time; empty: none, and every call is what it was. */
static char root[64];
static const char *ignored;
static struct {
        pid_t pid;
        char group[PATH_MAX];
} processes[PROCESSES_MAX];

/* ---- Paths and files ---- */

static const char *path_of(int dir_fd, const char *name) {
        static char path[2 * PATH_MAX];
        char link[64];
        ssize_t length;

        if (name && name[0] == '/')
                return name;
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir_fd);
        length = readlink(link, path, PATH_MAX);
        if (length < 0)
                return "";
        path[length] = '\0';
        if (name)
                snprintf(path + length, sizeof path - (size_t)length, "/%s", name);
        return path;
}

static bool is_ours(const char *path) {
        return root[0] && strncmp(path, root, strlen(root)) == 0;
}

static void put(const char *folder, const char *file, const char *text) {
        char path[2 * PATH_MAX];
        int fd;

        snprintf(path, sizeof path, "%s/%s", folder, file);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert(fd >= 0);
        assert(__real_write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
}

static const char *get(const char *folder, const char *file) {
        static char text[4096];
        char path[2 * PATH_MAX];
        ssize_t length;
        int fd;

        snprintf(path, sizeof path, "%s/%s", folder, file);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return NULL;
        length = read(fd, text, sizeof text - 1);
        close(fd);
        text[length > 0 ? length : 0] = '\0';
        text[strcspn(text, "\n") == strlen(text) - 1 ? strlen(text) - 1 : strlen(text)] = '\0';
        return text;
}

static void copy(char *ret, const char *path) {
        assert(strlen(path) < PATH_MAX);
        memcpy(ret, path, strlen(path) + 1);
}

static void parent_of(const char *path, char *ret) {
        copy(ret, path);
        *strrchr(ret, '/') = '\0';
}

/* ---- Groups ---- */

static bool is_v2(const char *group) {
        char parent[PATH_MAX];

        if (get(group, "cgroup.controllers"))
                return true;
        parent_of(group, parent);
        return is_ours(parent) && get(parent, "cgroup.controllers");
}

static void populate_v1(const char *group) {
        static const char *const files[] = {
                "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
                "memory.swappiness",     "memory.max_usage_in_bytes",
                "cgroup.event_control",  "pids.max",
                "cpu.cfs_period_us",     "cpu.cfs_quota_us",
                "cpuacct.usage",
        };

        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
                put(group, files[i], "0\n");
        put(group, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
}

static void populate_v2(const char *group, const char *controllers) {
        put(group, "cgroup.controllers", controllers);
        put(group, "cgroup.subtree_control", "");
        put(group, "cgroup.kill", "");
        put(group, "cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\n");
        if (strstr(controllers, "memory")) {
                put(group, "memory.max", "max\n");
                put(group, "memory.swap.max", "max\n");
                put(group, "memory.oom.group", "0\n");
                put(group, "memory.peak", "0\n");
                put(group, "memory.current", "0\n");
                put(group, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n");
        }
        if (strstr(controllers, "pids"))
                put(group, "pids.max", "max\n");
        if (strstr(controllers, "cpu"))
                put(group, "cpu.max", "max 100000\n");
}

static void populate(const char *group) {
        char parent[PATH_MAX], controllers[256];
        const char *handed_down;

        put(group, "cgroup.procs", "");
        parent_of(group, parent);
        if (!is_v2(group)) {
                populate_v1(group);
                return;
        }
        handed_down = get(parent, "cgroup.subtree_control");
        snprintf(controllers, sizeof controllers, "%s", handed_down ? handed_down : "");
        put(group, "cgroup.type", "domain\n");
        populate_v2(group, controllers);
}

static bool has_processes(const char *group) {
        for (size_t i = 0; i < PROCESSES_MAX; i++)
                if (processes[i].pid && strcmp(processes[i].group, group) == 0)
                        return true;
        return false;
}

static bool has_children(const char *group) {
        DIR *dir = opendir(group);
        const struct dirent *entry;
        bool any = false;

        while (dir && (entry = readdir(dir)))
                any |= entry->d_type == DT_DIR && entry->d_name[0] != '.';
        if (dir)
                closedir(dir);
        return any;
}

static void write_processes(const char *group) {
        char text[1024] = "";

        for (size_t i = 0; i < PROCESSES_MAX; i++)
                if (processes[i].pid && strcmp(processes[i].group, group) == 0)
                        snprintf(text + strlen(text), sizeof text - strlen(text), "%d\n", (int)processes[i].pid);
        put(group, "cgroup.procs", text);
}

/* The hierarchy of a group: the first folder below the root. */
static size_t hierarchy_length(const char *group) {
        const char *slash = strchr(group + strlen(root) + 1, '/');

        return slash ? (size_t)(slash - group) : strlen(group);
}

static void move(pid_t pid, const char *group) {
        size_t length = hierarchy_length(group), free_place = PROCESSES_MAX;
        char before[PATH_MAX] = "";

        for (size_t i = 0; i < PROCESSES_MAX; i++) {
                bool here = processes[i].pid == pid && strncmp(processes[i].group, group, length) == 0 &&
                            (processes[i].group[length] == '/' || processes[i].group[length] == '\0');

                if (here)
                        copy(before, processes[i].group);
                if (here || (!processes[i].pid && free_place == PROCESSES_MAX))
                        free_place = i;
                if (here)
                        break;
        }
        assert(free_place < PROCESSES_MAX);
        processes[free_place].pid = pid;
        copy(processes[free_place].group, group);
        if (before[0])
                write_processes(before);
        write_processes(group);
}

/* ---- What the code under test calls ---- */

int __wrap_mkdir(const char *path, mode_t mode) {
        int r = __real_mkdir(path, mode);

        if (r == 0 && is_ours(path))
                populate(path);
        return r;
}

int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode) {
        char path[2 * PATH_MAX];

        copy(path, path_of(dir_fd, name));
        return is_ours(path) ? __wrap_mkdir(path, mode) : __real_mkdirat(dir_fd, name, mode);
}

int __wrap_rmdir(const char *path) {
        char file[3 * PATH_MAX];
        const struct dirent *entry;
        DIR *dir;

        if (!is_ours(path))
                return __real_rmdir(path);
        if (has_processes(path) || has_children(path)) {
                errno = EBUSY;
                return -1;
        }
        dir = opendir(path);
        while (dir && (entry = readdir(dir))) {
                snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
                unlink(file);
        }
        if (dir)
                closedir(dir);
        return __real_rmdir(path);
}

int __wrap_unlinkat(int dir_fd, const char *name, int flags) {
        char path[2 * PATH_MAX];

        copy(path, path_of(dir_fd, name));
        return flags == AT_REMOVEDIR && is_ours(path) ? __wrap_rmdir(path) : __real_unlinkat(dir_fd, name, flags);
}

static ssize_t hand_down(const char *group, const char *request, size_t size) {
        bool remove = request[0] == '-', is_root = !get(group, "cgroup.type");

        if (!remove && !is_root && has_processes(group)) {
                put(group, "cgroup.subtree_control", "");
                errno = EBUSY;
                return -1;
        }
        put(group, "cgroup.subtree_control", remove ? "" : "cpu memory pids\n");
        return (ssize_t)size;
}

static ssize_t attach(const char *group, const char *text, size_t size) {
        const char *handed_down = get(group, "cgroup.subtree_control");

        if (handed_down && handed_down[0] && get(group, "cgroup.type")) { /* no internal processes */
                write_processes(group);
                errno = EBUSY;
                return -1;
        }
        move(atoi(text), group);
        return (ssize_t)size;
}

ssize_t __wrap_write(int fd, const void *data, size_t size) {
        char path[2 * PATH_MAX], group[PATH_MAX];
        const char *file;

        if (!root[0])
                return __real_write(fd, data, size);
        copy(path, path_of(fd, NULL));
        if (!is_ours(path))
                return __real_write(fd, data, size);
        parent_of(path, group);
        file = strrchr(path, '/') + 1;
        if (ignored && strcmp(file, ignored) == 0)
                return __real_write(fd, "7\n", 2) == 2 ? (ssize_t)size : -1;
        if (strcmp(file, "cgroup.procs") == 0)
                return attach(group, data, size);
        if (strcmp(file, "cgroup.subtree_control") == 0)
                return hand_down(group, data, size);
        return __real_write(fd, data, size);
}

/* ---- What the tests call ---- */

static void __attribute__((format(printf, 2, 3))) append(const char *path, const char *format, ...) {
        FILE *out = fopen(path, "ae");
        va_list arguments;

        assert(out);
        va_start(arguments, format);
        vfprintf(out, format, arguments);
        va_end(arguments);
        fclose(out);
}

void fake_begin(struct fake *fake) {
        char template[] = "/tmp/fake-cgroup-XXXXXX";

        assert(mkdtemp(template));
        snprintf(fake->root, sizeof fake->root, "%s", template);
        snprintf(fake->mountinfo, sizeof fake->mountinfo, "%s/mountinfo", template);
        snprintf(fake->self_cgroup, sizeof fake->self_cgroup, "%s/self_cgroup", template);
        snprintf(fake->swaps, sizeof fake->swaps, "%s/swaps", template);
        fake->source = (struct cgroup_source){fake->mountinfo, fake->self_cgroup, fake->swaps};
        append(fake->mountinfo, "1 0 8:1 / / rw,relatime - ext4 /dev/root rw\n");
        append(fake->self_cgroup, "%s", "");
        append(fake->swaps, "Filename Type Size Used Priority\n");
        memset(processes, 0, sizeof processes);
        ignored = NULL;
        snprintf(root, sizeof root, "%s", template);
}

void fake_end(struct fake *fake) {
        char command[128];

        root[0] = '\0';
        snprintf(command, sizeof command, "rm -rf %s", fake->root);
        assert(system(command) == 0);
}

void fake_mount(struct fake *fake, const char *point, const char *mount_root, const char *type, const char *options) {
        append(fake->mountinfo, "31 23 0:28 %s %s/%s rw,relatime shared:9 - %s none %s\n", mount_root, fake->root,
               point, type, options);
}

void fake_self(struct fake *fake, const char *line) {
        append(fake->self_cgroup, "%s\n", line);
}

void fake_has_swap(struct fake *fake) {
        append(fake->swaps, "/swapfile file 1048572 0 -2\n");
}

static const char *full(const struct fake *fake, const char *path) {
        static char buffer[PATH_MAX];

        snprintf(buffer, sizeof buffer, "%s/%s", fake->root, path);
        return buffer;
}

void fake_root_group(struct fake *fake, const char *path, const char *controllers) {
        assert(__real_mkdir(full(fake, path), 0755) == 0);
        put(full(fake, path), "cgroup.procs", "");
        put(full(fake, path), "cgroup.controllers", controllers);
        put(full(fake, path), "cgroup.subtree_control", controllers);
}

void fake_group(struct fake *fake, const char *path) {
        char group[PATH_MAX];

        copy(group, full(fake, path));
        for (char *slash = group + strlen(fake->root) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (access(group, F_OK) < 0)
                        assert(__wrap_mkdir(group, 0755) == 0);
                *slash = '/';
        }
        assert(__wrap_mkdir(group, 0755) == 0);
}

void fake_process(struct fake *fake, const char *group, pid_t pid) {
        move(pid, full(fake, group));
}

const char *fake_where(const struct fake *fake, const char *point, pid_t pid) {
        const char *hierarchy = full(fake, point);
        size_t length = strlen(hierarchy);

        for (size_t i = 0; i < PROCESSES_MAX; i++)
                if (processes[i].pid == pid && strncmp(processes[i].group, hierarchy, length) == 0)
                        return processes[i].group + strlen(fake->root) + 1;
        return "";
}

void fake_remove_file(struct fake *fake, const char *path) {
        assert(unlink(full(fake, path)) == 0);
}

void fake_put(struct fake *fake, const char *path, const char *text) {
        put(fake->root, path, text);
}

const char *fake_get(const struct fake *fake, const char *path) {
        return get(fake->root, path);
}

bool fake_exists(const struct fake *fake, const char *path) {
        return access(full(fake, path), F_OK) == 0;
}

void fake_ignore_writes(const char *file) {
        ignored = file;
}
