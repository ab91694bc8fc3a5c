/*
 * POST /v1/execute: from a decoded request to a run, and from its end to the reply.
 *
 * Runs in the api process. The request is hostile bytes that were checked only as far as http.h says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api;
struct http_request;

/* Whether a run of this conversation, or a call, is on its way. */
bool execute_is_running(const struct api *api, int64_t project_id, const char *conversation);

/* Handler of the route. Answers at once if the request is refused, else when the run has ended. */
void execute_handle(struct api *api, struct http_request *request);
