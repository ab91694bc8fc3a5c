/*
 * Tool descriptions for models: handler of /v1/tools/….
 *
 * Runs in the api process; any key of the project gets here.
 */
#pragma once

struct api;
struct http_request;

void tools_handle_run_python(struct api *api, struct http_request *request);
