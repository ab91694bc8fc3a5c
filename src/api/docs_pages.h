/*
 * The documentation, at /docs/: pages without scripts, which are part of the program (asset.h; tools/build-docs).
 *
 * Runs in the api process. Paths come from the network and are only compared with the names in a table.
 */
#pragma once

#include <stdbool.h>

#include "api/asset.h"

struct api;
struct http_request;

extern const struct asset docs_assets[];

/* The page or file at a path below /docs/, decoded: "run-code" is run-code.html, "" the first page. NULL: none. */
const struct asset *docs_find(const char *path);

void docs_handle_page(struct api *api, struct http_request *request);
void docs_handle_redirect(struct api *api, struct http_request *request);
