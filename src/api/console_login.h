/*
 * Signing in at the Console with a key, and requests that bring the cookie of that instead of the key.
 *
 * Runs in the api process. Everything comes from the network, from browsers too that a hostile page has told what to
 * send. A session stands for a key, which is looked up again for each request: one that was revoked ends it.
 */
#pragma once

#include <stdbool.h>

struct api;
struct console;
struct http_auth;
struct http_request;
struct store_key;

int console_new(struct api *api, struct console **ret);
void console_free(struct console *console);

/* False: it is switched off, and the request has been ANSWERED. */
bool console_is_on(const struct api *api, struct http_request *request);

/* Whether a request brings a cookie of the Console, dead or alive. */
bool console_has_cookie(struct http_request *request);
/*
 * The key that the cookie of a request stands for. It must come from a page of our own, and, if it may change
 * something, bring the session's CSRF token. Notes the session in request->auth. On failure the request has been
 * ANSWERED (401 or 403) and false is returned.
 */
bool console_admit(struct console *console, struct http_request *request, struct store_key *key);
/* Whether the session that a request was admitted by still lives. */
bool console_still_admits(const struct console *console, const struct http_auth *auth);

void console_handle_login(struct api *api, struct http_request *request);
void console_handle_session(struct api *api, struct http_request *request);
void console_handle_logout(struct api *api, struct http_request *request);
