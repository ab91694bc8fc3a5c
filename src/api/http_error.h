/*
 * Error replies: one table of kinds, and their body.
 *
 * Runs in the api process. The public part is in http.h; this is what the front needs besides, which answers some
 * errors without libmicrohttpd.
 */
#pragma once

#include <stddef.h>

#include "api/http.h"

/* The `type` that clients see. */
const char *http_error_type(enum http_error kind);

/* Whether the request was turned away for who asked or for how much, which the audit log tells. */
bool http_error_is_refusal(enum http_error kind);

/* Retry-After that goes with the kind, or NULL. */
const char *http_error_retry_after(enum http_error kind);

/* A whole reply, head and body, that closes the connection. malloc()ed, or NULL. */
char *http_error_raw(enum http_error kind, const char *message, size_t *ret_length);

/* A new X-Request-Id. */
void http_new_id(char id[REQUEST_ID_BYTES + 1]);
