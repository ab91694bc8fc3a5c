/*
 * Backup of a data folder, while the service runs or not, and restoring it.
 *
 * Runs in platformctl, as root or as whoever owns the folder. What is in service/ was written by the process that reads
 * from the network, so it is read with that one's own rights and from inside that folder; an archive is taken for
 * hostile, too.
 *
 * An archive is a tar file, compressed with zstd:
 *
 *   admin-key             as in the data folder, if there is one
 *   images/...            agents' images
 *   blobs/ab/...          contents of files: all that the database refers to
 *   audit/...             the audit log
 *   sandbox.db            the database, of one moment; written last
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct backup_count {
        uint64_t files, bytes; /* before compression */
};

/* Is told how much is done, now and then. */
struct backup_listener {
        void (*tell)(void *data, const struct backup_count *count);
        void *data;
};

/* Writes an archive of the data folder to `archive_fd`. 0, or a negative errno with a sentence. */
int backup_write(const char *data_dir, int archive_fd, const struct backup_listener *listener, struct backup_count *ret,
                 struct err *e);
/* Makes the data folder from an archive: it must not be there, or be empty. Whole or not at all. */
int backup_restore(int archive_fd, const char *data_dir, const struct backup_listener *listener,
                   struct backup_count *ret, struct err *e);
