/*
 * Writes a backup; see backup.h.
 *
 * The service goes on writing meanwhile. SQLite copies the database as it is at one moment. Contents of files never
 * change, so those that the copy refers to are packed afterwards; where one is gone, because its conversation was
 * deleted, the database is copied anew, which then does not refer to it any more. The database that is packed is the
 * last copy, all of whose contents are in the archive. Files in it that no row refers to any more are removed by the
 * next start.
 */
#include "cli/backup.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/chain.h"
#include "base/cleanup.h"
#include "base/config.h"

#define COPIES_MAX 20 /* of the database, until nothing that it refers to has gone meanwhile */
#define PIECE_BYTES 65536
#define PATH_BYTES 128
#define BUSY_MS 10000
#define COPY "/backup-in-work.db"

struct backup {
        struct archive *archive;
        struct backup_count count;
        int progress_fd;
        void *packed; /* names of contents that are in the archive: a tree of tsearch(3) */
        struct err *e;
};

static int fail(struct backup *backup, int r, const char *what, const char *name) {
        return err_set(backup->e, r, "cannot %s %s: %s", what, name, strerror(-r));
}

static int archive_failed(struct backup *backup) {
        int error = archive_errno(backup->archive);
        return err_set(backup->e, error > 0 ? -error : -EIO, "cannot write the archive: %s",
                       archive_error_string(backup->archive));
}

/* ---- what the process that does it tells the other */

struct news {
        bool is_last;
        int r;
        struct err e;
        struct backup_count count;
};

/* Lost if nobody reads fast enough: there is more to come. */
static void tell(const struct backup *backup) {
        const struct news news = {.count = backup->count};
        struct pollfd ready = {.fd = backup->progress_fd, .events = POLLOUT};
        if (poll(&ready, 1, 0) == 1 && write(backup->progress_fd, &news, sizeof(news)) != (ssize_t)sizeof(news))
                _exit(1);
}

/* ---- files */

static int write_header(struct backup *backup, const char *name, const struct stat *status) {
        struct archive_entry *entry = archive_entry_new();
        if (!entry)
                return fail(backup, -ENOMEM, "pack", name);
        archive_entry_set_pathname(entry, name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, status->st_mode & 0777);
        archive_entry_set_uid(entry, status->st_uid);
        archive_entry_set_gid(entry, status->st_gid);
        archive_entry_set_mtime(entry, status->st_mtime, 0);
        archive_entry_set_size(entry, status->st_size);
        int r = archive_write_header(backup->archive, entry);
        archive_entry_free(entry);
        return r == ARCHIVE_OK ? 0 : archive_failed(backup);
}

/* As long as it was when it was opened: the audit log grows meanwhile, by whole lines. */
static int pack_descriptor(struct backup *backup, int fd, const char *name) {
        char piece[PIECE_BYTES];
        struct stat status;
        if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
                return fail(backup, errno ? -errno : -EINVAL, "read", name);
        int r = write_header(backup, name, &status);
        for (off_t at = 0; r == 0 && at < status.st_size;) {
                size_t wanted = (size_t)(status.st_size - at);
                ssize_t got = pread(fd, piece, wanted < sizeof(piece) ? wanted : sizeof(piece), at);
                if (got <= 0)
                        return fail(backup, got < 0 ? -errno : -EIO, "read", name);
                if (archive_write_data(backup->archive, piece, (size_t)got) != got)
                        return archive_failed(backup);
                at += got;
        }
        backup->count.files++;
        backup->count.bytes += (uint64_t)status.st_size;
        tell(backup);
        return r;
}

/* 1: it is not there. */
static int pack_file(struct backup *backup, int folder_fd, const char *path, const char *name) {
        CLEANUP_CLOSE int fd = openat(folder_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 1 : fail(backup, -errno, "open", name);
        return pack_descriptor(backup, fd, name);
}

/* The audit log goes on while it is copied: where it comes to later is not where the copy ends. */
static bool is_left_out(const char *folder, const char *name) {
        return strcmp(folder, "audit") == 0 && strcmp(name, AUDIT_HEAD) == 0;
}

/* All files of a folder, if there is one; names that begin with a point are passed over. */
static int pack_folder(struct backup *backup, int at_fd, const char *folder) {
        int fd = openat(at_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;
        char name[PATH_BYTES];
        int r = 0;
        if (!dir)
                return errno == ENOENT ? 0 : fail(backup, -errno, "open", folder);
        while (r >= 0 && (entry = readdir(dir))) {
                if (entry->d_name[0] == '.' || entry->d_type == DT_DIR || is_left_out(folder, entry->d_name))
                        continue;
                if ((size_t)snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name) >= sizeof(name))
                        return fail(backup, -ENAMETOOLONG, "pack", entry->d_name);
                r = pack_file(backup, dirfd(dir), entry->d_name, name);
        }
        return r < 0 ? r : 0;
}

/* ---- the database and what it refers to */

static int by_name(const void *a, const void *b) {
        return strcmp(a, b);
}

static int database_failed(struct backup *backup, sqlite3 *database) {
        return err_set(backup->e, -EIO, "cannot copy the database: %s",
                       database ? sqlite3_errmsg(database) : "out of memory");
}

static int copy_database(struct backup *backup) {
        sqlite3 *from = NULL, *to = NULL;
        int r = 0;
        unlink(COPY);
        if (sqlite3_open_v2("/sandbox.db", &from, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
                r = database_failed(backup, from);
        else if (sqlite3_open_v2(COPY, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
                r = database_failed(backup, to);
        if (r == 0) {
                sqlite3_busy_timeout(from, BUSY_MS);
                sqlite3_backup *copying = sqlite3_backup_init(to, "main", from, "main");
                if (!copying || sqlite3_backup_step(copying, -1) != SQLITE_DONE)
                        r = database_failed(backup, to);
                if (sqlite3_backup_finish(copying) != SQLITE_OK && r == 0)
                        r = database_failed(backup, to);
                /* One file, without a log beside it. */
                if (r == 0 && sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK)
                        r = database_failed(backup, to);
        }
        sqlite3_close(from);
        sqlite3_close(to);
        return r;
}

static bool is_hash(const char *name) {
        return name && strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

/* One content, unless it is packed already. 1: it is gone. */
static int pack_content(struct backup *backup, const char *hash) {
        char path[PATH_BYTES];
        if (!is_hash(hash))
                return fail(backup, -EINVAL, "pack", "a content with a strange name");
        if (tfind(hash, &backup->packed, by_name))
                return 0;
        snprintf(path, sizeof(path), "blobs/%.2s/%s", hash, hash);
        int r = pack_file(backup, AT_FDCWD, path, path);
        if (r != 0)
                return r;
        char *name = strdup(hash);
        return name && tsearch(name, &backup->packed, by_name) ? 0 : fail(backup, -ENOMEM, "pack", path);
}

/* What the copy of the database refers to. 1: something of it is gone. */
static int pack_contents(struct backup *backup) {
        sqlite3 *database = NULL;
        sqlite3_stmt *s = NULL;
        bool gone = false;
        int r = 0, step = SQLITE_DONE;
        if (sqlite3_open_v2(COPY, &database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(database, "SELECT sha256 FROM blobs", -1, &s, NULL) != SQLITE_OK)
                r = database_failed(backup, database);
        while (r >= 0 && s && (step = sqlite3_step(s)) == SQLITE_ROW) {
                r = pack_content(backup, (const char *)sqlite3_column_text(s, 0));
                gone = gone || r == 1;
        }
        if (r >= 0 && step != SQLITE_DONE)
                r = database_failed(backup, database);
        sqlite3_finalize(s);
        sqlite3_close(database);
        return r < 0 ? r : gone;
}

static int pack_service(struct backup *backup) {
        int r = 1;
        for (int i = 0; r == 1 && i < COPIES_MAX; i++) {
                r = copy_database(backup);
                if (r == 0)
                        r = pack_contents(backup);
        }
        if (r == 1)
                r = err_set(backup->e, -EBUSY, "contents of files disappear faster than they can be copied; try later");
        if (r == 0)
                r = pack_folder(backup, AT_FDCWD, "audit");
        if (r == 0)
                r = pack_file(backup, AT_FDCWD, &COPY[1], "sandbox.db");
        unlink(COPY);
        return r == 1 ? fail(backup, -ENOENT, "pack", "the database") : r;
}

/* ---- as whom */

/* Into service/, and for good: nothing that lies there leads out, and nothing is read that its owner could not read. */
static int enter_service(struct backup *backup, int data_fd) {
        struct stat status;
        CLEANUP_CLOSE int fd = openat(data_fd, "service", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &status) < 0)
                return fail(backup, -errno, "open", "the folder service");
        if (geteuid() != 0)
                return err_set(backup->e, -EPERM, "a backup needs root, which owns the data folder: use sudo");
        if (fchdir(fd) < 0 || chroot(".") < 0 || chdir("/") < 0 || setgroups(0, NULL) < 0 ||
            setresgid(status.st_gid, status.st_gid, status.st_gid) < 0 ||
            setresuid(status.st_uid, status.st_uid, status.st_uid) < 0)
                return fail(backup, -errno, "enter", "the folder service");
        return 0;
}

static int pack_all(struct backup *backup, const char *data_dir) {
        CLEANUP_CLOSE int data_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (data_fd < 0)
                return fail(backup, -errno, "open the data folder", data_dir);
        int r = pack_file(backup, data_fd, CONFIG_ADMIN_KEY_FILE, CONFIG_ADMIN_KEY_FILE);
        if (r >= 0)
                r = pack_folder(backup, data_fd, "images");
        if (r == 0)
                r = enter_service(backup, data_fd);
        close_fd(&data_fd);
        return r == 0 ? pack_service(backup) : r;
}

static int write_archive(const char *data_dir, int archive_fd, int progress_fd, struct backup_count *ret,
                         struct err *e) {
        struct backup backup = {.archive = archive_write_new(), .progress_fd = progress_fd, .e = e};
        if (!backup.archive)
                return err_set(e, -ENOMEM, "out of memory");
        int r = 0;
        if (archive_write_add_filter_zstd(backup.archive) != ARCHIVE_OK ||
            archive_write_set_format_pax_restricted(backup.archive) != ARCHIVE_OK ||
            archive_write_open_fd(backup.archive, archive_fd) != ARCHIVE_OK)
                r = archive_failed(&backup);
        if (r == 0)
                r = pack_all(&backup, data_dir);
        if (r == 0 && archive_write_close(backup.archive) != ARCHIVE_OK)
                r = archive_failed(&backup);
        archive_write_free(backup.archive);
        tdestroy(backup.packed, free);
        *ret = backup.count;
        return r;
}

/* ---- the process that does it, which gives up its rights for good */

/* Pieces of this size come whole: pipe(7). */
_Static_assert(sizeof(struct news) <= PIPE_BUF, "news must not come in parts");

static void listen_to(int fd, const struct backup_listener *listener, struct news *ret) {
        struct news news;
        while (!ret->is_last && read(fd, &news, sizeof(news)) == (ssize_t)sizeof(news)) {
                *ret = news;
                if (!news.is_last)
                        listener->tell(listener->data, &news.count);
        }
}

int backup_write(const char *data_dir, int archive_fd, const struct backup_listener *listener, struct backup_count *ret,
                 struct err *e) {
        struct news last = {.r = -EIO};
        int pipe_fds[2];
        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return err_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
        pid_t child = fork();
        if (child == 0) {
                last.r = write_archive(data_dir, archive_fd, pipe_fds[1], &last.count, &last.e);
                last.is_last = true;
                _exit(write(pipe_fds[1], &last, sizeof(last)) == (ssize_t)sizeof(last) ? 0 : 1);
        }
        close(pipe_fds[1]);
        if (child > 0)
                listen_to(pipe_fds[0], listener, &last);
        close(pipe_fds[0]);
        if (child > 0)
                waitpid(child, NULL, 0);
        if (!last.is_last)
                return err_set(e, -EIO, "the backup was broken off");
        *e = last.e;
        *ret = last.count;
        return last.r;
}
