/*
 * POST /v1/call: one of an agent's tools, in a sandbox made from the agent's image.
 *
 * Runs in the api process. The request comes from the network.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api;
struct http_request;

#define CALL_TIMEOUT_S 30
#define CALL_TIMEOUT_MAX_S 120
#define CALL_REQUEST_BYTES_MAX (1 << 20)
#define CALL_REPLY_BYTES_MAX (8 << 20)

/* Handler of the route. Answers at once if the request is refused, else when the call has ended. */
void call_handle(struct api *api, struct http_request *request);

/* Whether a call of this conversation is on its way. */
bool call_is_running(const struct api *api, int64_t project_id, const char *conversation);
