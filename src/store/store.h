/*
 * What the service remembers: projects and their keys. Agents are in agents.h, conversations in conversations.h, requests
 * with an Idempotency-Key in idempotency.h, the audit log is in audit.h.
 *
 * Runs in the api process, after it has jailed itself. These headers know nothing of SQL: the files beside them
 * implement them for one machine, and a database for several machines can implement them as well. Every call is one
 * transaction, and what it wrote is on the disk when it returns 0.
 *
 * All calls come from the loop's thread, and all callbacks on it. Reading is done on that thread. Writing is done by a
 * thread of the store's own; where a function writes and has no callback, it waits for that.
 *
 * Functions return 0, a positive STORE_E_* that the caller handles, or a negative errno after the reason was logged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/key.h"

enum { STORE_E_NOT_FOUND = 1, STORE_E_EXISTS, STORE_E_CONFLICT, STORE_E_FULL, STORE_E_LATER };

#define STORE_NAME_MAX 64
#define STORE_ID_MAX 40
#define STORE_LABEL_MAX 200
#define STORE_DEFAULT_PROJECT "default"

struct loop;
struct store;

struct store_project {
        int64_t id;
        char name[STORE_NAME_MAX + 1];
        int64_t created_ms; /* since 1970, UTC */
};

struct store_key {
        int64_t id;
        char public_id[STORE_ID_MAX + 1]; /* "key_…" */
        int64_t project_id;               /* 0: an admin key, of no project */
        char project[STORE_NAME_MAX + 1];
        bool is_admin;
        struct key_hash hash;
        char hint[KEY_HINT_BYTES];
        char label[STORE_LABEL_MAX + 1];
        int64_t created_ms;
};

/*
 * Starts the store's thread, which then waits for store_open: in between, a process can give up the right to make
 * threads before anything is read. 0 or a negative errno.
 */
int store_new(struct loop *loop, struct store **ret);
/*
 * Opens or makes the database and the contents of files in `folder`, an absolute path; migrates the tables and makes
 * the project "default". A newer schema is refused. After an error there is still store_close to call.
 */
int store_open(struct store *store, const char *folder, struct err *e);
/*
 * Writes what has been asked for, and calls the callbacks of that, then closes. What these callbacks use must still be
 * there. NULL-safe.
 */
void store_close(struct store *store);
/* Waits until nothing is left to do in the background: deleted rows and contents are gone. For tests and tools. */
void store_settle(struct store *store);

int store_project_create(struct store *store, const char *name, struct store_project *ret);
int store_project_find(struct store *store, const char *name, struct store_project *ret);
/* Sorted by name, after the name `after` ("": from the start). Returns the count, or a negative errno. */
int store_project_list(struct store *store, const char *after, struct store_project *ret, size_t max);

/* The key that a request brought, whatever its project. Revoked keys are not found. */
int store_key_find(struct store *store, const struct key_hash *hash, struct store_key *ret);
/* `key` brings public_id, project_id, hash, hint and label; id and created_ms are filled in. */
int store_key_create(struct store *store, struct store_key *key);
int store_key_get(struct store *store, int64_t project_id, const char *public_id, struct store_key *ret);
/* Sorted by public id, after `after`. Returns the count, or a negative errno. */
int store_key_list(struct store *store, int64_t project_id, const char *after, struct store_key *ret, size_t max);
int store_key_revoke(struct store *store, int64_t project_id, const char *public_id);

/* Makes this the one admin key that comes from the operator, in place of the one before. `key` as for creating. */
int store_admin_key_set(struct store *store, struct store_key *key);
