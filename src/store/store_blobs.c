/* Contents of files; see store_blobs.h. */
#include "store/store_blobs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define PATH_BYTES 80
#define TEMPORARY "tmp"

void blobs_init(struct blobs *blobs) {
        *blobs = (struct blobs){.folder_fd = -1};
}

static void path_of(const char *name, char path[PATH_BYTES]) {
        snprintf(path, PATH_BYTES, "%.2s/%.64s", name, name);
}

static void temporary_path(unsigned long number, char path[PATH_BYTES]) {
        snprintf(path, PATH_BYTES, TEMPORARY "/%lu", number);
}

bool blob_name_is_valid(const char *name) {
        return strlen(name) == BLOB_NAME_LENGTH && strspn(name, "0123456789abcdef") == BLOB_NAME_LENGTH;
}

/* ---- opening */

static int open_folder(int at_fd, const char *name) {
        int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}

static int make_folder(int at_fd, const char *name, bool *made) {
        if (mkdirat(at_fd, name, 0700) == 0) {
                *made = true;
                return 0;
        }
        return errno == EEXIST ? 0 : -errno;
}

/* All at once, so that keeping a content never has a folder to make and to synchronise. */
static int make_folders(int folder_fd) {
        bool made = false;
        int r = make_folder(folder_fd, TEMPORARY, &made);
        for (unsigned i = 0; r == 0 && i < BLOB_FOLDERS; i++) {
                char name[8];
                snprintf(name, sizeof(name), "%02x", i);
                r = make_folder(folder_fd, name, &made);
        }
        return r == 0 && made && fsync(folder_fd) < 0 ? -errno : r;
}

static int remove_temporary_files(int folder_fd) {
        int fd = open_folder(folder_fd, TEMPORARY);
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;
        if (!dir) {
                int r = fd < 0 ? fd : -errno;
                close_fd(&fd);
                return r;
        }
        while ((entry = readdir(dir)))
                if (entry->d_name[0] != '.' && unlinkat(fd, entry->d_name, 0) < 0)
                        return -errno;
        return 0;
}

static int open_blobs(struct blobs *blobs, const char *path) {
        CLEANUP_CLOSE int parent_fd = open_folder(AT_FDCWD, path);
        bool made = false;
        if (parent_fd < 0)
                return parent_fd;
        int r = make_folder(parent_fd, "blobs", &made);
        if (r == 0 && made && fsync(parent_fd) < 0)
                r = -errno;
        if (r == 0)
                r = blobs->folder_fd = open_folder(parent_fd, "blobs");
        if (r >= 0)
                r = make_folders(blobs->folder_fd);
        return r < 0 ? r : remove_temporary_files(blobs->folder_fd);
}

int blobs_open(struct blobs *blobs, const char *folder, struct err *e) {
        int r = open_blobs(blobs, folder);
        return r < 0 ? err_set(e, r, "cannot open the folder of files beside the database: %s", strerror(-r)) : 0;
}

static void forget_pending(struct blobs *blobs) {
        for (size_t i = 0; i < blobs->pending_count; i++)
                close_fd(&blobs->pending[i].fd);
        blobs->pending_count = 0;
}

void blobs_abandon(struct blobs *blobs) {
        for (size_t i = 0; i < blobs->pending_count; i++) {
                char path[PATH_BYTES];
                temporary_path(blobs->pending[i].number, path);
                unlinkat(blobs->folder_fd, path, 0); /* not there any more if it has got its name */
        }
        forget_pending(blobs);
        blobs->failure = 0;
}

void blobs_close(struct blobs *blobs) {
        blobs_abandon(blobs);
        blobs->folder_fd = close_fd(&blobs->folder_fd);
        free(TAKE_PTR(blobs->doubtful));
}

/* ---- writing */

static int failed(const char *what, int error) {
        log_error("the content of a file cannot be kept", "step", what, "error", strerror(error));
        return -error;
}

static int write_all(int fd, const char *bytes, size_t size) {
        while (size) {
                ssize_t written = write(fd, bytes, size);
                if (written < 0 && errno != EINTR)
                        return -errno;
                if (written > 0) {
                        bytes += written;
                        size -= (size_t)written;
                }
        }
        return 0;
}

static int name_pending(struct blobs *blobs) {
        for (size_t i = 0; i < blobs->pending_count; i++) {
                char from[PATH_BYTES], to[PATH_BYTES];
                temporary_path(blobs->pending[i].number, from);
                path_of(blobs->pending[i].name.text, to);
                if (renameat(blobs->folder_fd, from, blobs->folder_fd, to) < 0)
                        return failed("rename", errno);
        }
        return 0;
}

static bool folder_was_before(const struct blobs *blobs, size_t at) {
        for (size_t i = 0; i < at; i++)
                if (strncmp(blobs->pending[i].name.text, blobs->pending[at].name.text, 2) == 0)
                        return true;
        return false;
}

static int synchronise_folders(struct blobs *blobs) {
        for (size_t i = 0; i < blobs->pending_count; i++) {
                char name[3] = {blobs->pending[i].name.text[0], blobs->pending[i].name.text[1]};
                if (folder_was_before(blobs, i))
                        continue;
                CLEANUP_CLOSE int fd = open_folder(blobs->folder_fd, name);
                if (fd < 0 || fsync(fd) < 0)
                        return failed("fsync of the folder", fd < 0 ? -fd : errno);
        }
        return 0;
}

static int synchronise_contents(struct blobs *blobs) {
        for (size_t i = 0; i < blobs->pending_count; i++)
                if (fdatasync(blobs->pending[i].fd) < 0)
                        return failed("fsync", errno);
        return 0;
}

static int flush_pending(struct blobs *blobs) {
        int r = blobs->failure;
        if (r == 0)
                r = name_pending(blobs);
        if (r == 0)
                r = synchronise_contents(blobs);
        if (r == 0)
                r = synchronise_folders(blobs);
        if (r < 0)
                blobs_abandon(blobs);
        else
                forget_pending(blobs);
        return r;
}

int blobs_write(struct blobs *blobs, const void *bytes, size_t size, struct blob_pending *ret) {
        char path[PATH_BYTES];
        *ret = (struct blob_pending){.fd = -1, .number = ++blobs->last_number};
        temporary_path(ret->number, path);
        ret->fd = openat(blobs->folder_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (ret->fd < 0)
                return failed("open", errno);
        int r = write_all(ret->fd, bytes, size);
        if (r < 0) {
                blobs_drop(blobs, ret);
                return failed("write", -r);
        }
        sync_file_range(ret->fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* only begins; blobs_flush sees to it that it gets done */
        return 0;
}

void blobs_drop(struct blobs *blobs, struct blob_pending *written) {
        char path[PATH_BYTES];
        temporary_path(written->number, path);
        unlinkat(blobs->folder_fd, path, 0);
        close_fd(&written->fd);
}

int blobs_put(struct blobs *blobs, struct blob_pending *written, const char *name) {
        assert(blob_name_is_valid(name));
        int r = 0;
        if (blobs->pending_count == BLOBS_OPEN_MAX)
                r = blobs->failure = flush_pending(blobs);
        if (r == 0 && (r = blobs_doubt(blobs, name)) < 0)
                failed("note", -r);
        if (r < 0) {
                blobs_drop(blobs, written);
                return r;
        }
        snprintf(written->name.text, sizeof(written->name.text), "%s", name);
        blobs->pending[blobs->pending_count++] = *written;
        written->fd = -1;
        return 0;
}

int blobs_flush(struct blobs *blobs) {
        return flush_pending(blobs);
}

/* ---- removing */

int blobs_doubt(struct blobs *blobs, const char *name) {
        if (blobs->doubtful_count == blobs->doubtful_size) {
                size_t size = blobs->doubtful_size ? blobs->doubtful_size * 2 : 64;
                struct blob_name *larger = realloc(blobs->doubtful, size * sizeof(*larger));
                if (!larger)
                        return -ENOMEM;
                blobs->doubtful = larger;
                blobs->doubtful_size = size;
        }
        snprintf(blobs->doubtful[blobs->doubtful_count++].text, sizeof(blobs->doubtful->text), "%s", name);
        return 0;
}

/* Whatever stays, after a failure here or a power cut, has no row and is removed after the next start. */
void blobs_remove(struct blobs *blobs, const char *name) {
        char path[PATH_BYTES];
        path_of(name, path);
        if (unlinkat(blobs->folder_fd, path, 0) < 0 && errno != ENOENT)
                log_warning("a file that is no longer needed cannot be removed", "error", strerror(errno));
}

/* ---- reading */

int blobs_each(struct blobs *blobs, unsigned folder, int (*call)(void *data, const char *name), void *data) {
        char name[8];
        snprintf(name, sizeof(name), "%02x", folder % BLOB_FOLDERS);
        int fd = open_folder(blobs->folder_fd, name), r = 0;
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;
        if (!dir) {
                r = fd < 0 ? fd : -errno;
                close_fd(&fd);
                return r;
        }
        while (r == 0 && (entry = readdir(dir)))
                if (blob_name_is_valid(entry->d_name))
                        r = call(data, entry->d_name);
        return r;
}

int blobs_read(const struct blobs *blobs, const char *name) {
        char path[PATH_BYTES];
        if (!blob_name_is_valid(name))
                return -EINVAL;
        path_of(name, path);
        int fd = openat(blobs->folder_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : fd;
}
