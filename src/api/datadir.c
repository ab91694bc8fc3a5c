/* The data folder; see datadir.h. */
#include "api/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "store/key.h"

#define KEY_FILE_MAX 256
#define STORE_DEPTH 2 /* folders of the store in each other: blobs/ab */
#define NEW_KEY_FILE CONFIG_ADMIN_KEY_FILE ".new"

/* ---- folders */

/* Like mkdir -p. The path is the operator's. */
static int make_path(const char *path) {
        CLEANUP_FREE char *copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (mkdir(copy, 0755) < 0 && errno != EEXIST)
                        return -errno;
                *slash = '/';
        }
        return mkdir(copy, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int take_lock(int dir_fd, int *ret) {
        CLEANUP_CLOSE int fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return -errno;
        *ret = take_fd(&fd);
        return 0;
}

static int give_files(int dir_fd, int depth, uid_t uid, gid_t gid);

/* `fd` is a file or a folder in one that is being given. What is neither is left alone. */
static int give(int fd, int depth, uid_t uid, gid_t gid) {
        struct stat status;
        int r = 0;
        if (fstat(fd, &status) < 0)
                return -errno;
        if (S_ISDIR(status.st_mode) && depth > 0)
                r = give_files(fd, depth - 1, uid, gid);
        else if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
                return 0;
        return r == 0 && fchown(fd, uid, gid) < 0 ? -errno : r;
}

/*
 * Gives what an earlier start under another user wrote to this one. That user may have been taken over: nothing is
 * followed, and only folders, down to where the store has any, and plain files with one name are touched.
 */
static int give_files(int dir_fd, int depth, uid_t uid, gid_t gid) {
        int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSEDIR DIR *dir = copy < 0 ? NULL : fdopendir(copy);
        struct dirent *entry;
        if (!dir) {
                int r = -errno;
                close_fd(&copy);
                return r;
        }
        while ((entry = readdir(dir))) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                CLEANUP_CLOSE int fd = openat(dir_fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                int r = fd < 0 ? 0 : give(fd, depth, uid, gid);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int open_service_folder(int dir_fd, uid_t uid, gid_t gid, int *ret) {
        struct stat status;
        if (mkdirat(dir_fd, "service", 0700) < 0 && errno != EEXIST)
                return -errno;
        CLEANUP_CLOSE int fd = openat(dir_fd, "service", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (status.st_uid != uid || status.st_gid != gid) {
                int r = give_files(fd, STORE_DEPTH, uid, gid);
                if (r < 0)
                        return r;
        }
        if (fchown(fd, uid, gid) < 0 || fchmod(fd, 0700) < 0)
                return -errno;
        *ret = take_fd(&fd);
        return 0;
}

int datadir_open(const struct config *config, uid_t uid, gid_t gid, struct datadir *ret, struct err *e) {
        const char *path = config->data_dir;
        int service_fd = -1, lock_fd = -1;
        int r = make_path(path);
        if (r < 0)
                return err_set_field(e, r, "SANDBOX_DATA_DIR", "cannot make the folder %s: %s", path, strerror(-r));
        CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return err_set_field(e, -errno, "SANDBOX_DATA_DIR", "cannot open %s: %s", path, strerror(errno));
        r = take_lock(fd, &lock_fd);
        if (r == -EWOULDBLOCK)
                return err_set_field(e, r, "SANDBOX_DATA_DIR", "another service runs with the data folder %s", path);
        if (r < 0)
                return err_set_field(e, r, "SANDBOX_DATA_DIR", "cannot write to %s: %s", path, strerror(-r));
        r = open_service_folder(fd, uid, gid, &service_fd);
        if (r < 0) {
                close(lock_fd);
                return err_set_field(e, r, "SANDBOX_DATA_DIR", "cannot make the folder %s/service: %s", path,
                                     strerror(-r));
        }
        *ret = (struct datadir){.fd = take_fd(&fd), .lock_fd = lock_fd, .service_fd = service_fd};
        return 0;
}

/* ---- the admin key */

/* 1: there is none. */
static int read_key(int dir_fd, char **ret) {
        char text[KEY_FILE_MAX + 1];
        CLEANUP_CLOSE int fd = openat(dir_fd, CONFIG_ADMIN_KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ENOENT ? 1 : -errno;
        ssize_t length = read(fd, text, KEY_FILE_MAX);
        if (length < 0)
                return -errno;
        text[length] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
        *ret = *text ? strdup(text) : NULL;
        int r = !*text ? 1 : *ret ? 0 : -ENOMEM;
        explicit_bzero(text, sizeof(text));
        return r;
}

/* Whole or not at all: a start that is broken off leaves no half key. */
static int write_key(int dir_fd, const char *text) {
        unlinkat(dir_fd, NEW_KEY_FILE, 0);
        CLEANUP_CLOSE int fd = openat(dir_fd, NEW_KEY_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        if (dprintf(fd, "%s\n", text) < 0 || fsync(fd) < 0 ||
            renameat(dir_fd, NEW_KEY_FILE, dir_fd, CONFIG_ADMIN_KEY_FILE) < 0 || fsync(dir_fd) < 0)
                return -errno;
        return 0;
}

static int make_key(const struct datadir *datadir, const struct config *config, char **ret, struct err *e) {
        char text[KEY_TEXT_BYTES];
        int r = key_generate(text);
        if (r == 0)
                r = write_key(datadir->fd, text);
        if (r < 0)
                return err_set(e, r, "cannot write the admin key to %s/" CONFIG_ADMIN_KEY_FILE ": %s", config->data_dir,
                               strerror(-r));
        printf("The admin key, shown this once and kept in %s/" CONFIG_ADMIN_KEY_FILE ":\n  %s\n", config->data_dir,
               text);
        fflush(stdout);
        *ret = strdup(text);
        explicit_bzero(text, sizeof(text));
        return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int datadir_admin_key(const struct datadir *datadir, const struct config *config, char **ret, struct err *e) {
        if (config->admin_key && *config->admin_key) {
                *ret = strdup(config->admin_key);
                return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
        }
        int r = read_key(datadir->fd, ret);
        if (r < 0)
                return err_set(e, r, "cannot read %s/" CONFIG_ADMIN_KEY_FILE ": %s", config->data_dir, strerror(-r));
        return r == 0 ? 0 : make_key(datadir, config, ret, e);
}
