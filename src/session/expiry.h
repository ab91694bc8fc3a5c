/*
 * The end of conversations that nobody has used for SANDBOX_CONVERSATION_TTL_SECONDS.
 *
 * Runs in the api process. A few at a time, so that thousands that are due at once, as after a long stop of the service,
 * hold nobody up.
 */
#pragma once

struct api;
struct expiry;

int expiry_new(struct api *api, struct expiry **ret);
/* The time after which they end has changed: looks again soon. */
void expiry_set_interval(struct expiry *expiry);
/* After the store is closed: it calls back what was under way. NULL-safe. */
void expiry_free(struct expiry *expiry);
