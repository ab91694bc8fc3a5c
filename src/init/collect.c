/*
 * Hands over what a run has left in its working directory.
 *
 * Runs in a room's init, as the sandbox's own user and inside its root: the tree is hostile, but there is nothing of
 * the host to be led to, and no privilege to be misused. At the end of a run every other process of the room is dead;
 * between the calls of a session they live, and may change, swap and remove everything while it is looked at. So what
 * counts is what was opened, never by a link, and a length that was announced is kept to. No recursion, no memory that
 * grows with the tree, an end in time.
 */
#include "init/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/io.h"
#include "init/seen.h"
#include "spawn/frames.h"

#define ARENA_BYTES (6u << 20)

/* One folder that is being walked: its sorted names are order[next … end). */
struct level {
        int fd;
        int mode_before; /* to be given back when it is left; -1: it was not changed */
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

/* The same, and not again while it is as `st` says. */
static int skip_noted(enum skip_reason reason, const struct stat *st) {
        seen_note_skipped(walk.path, st);
        return skip(reason, S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0);
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

/* The files are ours: what a mode forbids, its owner may allow. `ret_mode` is what to give back, or -1. */
static int open_anyway(int dir_fd, const char *name, int flags, mode_t mode, int *ret_mode) {
        struct stat st;
        *ret_mode = -1;
        flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC;
        int fd = openat(dir_fd, name, flags);
        if (fd < 0 && errno == EACCES && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            fchmodat(dir_fd, name, mode, 0) == 0) {
                *ret_mode = (int)(st.st_mode & 07777);
                fd = openat(dir_fd, name, flags);
        }
        return fd < 0 ? -errno : fd;
}

/* A regular file, and nothing that has taken its place meanwhile. `st` is of what was opened. */
static int open_file(int dir_fd, const char *name, struct stat *st, bool *ret_opened_up) {
        int mode;
        CLEANUP_CLOSE int fd = open_anyway(dir_fd, name, 0, 0600, &mode);
        if (fd < 0)
                return fd;
        *ret_opened_up = mode >= 0;
        if (mode >= 0)
                fchmod(fd, (mode_t)mode);
        if (fstat(fd, st) < 0)
                return -errno;
        return S_ISREG(st->st_mode) ? take_fd(&fd) : -ENXIO;
}

/* A lease for reading is refused while anybody has the file open for writing, or mapped so: fcntl(2). */
static unsigned writable_by_others(int fd) {
        if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
                return SEEN_WRITABLE;
        fcntl(fd, F_SETLEASE, F_UNLCK);
        return 0;
}

static bool already_taken(const struct stat *st) {
        if (st->st_nlink < 2)
                return false;
        for (size_t i = 0; i < walk.linked_count; i++)
                if (walk.linked[i] == st->st_ino)
                        return true;
        return false;
}

/*
 * Takes `size` bytes of a file, and zeros for what is missing of them by now: a length that is announced must be kept
 * to. Sends them if `out_fd` is not -1. 0 or negative errno of the channel.
 */
static int take_content(int file_fd, uint64_t size, int out_fd, uint64_t *ret_hash) {
        static char buffer[65536];
        *ret_hash = HASH_START;
        for (uint64_t at = 0; at < size;) {
                size_t part = size - at < sizeof(buffer) ? (size_t)(size - at) : sizeof(buffer);
                ssize_t got = read_at(file_fd, buffer, part, at);
                size_t have = got < 0 ? 0 : (size_t)got;
                memset(buffer + have, 0, part - have);
                *ret_hash = hash_more(*ret_hash, buffer, part);
                int r = out_fd < 0 ? 0 : write_whole(out_fd, buffer, part);
                if (r < 0)
                        return r;
                at += part;
        }
        return 0;
}

static int send_file(int fd, const struct stat *st) {
        size_t length = strlen(walk.path);
        uint64_t hash, size = (uint64_t)st->st_size;
        struct file_head head = {.name_length = (uint32_t)length, .size = size};
        unsigned flags = writable_by_others(fd);
        int r = write_frame(walk.work_fd, FRAME_FILE, &head, sizeof(head), walk.path, length, size);
        if (r >= 0)
                r = take_content(fd, size, walk.work_fd, &hash);
        if (r >= 0)
                seen_note(walk.path, st, hash, flags);
        return r;
}

static bool has_same_content(int fd, const struct stat *st) {
        uint64_t hash;
        unsigned flags = writable_by_others(fd);
        take_content(fd, (uint64_t)st->st_size, -1, &hash);
        return seen_content(walk.path, st, hash, flags);
}

static int visit_file(int dir_fd, const char *name, const struct stat *at_first) {
        struct stat st;
        bool opened_up;
        if (already_taken(at_first))
                return skip_noted(SKIP_NOT_REGULAR, at_first);
        CLEANUP_CLOSE int fd = open_file(dir_fd, name, &st, &opened_up);
        if (fd < 0)
                return skip(SKIP_UNREADABLE, (uint64_t)at_first->st_size);
        uint64_t size = (uint64_t)st.st_size;
        struct stat found = st;
        if (opened_up && st.st_ino == at_first->st_ino)
                found.st_ctim = at_first->st_ctim; /* the mode was changed by ourselves */
        enum seen seen = seen_look(walk.path, &found);
        if ((seen == SEEN_AS_IT_IS && !opened_up) || (seen != SEEN_NEVER && has_same_content(fd, &st)))
                return 0;
        if (size > FILE_BYTES_MAX)
                return skip_noted(SKIP_TOO_LARGE, &st);
        if (walk.bytes + size > FILES_BYTES_MAX)
                return skip_noted(SKIP_TOTAL_TOO_LARGE, &st);
        if (walk.totals.files == FILES_MAX)
                return skip_noted(SKIP_TOO_MANY, &st);

        if (st.st_nlink > 1)
                walk.linked[walk.linked_count++] = st.st_ino;
        walk.bytes += size;
        walk.totals.files++;
        return send_file(fd, &st);
}

/* Goes into a folder: the next entries come from there. */
static int enter_folder(int dir_fd, const char *name, const struct stat *st) {
        int mode;
        if (walk.depth > DEPTH_MAX)
                return seen_look(walk.path, st) == SEEN_AS_IT_IS ? 0 : skip_noted(SKIP_TOO_MANY, st);
        CLEANUP_CLOSE int fd = open_anyway(dir_fd, name, O_DIRECTORY, 0700, &mode);
        if (fd < 0)
                return skip(SKIP_UNREADABLE, 0);

        struct level *level = &walk.levels[walk.depth];
        size_t length = strlen(walk.path);
        *level = (struct level){.fd = take_fd(&fd), .mode_before = mode, .path_length = length};
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
                return errno == ENOENT ? 0 : skip(SKIP_UNREADABLE, 0);
        if (S_ISDIR(st.st_mode))
                return enter_folder(level->fd, name, &st);
        if (seen_look(walk.path, &st) == SEEN_AS_IT_IS)
                return 0;
        return S_ISREG(st.st_mode) ? visit_file(level->fd, name, &st) : skip_noted(SKIP_NOT_REGULAR, &st);
}

static void leave_folder(void) {
        struct level *level = &walk.levels[--walk.depth];
        if (level->mode_before >= 0)
                fchmod(level->fd, (mode_t)level->mode_before);
        close_fd(&level->fd);
        walk.arena_used = level->arena_mark;
        walk.order_used = level->order_mark;
}

/* A folder that cannot be read from (mode 000 on the top folder itself) is opened up by its owner. */
static int enter_top(int workdir_fd) {
        struct stat st;
        int mode_before = -1;
        walk.path[0] = '\0';
        if (fstat(workdir_fd, &st) == 0 && (st.st_mode & 0500) != 0500 && fchmod(workdir_fd, 0755) == 0)
                mode_before = (int)(st.st_mode & 07777);
        int r = enter_folder(workdir_fd, ".", &st);
        if (walk.depth > 0)
                walk.levels[0].mode_before = mode_before;
        return r;
}

static void begin(int work_fd) {
        walk.work_fd = work_fd;
        walk.depth = walk.arena_used = walk.order_used = walk.linked_count = 0;
        walk.bytes = 0;
        walk.totals = (struct files_end){0};
        clock_gettime(CLOCK_MONOTONIC, &walk.deadline);
        walk.deadline.tv_sec += COLLECT_MS_MAX / 1000;
        seen_begin();
}

int collect(int work_fd, int workdir_fd) {
        begin(work_fd);
        bool whole = true;
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
                        whole = false;
                        r = skip(SKIP_TOO_MANY, 0);
                        break;
                }
                r = visit(level, name);
        }
        while (walk.depth > 0)
                leave_folder();
        seen_end(whole && r >= 0);
        if (r < 0)
                return r;
        return write_frame(work_fd, FRAME_FILES_END, &walk.totals, sizeof(walk.totals), NULL, 0, 0);
}
