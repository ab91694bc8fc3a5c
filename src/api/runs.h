/*
 * Kept runs: handler of /v1/runs/{id}.
 *
 * Runs in the api process; any key of the project gets here.
 */
#pragma once

#include <jansson.h>

struct api;
struct http_request;
struct store_run;

void runs_handle_get(struct api *api, struct http_request *request);

/* As lists and events show it: without code and output. A new reference, or NULL. */
json_t *run_json(const struct store_run *run);
