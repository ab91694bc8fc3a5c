/*
 * Hands over what a run has left in its working directory.
 *
 * Runs in a room's init after every other process of the room is dead, as the sandbox's own user and inside its root:
 * the tree is hostile, but there is nothing left that could change it, nothing of the host to be led to, and no
 * privilege to be misused. No recursion, no memory that grows with the tree, an end in time.
 */
#include "init/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/inputs.h"
#include "init/io.h"
#include "spawn/frames.h"

#define ARENA_BYTES (6u << 20)

/* One folder that is being walked: its sorted names are order[next … end). */
struct level {
        int fd;
        size_t path_length; /* of the folder's path, its slash included */
        size_t next, end;
        size_t arena_mark, order_mark; /* where the stacks stood before this folder */
};

static struct {
        int work_fd;
        char path[FILE_NAME_MAX + NAME_MAX + 2];
        struct level levels[DEPTH_MAX + 1];
        size_t depth;
        char arena[ARENA_BYTES]; /* names, one after the other; a stack, as the levels are */
        size_t arena_used;
        const char *order[ENTRIES_MAX];
        size_t order_used;
        ino_t linked[FILES_MAX]; /* files with several names that were handed over already */
        size_t linked_count;
        uint64_t bytes;
        struct files_end totals;
        struct timespec deadline;
} walk;

static bool time_is_over(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec > walk.deadline.tv_sec ||
               (now.tv_sec == walk.deadline.tv_sec && now.tv_nsec > walk.deadline.tv_nsec);
}

static int skip(enum skip_reason reason, uint64_t size) {
        size_t length = strnlen(walk.path, FILE_NAME_MAX);
        struct file_head head = {.name_length = (uint32_t)length, .reason = reason, .size = size};
        if (walk.totals.skipped++ >= SKIPPED_NAMED_MAX || length == 0)
                return 0;
        return write_frame(walk.work_fd, FRAME_SKIPPED, &head, sizeof(head), walk.path, length, 0);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Reads the names of a folder onto the arena, sorts them. False if some did not fit: they are over the limits anyway.
 */
static bool list_folder(struct level *level) {
        CLEANUP_CLOSEDIR DIR *dir = NULL;
        bool whole = true;
        level->arena_mark = walk.arena_used;
        level->order_mark = level->next = level->end = walk.order_used;

        int fd = fcntl(level->fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0 || !(dir = fdopendir(fd))) {
                if (fd >= 0)
                        close(fd);
                return false;
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
                size_t length = strlen(entry->d_name) + 1;
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (walk.order_used == ENTRIES_MAX || walk.arena_used + length > ARENA_BYTES) {
                        whole = false;
                        break;
                }
                walk.order[walk.order_used++] = memcpy(walk.arena + walk.arena_used, entry->d_name, length);
                walk.arena_used += length;
        }
        level->end = walk.order_used;
        qsort(walk.order + level->next, level->end - level->next, sizeof(walk.order[0]), compare_names);
        return whole;
}

/* Everything is dead and the files are ours: what a mode forbids, its owner may allow again. */
static int open_anyway(int dir_fd, const char *name, int flags, mode_t mode) {
        int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, mode, 0) == 0)
                fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static bool already_taken(const struct stat *st) {
        if (st->st_nlink < 2)
                return false;
        for (size_t i = 0; i < walk.linked_count; i++)
                if (walk.linked[i] == st->st_ino)
                        return true;
        return false;
}

static int send_file(int file_fd, uint64_t size) {
        size_t length = strlen(walk.path);
        struct file_head head = {.name_length = (uint32_t)length, .size = size};
        int r = write_frame(walk.work_fd, FRAME_FILE, &head, sizeof(head), walk.path, length, size);
        off_t at = 0;
        while (r >= 0 && (uint64_t)at < size) {
                ssize_t put = sendfile(walk.work_fd, file_fd, &at, (size_t)(size - (uint64_t)at));
                if (put < 0 && errno == EINTR)
                        continue;
                if (put <= 0) /* the length is announced: there is no way back into the frame */
                        return put < 0 ? -errno : -EIO;
        }
        return r;
}

static int visit_file(int dir_fd, const char *name, const struct stat *st) {
        uint64_t size = (uint64_t)st->st_size;
        if (already_taken(st))
                return skip(SKIP_NOT_REGULAR, size);

        CLEANUP_CLOSE int fd = open_anyway(dir_fd, name, O_RDONLY, 0600);
        if (fd < 0)
                return skip(SKIP_UNREADABLE, size);
        if (inputs_unchanged(walk.path, fd, size))
                return 0;
        if (size > FILE_BYTES_MAX)
                return skip(SKIP_TOO_LARGE, size);
        if (walk.bytes + size > FILES_BYTES_MAX)
                return skip(SKIP_TOTAL_TOO_LARGE, size);
        if (walk.totals.files == FILES_MAX)
                return skip(SKIP_TOO_MANY, size);

        if (st->st_nlink > 1)
                walk.linked[walk.linked_count++] = st->st_ino;
        walk.bytes += size;
        walk.totals.files++;
        return send_file(fd, size);
}

/* Goes into a folder: the next entries come from there. */
static int enter_folder(int dir_fd, const char *name) {
        if (walk.depth > DEPTH_MAX)
                return skip(SKIP_TOO_MANY, 0);
        CLEANUP_CLOSE int fd = open_anyway(dir_fd, name, O_RDONLY | O_DIRECTORY, 0700);
        if (fd < 0)
                return skip(SKIP_UNREADABLE, 0);

        struct level *level = &walk.levels[walk.depth];
        size_t length = strlen(walk.path);
        *level = (struct level){.fd = take_fd(&fd), .path_length = length};
        if (length > 0) {
                walk.path[length] = '/';
                level->path_length = length + 1;
        }
        walk.depth++;
        if (list_folder(level))
                return 0;
        walk.path[length] = '\0'; /* the folder's own name, not the first one in it */
        int r = skip(SKIP_TOO_MANY, 0);
        if (length > 0)
                walk.path[length] = '/';
        return r;
}

static int visit(const struct level *level, const char *name) {
        struct stat st;
        if (level->path_length + strlen(name) > FILE_NAME_MAX)
                return skip(SKIP_NAME, 0);
        if (fstatat(level->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return skip(SKIP_UNREADABLE, 0);
        if (S_ISREG(st.st_mode))
                return visit_file(level->fd, name, &st);
        if (S_ISDIR(st.st_mode))
                return enter_folder(level->fd, name);
        return skip(SKIP_NOT_REGULAR, 0);
}

static void leave_folder(void) {
        struct level *level = &walk.levels[--walk.depth];
        close_fd(&level->fd);
        walk.arena_used = level->arena_mark;
        walk.order_used = level->order_mark;
}

/* A folder that cannot be read from (mode 000 on the top folder itself) is opened again by its owner. */
static int enter_top(int workdir_fd) {
        walk.path[0] = '\0';
        fchmod(workdir_fd, 0755);
        return enter_folder(workdir_fd, ".");
}

int collect(int work_fd, int workdir_fd) {
        walk.work_fd = work_fd;
        clock_gettime(CLOCK_MONOTONIC, &walk.deadline);
        walk.deadline.tv_sec += COLLECT_MS_MAX / 1000;

        int r = enter_top(workdir_fd);
        while (r >= 0 && walk.depth > 0) {
                struct level *level = &walk.levels[walk.depth - 1];
                if (level->next == level->end) {
                        leave_folder();
                        continue;
                }
                const char *name = walk.order[level->next++];
                strcpy(walk.path + level->path_length, name); /* fits: path_length ≤ FILE_NAME_MAX, name ≤ NAME_MAX */
                if (time_is_over()) {
                        r = skip(SKIP_TOO_MANY, 0);
                        break;
                }
                r = visit(level, name);
        }
        if (r < 0)
                return r;
        return write_frame(work_fd, FRAME_FILES_END, &walk.totals, sizeof(walk.totals), NULL, 0, 0);
}
