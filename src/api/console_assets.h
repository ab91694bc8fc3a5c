/*
 * The Console's files, which are part of the program: the process is jailed and could not read them from anywhere.
 *
 * Runs in the api process. Paths come from the network and are only compared with the names in a table, which is
 * generated while building (tools/build-console).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct api;
struct http_request;

struct console_asset {
        const char *path;                  /* below /console/: "index.html", "assets/main-ABCD.js" */
        const char *media_type;            /* with its charset */
        const char *hash;                  /* of the content */
        const unsigned char *bytes, *gzip; /* gzip: the same, compressed; NULL where that is no smaller */
        size_t length, gzip_length;
        bool immutable; /* the path changes with the content */
};

/* Ends with a path that is NULL. */
extern const struct console_asset console_assets[];

/* The file at a path below /console/, decoded; the page itself for addresses of views within it; NULL: there is none.
 */
const struct console_asset *console_asset_find(const char *path);

/* Whether a path is the Console's, whatever is there. */
bool console_owns(const char *path);
/* The headers of every reply below /console/; at most nine. */
void console_add_headers(struct http_request *request);

void console_handle_redirect(struct api *api, struct http_request *request);
void console_handle_asset(struct api *api, struct http_request *request);
