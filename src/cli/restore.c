/* Makes a data folder from a backup; see backup.h. */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/hex.h"
#include "cli/backup.h"

#define PIECE_BYTES 65536
#define PATH_BYTES 4096
#define NAME_MAX_BYTES 96
#define BEING_MADE ".being-restored"
#define DEPTH 8

struct restoring {
        struct archive *archive;
        char folder[PATH_BYTES]; /* in the making, beside the data folder */
        int fd;
        struct backup_count count;
        const struct backup_listener *listener;
        bool has_database;
        struct err *e;
};

static int fail(struct restoring *restoring, int r, const char *what, const char *name) {
        return err_set(restoring->e, r, "cannot %s %s: %s", what, name, strerror(-r));
}

/* ---- names: these and no others */

static const char lower[] = "0123456789abcdef";

static bool is_content(const char *name) {
        return strncmp(name, "blobs/", 6) == 0 && strlen(name) == 6 + 3 + 64 && strspn(name + 6, lower) == 2 &&
               name[8] == '/' && strspn(name + 9, lower) == 64 && strncmp(name + 6, name + 9, 2) == 0;
}

static bool is_plain(const char *name) {
        static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
        return *name && *name != '.' && strspn(name, letters) == strlen(name) && strlen(name) < NAME_MAX_BYTES;
}

/* Where a file of the archive goes, below the data folder; NULL: this archive is no backup. */
static const char *place_of(const char *name, char path[PATH_BYTES]) {
        bool service = is_content(name) || strcmp(name, "sandbox.db") == 0 ||
                       (strncmp(name, "audit/", 6) == 0 && is_plain(name + 6));
        bool outside = strcmp(name, CONFIG_ADMIN_KEY_FILE) == 0 ||
                       (strncmp(name, "images/", 7) == 0 && is_plain(name + 7));
        if (!service && !outside)
                return NULL;
        snprintf(path, PATH_BYTES, "%s%s", service ? "service/" : "", name);
        return path;
}

/* ---- files */

static int make_folders(struct restoring *restoring, const char *path) {
        CLEANUP_FREE char *copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        for (char *slash = copy; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                if (mkdirat(restoring->fd, copy, 0700) < 0 && errno != EEXIST)
                        return fail(restoring, -errno, "make the folder", copy);
                *slash = '/';
        }
        return 0;
}

/* The content of a file is named by its hash. */
static int check_hash(struct restoring *restoring, EVP_MD_CTX *hash, const char *name) {
        unsigned char bytes[EVP_MAX_MD_SIZE];
        unsigned length = 0;
        char text[HEX_TEXT_BYTES(EVP_MAX_MD_SIZE)];
        EVP_DigestFinal_ex(hash, bytes, &length);
        hex_write(bytes, length, text);
        if (length == 32 && (!is_content(name) || strcmp(text, name + 9) == 0))
                return 0;
        return err_set(restoring->e, -EBADMSG, "the archive is damaged: %s has another content than its name says",
                       name);
}

static int write_file(struct restoring *restoring, int fd, const char *name) {
        char piece[PIECE_BYTES];
        EVP_MD_CTX *hash = EVP_MD_CTX_new();
        la_ssize_t got = 0;
        int r = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) ? 0 : -ENOMEM;
        while (r == 0 && (got = archive_read_data(restoring->archive, piece, sizeof(piece))) > 0) {
                EVP_DigestUpdate(hash, piece, (size_t)got);
                if (write(fd, piece, (size_t)got) != got)
                        r = fail(restoring, errno ? -errno : -EIO, "write", name);
                restoring->count.bytes += (uint64_t)got;
        }
        if (r == 0 && got < 0)
                r = err_set(restoring->e, -EIO, "cannot read the archive: %s",
                            archive_error_string(restoring->archive));
        if (r == 0)
                r = check_hash(restoring, hash, name);
        EVP_MD_CTX_free(hash);
        if (r == 0 && fsync(fd) < 0)
                r = fail(restoring, -errno, "write", name);
        return r;
}

/* Only images belong to somebody: service/ is given to the service's user by its next start. */
static int restore_entry(struct restoring *restoring, struct archive_entry *entry) {
        const char *name = archive_entry_pathname(entry);
        char path[PATH_BYTES];
        if (!name || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
            !place_of(name, path))
                return err_set(restoring->e, -EINVAL, "this archive is no backup: \"%.80s\" does not belong into one",
                               name ? name : "");
        int r = make_folders(restoring, path);
        if (r < 0)
                return r;
        CLEANUP_CLOSE int fd = openat(restoring->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return fail(restoring, -errno, "make", name);
        r = write_file(restoring, fd, name);
        if (r == 0 && strncmp(name, "images/", 7) == 0 &&
            (fchown(fd, (uid_t)archive_entry_uid(entry), (gid_t)archive_entry_gid(entry)) < 0 ||
             fchmod(fd, archive_entry_perm(entry) & 0755) < 0))
                r = fail(restoring, -errno, "restore the owner of", name);
        restoring->count.files++;
        restoring->listener->tell(restoring->listener->data, &restoring->count);
        restoring->has_database = restoring->has_database || strcmp(name, "sandbox.db") == 0;
        return r;
}

/* ---- the whole */

static int check_database(struct restoring *restoring) {
        sqlite3 *database = NULL;
        sqlite3_stmt *s = NULL;
        char path[PATH_BYTES + 32];
        if (!restoring->has_database)
                return err_set(restoring->e, -EINVAL, "this archive is no backup, or was cut off: it has no database");
        snprintf(path, sizeof(path), "%s/service/sandbox.db", restoring->folder);
        bool good = sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                    sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
                    sqlite3_step(s) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
        sqlite3_finalize(s);
        sqlite3_close(database);
        return good ? 0 : err_set(restoring->e, -EBADMSG, "the archive is damaged: its database is not whole");
}

static int read_all(struct restoring *restoring, int archive_fd) {
        struct archive_entry *entry;
        struct archive *archive = restoring->archive;
        int r = 0, next = ARCHIVE_OK;
        archive_read_support_filter_zstd(archive);
        archive_read_support_format_tar(archive);
        if (archive_read_open_fd(archive, archive_fd, PIECE_BYTES) != ARCHIVE_OK)
                return err_set(restoring->e, -EIO, "cannot read the archive: %s", archive_error_string(archive));
        while (r == 0 && (next = archive_read_next_header(archive, &entry)) == ARCHIVE_OK)
                r = restore_entry(restoring, entry);
        if (r == 0 && next != ARCHIVE_EOF)
                r = err_set(restoring->e, -EIO, "cannot read the archive: %s", archive_error_string(archive));
        return r == 0 ? check_database(restoring) : r;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
        (void)status, (void)type, (void)place;
        return remove(path);
}

/* rmdir(2) refuses a folder with anything in it, so nothing is ever lost. */
static int put_in_place(struct restoring *restoring, const char *data_dir) {
        if (rmdir(data_dir) < 0 && errno != ENOENT)
                return err_set(restoring->e, -errno,
                               "the data folder %s is in use or not empty (%s); move it away, or name another one with "
                               "--data-dir",
                               data_dir, strerror(errno));
        if (rename(restoring->folder, data_dir) < 0)
                return fail(restoring, -errno, "put in place", data_dir);
        return 0;
}

int backup_restore(int archive_fd, const char *data_dir, const struct backup_listener *listener,
                   struct backup_count *ret, struct err *e) {
        struct restoring restoring = {.fd = -1, .listener = listener, .e = e};
        size_t length = strlen(data_dir);
        while (length > 1 && data_dir[length - 1] == '/')
                length--;
        CLEANUP_FREE char *place = strndup(data_dir, length);
        DIR *there = opendir(data_dir);
        size_t entries = 0;
        while (there && readdir(there))
                entries++;
        if (there)
                closedir(there);
        if (entries > 2)
                return err_set(e, -ENOTEMPTY, "the data folder %s is not empty; move it away, or name another one with "
                                              "--data-dir",
                               data_dir);
        if (!place || (size_t)snprintf(restoring.folder, sizeof(restoring.folder), "%s" BEING_MADE, place) >=
                              sizeof(restoring.folder))
                return err_set(e, -ENAMETOOLONG, "the name of the data folder is too long");
        nftw(restoring.folder, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS); /* of an attempt that was broken off */
        if (mkdir(restoring.folder, 0755) < 0)
                return fail(&restoring, -errno, "make the folder", restoring.folder);
        restoring.fd = open(restoring.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        restoring.archive = archive_read_new();
        int r = restoring.fd < 0 || !restoring.archive ? fail(&restoring, -ENOMEM, "open", restoring.folder)
                                                       : read_all(&restoring, archive_fd);
        archive_read_free(restoring.archive);
        close_fd(&restoring.fd);
        if (r == 0)
                r = put_in_place(&restoring, place);
        if (r < 0)
                nftw(restoring.folder, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
        *ret = restoring.count;
        return r;
}
