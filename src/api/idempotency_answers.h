/*
 * What requests are told whose Idempotency-Key has been here before.
 *
 * Runs in the api process.
 */
#pragma once

#include "store/idempotency.h"

#define IDEMPOTENCY_HEADER "Idempotency-Key"

struct api;
struct http_request;

/* The key was another request's. */
void answer_other_request(const struct api *api, struct http_request *request);
/* What became of the same request; takes the reply, if it is there. */
void answer_as_before(const struct api *api, struct http_request *request, struct store_idempotency *row);
/* There are as many keys as there may be. */
void answer_keys_full(const struct api *api, struct http_request *request);
