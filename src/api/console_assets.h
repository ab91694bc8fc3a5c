/*
 * The Console's files, which are part of the program (asset.h; tools/build-console), and their addresses.
 *
 * Runs in the api process. Paths come from the network.
 */
#pragma once

#include <stdbool.h>

#include "api/asset.h"

struct api;
struct http_request;

/* Ends with a path that is NULL. */
extern const struct asset console_assets[];

/* The file at a path below /console/, decoded; the page itself for addresses of views within it; NULL: there is none.
 */
const struct asset *console_asset_find(const char *path);

/* Whether a path is the Console's, whatever is there. */
bool console_owns(const char *path);
/* The headers of every reply below /console/; at most nine. */
void console_add_headers(struct http_request *request);

void console_handle_redirect(struct api *api, struct http_request *request);
void console_handle_asset(struct api *api, struct http_request *request);
