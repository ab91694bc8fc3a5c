/*
 * What the service remembers of requests that came with an Idempotency-Key: that they were begun, and what was
 * answered.
 *
 * Runs in the api process. Part of the store; the rules of store.h hold. A key belongs to a project. Its row is written
 * before what it asks for begins, and gets the reply afterwards: a row without one, of which no run is on its way, is
 * of a run whose end nobody knows. Rows older than `after_ms` count as gone, whether or not they have been removed yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/conversations.h"

#define STORE_IDEMPOTENCY_KEY_MAX 255
#define STORE_IDEMPOTENCY_DIGEST_BYTES 32

/* Numbers of the database. */
enum store_idempotency_state {
        STORE_IDEMPOTENCY_BEGUN = 0,
        STORE_IDEMPOTENCY_KEPT = 1,
        STORE_IDEMPOTENCY_TOO_LARGE = 2, /* it has ended; its reply was not kept */
        STORE_IDEMPOTENCY_DELETED = 3,   /* the same; its conversation has been deleted since */
};

struct store_idempotency {
        int64_t project_id;
        char key[STORE_IDEMPOTENCY_KEY_MAX + 1];
        unsigned char digest[STORE_IDEMPOTENCY_DIGEST_BYTES]; /* of what was asked for */
        int64_t begun_ms;                                     /* since 1970, UTC */
        bool is_stream;                                       /* the answer is to come as events */
        char conversation[STORE_CONVERSATION_MAX + 1];        /* "": of none; not filled in by reading */
        enum store_idempotency_state state;
        char run_id[STORE_ID_MAX + 1], sandbox_id[STORE_ID_MAX + 1]; /* "" as long as it is only begun */
        char *reply;                                                 /* JSON, malloc()ed; NULL unless it was kept */
        size_t reply_length;
};

/* Limits of one project. */
struct store_idempotency_limits {
        int64_t keys, bytes;
};

/* With the reply, which belongs to the caller. STORE_E_NOT_FOUND. */
int store_idempotency_find(struct store *store, int64_t project_id, const char *key, int64_t after_ms,
                           struct store_idempotency *ret);

/*
 * All of these write in the background and borrow `what` until `done`. A negative errno: there will be no callback.
 *
 * Begin: `done` gets STORE_E_FULL where the project has as many keys, or as many bytes of replies, as it may.
 */
int store_idempotency_begin(struct store *store, const struct store_idempotency *what, int64_t after_ms,
                            struct store_idempotency_limits limits, store_done_fn done, void *data);
/* Its state, the ids, and the reply if it is to be kept. One of a conversation that has been deleted is not. */
int store_idempotency_keep(struct store *store, const struct store_idempotency *what, store_done_fn done, void *data);
/* As if there had never been such a key. */
int store_idempotency_forget(struct store *store, const struct store_idempotency *what, store_done_fn done, void *data);

/* Removes rows that were begun before `before_ms`, some at a time; `*more` says whether there may be others. */
struct store_idempotency_expiry {
        int64_t before_ms;
        bool more;
};
int store_idempotency_expire(struct store *store, struct store_idempotency_expiry *expiry, store_done_fn done,
                             void *data);
