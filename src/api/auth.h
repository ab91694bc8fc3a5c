/*
 * Who asks: keys of requests (or the Console's cookie instead), the project they act in, and how often a key may ask.
 *
 * Runs in the api process. Keys come from the network; of a key only its SHA-256 is kept anywhere.
 */
#pragma once

#include <stdbool.h>

#include "api/routes.h"

struct api;
struct auth;
struct store_key;

int auth_new(struct api *api, struct auth **ret);
/* Counts anew if SANDBOX_RATE_LIMIT has changed. */
void auth_set_rate(struct auth *auth);
void auth_free(struct auth *auth);

/*
 * Fills request->auth for a route of this scope. On failure the request has been ANSWERED (401, 403, 400 or 404 for
 * X-Project, 429) and false is returned.
 */
bool auth_admit(struct auth *auth, struct http_request *request, enum route_scope scope);

/* For requests that last: whether who was admitted once would still be. */
bool auth_still_admits(struct auth *auth, const struct http_auth *who);

/* The key that somebody sent. 0, STORE_E_NOT_FOUND or a negative errno. */
int auth_find_key(struct api *api, const char *text, struct store_key *ret);
