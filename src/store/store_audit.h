/*
 * The audit log's files. Private to the store; the loop's thread, but for the synchronising of a copied descriptor.
 */
#pragma once

#include "store/audit.h"

#define AUDIT_NAME_BYTES 32

struct loop_source;

struct store_audit {
        int folder_fd, fd;
        int head_fd; /* the file that says how much of the log is on the disk */
        uint64_t first;         /* of the oldest file */
        uint64_t segment_bytes; /* of the newest, which is written to */
        uint64_t segment_max, total_max;
        struct audit_place last;
        bool unsynced;
        uint64_t anchored_ns; /* when the log was last told where this has come to */
        struct loop_source *timer;
};

void audit_init(struct store_audit *audit);
int audit_open(struct store *store, const char *folder, struct err *e);
void audit_close(struct store *store);

/* store_audit_files.c */
void audit_name(uint64_t first, char name[AUDIT_NAME_BYTES]);
/* Oldest first; malloc()ed. */
int audit_list(int folder_fd, struct store_audit_segment **ret, size_t *count);
/*
 * The last whole line of a file that is not damaged: its place in *last, and in *good how many bytes there are up to
 * its end. A file without one: *good is 0. 0 or a negative errno.
 */
int audit_find_end(int fd, uint64_t bytes, struct audit_place *last, uint64_t *good);
/* Opens the file "head"; *ret is what it says, number 0 if nothing. 0 or a negative errno. */
int audit_head_open(int folder_fd, int *fd, struct audit_place *ret);
/* To be called once all lines up to that place are on the disk: then it never promises more than there is. */
void audit_head_write(int fd, const struct audit_place *place);
/* What the first line of a file says was before it. 0 or a negative errno. */
int audit_read_before(int folder_fd, uint64_t first, struct audit_place *ret);
