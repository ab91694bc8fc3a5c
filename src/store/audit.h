/*
 * The audit log: a file that only grows, whose lines hold on to each other (src/audit/chain.h).
 *
 * Runs in the api process. Part of the store, on the loop's thread. Files and no table of the database, because a file
 * can be read, shipped and checked by anybody with ordinary tools, also without the service: audit/NUMBER.jsonl, each
 * named after its first line. Functions return 0, a positive STORE_E_* or a negative errno after the reason was logged.
 */
#pragma once

#include "audit/chain.h"
#include "store/store.h"

#define STORE_AUDIT_SEGMENTS_MAX 4096

struct store_audit_segment {
        uint64_t first; /* number of its first line, and its name */
        uint64_t bytes;
};

/* Called for each line, which is not NUL-terminated and has no line break. A result other than 0 ends the reading. */
typedef int (*store_audit_fn)(void *data, const char *line, size_t length);

/* How many bytes all lines together may have, roughly: then the oldest files go, and a line says so. 0: no limit. */
void store_audit_limit(struct store *store, uint64_t bytes);

/*
 * Adds a line. `members`: a JSON object of one line, of who did what. `durable`: it is on the disk when this returns;
 * else about a second later, while a mere crash of the process loses nothing.
 */
int store_audit_add(struct store *store, const char *members, bool durable);

/* Where the log has come to; in *first the number of the oldest line that is still there. */
struct audit_place store_audit_head(const struct store *store, uint64_t *first);
/* The lines from number `from` to number `to`, as far as they are there. */
int store_audit_read(struct store *store, uint64_t from, uint64_t to, store_audit_fn call, void *data);

/* The files, oldest first; *ret is malloc()ed. */
int store_audit_segments(struct store *store, struct store_audit_segment **ret, size_t *count);
/* Opens a file for reading, as long as it is now; STORE_E_NOT_FOUND. *ret belongs to the caller. */
int store_audit_open(struct store *store, uint64_t first, int *ret, uint64_t *bytes);
