/*
 * Contents of files: one file for each content, named by its SHA-256, below `blobs/` beside the database. Private to
 * the store.
 *
 * Runs in the api process; everything but opening a content on the writer's thread, so that nothing can be removed and
 * written at the same time. The rows are the authority: a file without a row is nothing, whatever is in it, and may be
 * overwritten. So that no row is ever without its file: a content is written under another name, gets its own, file and
 * folder are synchronised, in this order, and only then is the row committed; and a file is removed only after the commit
 * that removed its row. The name comes before the content is safe, because a file system with a journal then writes both
 * down at once, and the folder costs no second turn of the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define BLOB_NAME_LENGTH 64 /* hexadecimal SHA-256 */
#define BLOB_FOLDERS 256    /* by the first two digits */
#define BLOBS_OPEN_MAX 64   /* written and not synchronised yet */

struct blob_name {
        char text[BLOB_NAME_LENGTH + 1];
};

struct blob_pending {
        int fd;
        unsigned long number; /* of the temporary file */
        struct blob_name name;
};

struct blobs {
        int folder_fd; /* -1: not opened */
        unsigned long last_number;
        struct blob_pending pending[BLOBS_OPEN_MAX];
        size_t pending_count;
        int failure;                /* something that was put is not on the disk: what follows must not be committed */
        struct blob_name *doubtful; /* may be without a row, when the transaction is over */
        size_t doubtful_count, doubtful_size;
};

void blobs_init(struct blobs *blobs);
/* Makes the folders where they are missing, and removes temporary files of an earlier start. */
int blobs_open(struct blobs *blobs, const char *folder, struct err *e);
void blobs_close(struct blobs *blobs);

/* 64 digits 0-9a-f. */
bool blob_name_is_valid(const char *name);

/*
 * Writes a content whose name is not known yet; the disk begins with it at once. Then either blobs_put or blobs_drop.
 * 0 or a negative errno, logged.
 */
int blobs_write(struct blobs *blobs, const void *bytes, size_t size, struct blob_pending *ret);
/* What was written is on the disk under this name after blobs_flush. 0 or a negative errno, logged; it is consumed. */
int blobs_put(struct blobs *blobs, struct blob_pending *written, const char *name);
/* Nobody needs it: there is such a content already. */
void blobs_drop(struct blobs *blobs, struct blob_pending *written);
/* Synchronises all that was put. 0 or a negative errno, logged: then the transaction must not be committed. */
int blobs_flush(struct blobs *blobs);
/* Gives up what was put and not synchronised. */
void blobs_abandon(struct blobs *blobs);

/* To be looked at after the transaction: its row has been removed, or may not have come to be. 0 or -ENOMEM. */
int blobs_doubt(struct blobs *blobs, const char *name);
/* It has no row: removes it. */
void blobs_remove(struct blobs *blobs, const char *name);

/* Calls for each name in a folder, 0 to BLOB_FOLDERS - 1; what is not named like a content is passed over. */
int blobs_each(struct blobs *blobs, unsigned folder, int (*call)(void *data, const char *name), void *data);

/* A descriptor, or a negative errno. Any thread. */
int blobs_read(const struct blobs *blobs, const char *name);
