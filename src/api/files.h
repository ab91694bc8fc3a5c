/*
 * Kept files: handler of /v1/files/{id}.
 *
 * Runs in the api process; any key of the project gets here. What is served was written by a sandbox and is shown by
 * browsers: its type is that of its name's ending and never guessed from the content, and nothing in it may run.
 */
#pragma once

#include <jansson.h>

struct api;
struct http_request;
struct store_file;

void files_handle_get(struct api *api, struct http_request *request);

/* As lists show it. A new reference, or NULL. */
json_t *file_json(const struct store_file *file);
