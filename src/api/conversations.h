/*
 * Conversations with their runs and files: handlers of /v1/conversations….
 *
 * Runs in the api process; any key of the project gets here. What belongs to another project is not there for it. Lists
 * show rows only: code, output and contents are read one at a time, by GET /v1/runs/{id} and GET /v1/files/{id}.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct api;
struct http_request;

void conversations_handle_list(struct api *api, struct http_request *request);
void conversations_handle_get(struct api *api, struct http_request *request);
void conversations_handle_delete(struct api *api, struct http_request *request);
void conversations_handle_runs(struct api *api, struct http_request *request);
void conversations_handle_files(struct api *api, struct http_request *request);

/* One as the list shows it. A new reference, or NULL: it is not there, or could not be read. */
json_t *conversation_describe(struct api *api, int64_t project_id, const char *name);

/* Whether the project has it; else the request has been ANSWERED. */
bool conversation_require(struct api *api, struct http_request *request, const char *name);
