/*
 * The header Idempotency-Key of POST /v1/execute and POST /v1/call: a request that comes again is answered with what
 * the first one was answered, and runs nothing.
 *
 * Runs in the api process. The key comes from the network; its syntax is checked here. Keys belong to a project, and to
 * path and body, byte for byte: the same key with anything else is a conflict. One whose first request is still on its
 * way waits for that. docs/decisions/0019-idempotency-keys.md says why things are as they are.
 *
 * Without the header nothing is looked up, written or kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/http.h"

struct api;
struct idempotency;
struct keyed; /* a request with a key that nobody has asked for before, on its way */
struct run;

#define IDEMPOTENCY_REPLY_BYTES_MAX (8 << 20) /* of one that is kept; every reply of a call is */
#define IDEMPOTENCY_WAITING_MAX 64            /* requests, for one key */

int idempotency_new(struct api *api, struct idempotency **ret);
/* After the store is closed. NULL-safe. */
void idempotency_free(struct idempotency *idempotency);

/*
 * First of all in a handler. True: go on, and end *ret with keyed_end when nothing is left to do; it is NULL where the
 * request has no key. False: the request is taken: it has been answered, or waits, and then `handle` is called again.
 */
bool idempotency_admit(struct api *api, struct http_request *request, http_handler_fn handle, struct keyed **ret);

/*
 * What was asked for is right, and about to begin: `begun` is called when that is on the disk, with 0. With anything
 * else the request has been ANSWERED. `conversation`: NULL if there is none.
 */
void keyed_begin(struct keyed *keyed, const char *conversation, bool is_stream, void (*begun)(void *data, int result),
                 void *data);

/* Keeps the reply (200, JSON) of a run that has ended. `kept` is called, maybe at once, also where that failed. Borrows
 * `bytes` until then; NULL: there was no memory for them. */
void keyed_keep(struct keyed *keyed, const struct run *run, const char *bytes, size_t length, void (*kept)(void *data),
                void *data);

/* NULL-safe. Where nothing was kept nothing has run either, and the key may be used again. */
void keyed_end(struct keyed *keyed);
