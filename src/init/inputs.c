/*
 * The input files of a run.
 *
 * Runs in a room's init, before the snippet does, or between the calls of a session, with its processes alive. Init
 * writes them itself, as the sandbox's user and within its memory, so that no other process ever creates a file by a
 * name that a client chose. It keeps a hash of each, to tell later which ones the snippet changed.
 */
#include "init/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/io.h"
#include "init/seen.h"
#include "spawn/frames.h"

struct input {
        char path[FILE_NAME_MAX + 1];
        uint64_t size, hash;
};

static uint64_t taken[INPUTS_MAX]; /* hashes of the paths of this set */
static size_t taken_count;

/* The api process has checked names already; init believes only itself. */
static bool path_is_clean(const char *path, size_t length) {
        if (length == 0 || length > FILE_NAME_MAX || path[0] == '/' || strlen(path) != length)
                return false;
        for (const char *at = path; at;) {
                const char *end = strchr(at, '/');
                size_t part = end ? (size_t)(end - at) : strlen(at);
                if (part == 0 || part > NAME_MAX || (part == 1 && at[0] == '.') ||
                    (part == 2 && at[0] == '.' && at[1] == '.'))
                        return false;
                at = end ? end + 1 : NULL;
        }
        return true;
}

/* Makes the folders of `path` and returns a descriptor of the last one. */
static int open_parent(int workdir_fd, const char *path, const char **ret_name) {
        CLEANUP_CLOSE int dir = openat(workdir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return -errno;
        for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
                char part[NAME_MAX + 1] = {0};
                memcpy(part, path, (size_t)(slash - path));
                if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
                        return -errno;
                int next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return -errno;
                close(dir);
                dir = next;
        }
        *ret_name = path;
        return take_fd(&dir);
}

static int write_file(int fd, const char *bytes, size_t length) {
        while (length > 0) {
                ssize_t put = write(fd, bytes, length);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return -errno;
                bytes += put;
                length -= (size_t)put;
        }
        return 0;
}

/* Consumes exactly `input->size` bytes of the channel, whatever becomes of the file. */
static int copy_content(int work_fd, int file_fd, struct input *input, int *file_error) {
        static char buffer[65536];
        input->hash = HASH_START;
        for (uint64_t left = input->size; left > 0;) {
                size_t part = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
                int r = read_whole(work_fd, buffer, part);
                if (r < 0)
                        return r;
                if (*file_error == 0)
                        *file_error = write_file(file_fd, buffer, part);
                input->hash = hash_more(input->hash, buffer, part);
                left -= part;
        }
        return 0;
}

/* Notes a path of this set. -E2BIG if there are too many, -EEXIST for a second input of one name. */
static int take_path(const char *path) {
        uint64_t hash = hash_more(HASH_START, path, strlen(path));
        if (taken_count == INPUTS_MAX)
                return -E2BIG;
        for (size_t i = 0; i < taken_count; i++)
                if (taken[i] == hash)
                        return -EEXIST;
        taken[taken_count++] = hash;
        return 0;
}

/* An input takes the place of a file of its name, and of a link; -EISDIR for a folder. */
static int create(int workdir_fd, const char *path, int *ret) {
        const char *name;
        int r = take_path(path);
        if (r < 0)
                return r;
        CLEANUP_CLOSE int parent = open_parent(workdir_fd, path, &name);
        if (parent < 0)
                return parent;
        if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
                return -errno;
        *ret = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        return *ret < 0 ? -errno : 0;
}

/* What was written of an input that does not fit. */
static void remove_again(int workdir_fd, const char *path) {
        const char *name;
        CLEANUP_CLOSE int parent = open_parent(workdir_fd, path, &name);
        if (parent >= 0)
                unlinkat(parent, name, 0);
}

int inputs_receive(int work_fd, int workdir_fd, uint32_t payload) {
        struct file_head head;
        static struct input input;
        if (payload < sizeof(head))
                return -EPROTO;
        int r = read_whole(work_fd, &head, sizeof(head));
        if (r < 0)
                return r;
        if (head.name_length == 0 || head.name_length > FILE_NAME_MAX ||
            payload != sizeof(head) + head.name_length + head.size)
                return -EPROTO;
        r = read_whole(work_fd, input.path, head.name_length);
        if (r < 0)
                return r;
        input.path[head.name_length] = '\0';
        input.size = head.size;

        CLEANUP_CLOSE int file = -1;
        int error = path_is_clean(input.path, head.name_length) ? create(workdir_fd, input.path, &file) : -EINVAL;
        r = copy_content(work_fd, file, &input, &error);
        if (r < 0)
                return r;
        struct stat st;
        if (error == 0 && fstat(file, &st) == 0) {
                seen_note(input.path, &st, input.hash, SEEN_HANDED_IN);
                return 0;
        }
        if (file >= 0)
                remove_again(workdir_fd, input.path);
        head.reason = (uint32_t)-error;
        return write_frame(work_fd, FRAME_INPUT_FAILED, &head, sizeof(head), input.path, head.name_length, 0);
}

int inputs_end(int work_fd, uint32_t length) {
        uint32_t flags = 0;
        if (length != 0 && length != sizeof(flags))
                return -EPROTO;
        int r = read_whole(work_fd, &flags, length);
        if (r < 0)
                return r;
        /* Old files (INPUTS_RESTORED) are noted as new ones are: neither is handed back until it has been changed. */
        if (flags & ~(uint32_t)INPUTS_RESTORED)
                return -EPROTO;
        taken_count = 0;
        return write_frame(work_fd, FRAME_INPUTS_END, NULL, 0, NULL, 0, 0);
}
