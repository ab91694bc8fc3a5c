/*
 * The front door of piston: POST /api/v2/execute, GET /api/v2/runtimes.
 *
 * Runs in the api process; bodies come from the network.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct api;
struct config;
struct http_request;

void door_piston_handle_execute(struct api *api, struct http_request *request);
void door_piston_handle_runtimes(struct api *api, struct http_request *request);

/* For tests. Whether "3", "3.x", "3.12.*", "^3.10" and the like mean this version. */
bool door_piston_version_is(const char *wanted, const char *version);
/* Body of an execution to the body of a run; a new reference. 0, -EINVAL or -ENOMEM. */
int door_piston_decode(const json_t *body, const struct config *config, const char *version, json_t **ret,
                       struct err *e);
/* Reply of a run to that of an execution; a new reference, or NULL without memory. */
json_t *door_piston_encode(const json_t *reply, const char *version);
