/*
 * A file that is part of the program: the process is jailed and could not read it from anywhere.
 *
 * Runs in the api process. The tables are generated while building (tools/embed.py); paths come from the network and are
 * only compared with the names in them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct http_request;

struct asset {
        const char *path;                  /* below its folder: "index.html", "assets/main-ABCD.js" */
        const char *media_type;            /* with its charset */
        const char *hash;                  /* of the content */
        const unsigned char *bytes, *gzip; /* gzip: the same, compressed; NULL where that is no smaller */
        size_t length, gzip_length;
        bool immutable; /* the path changes with the content */
};

/* In a table that ends with a path that is NULL. NULL: there is none. */
const struct asset *asset_find(const struct asset *table, const char *path);

/* Whether a path has a part that is "." or "..". */
bool asset_path_has_dots(const char *path);

/* Answers with its content, compressed if the client takes that, or with 304. */
void asset_reply(struct http_request *request, const struct asset *asset);

/* The headers that keep a page of ours to itself, with this Content-Security-Policy; at most nine. */
void asset_add_page_headers(struct http_request *request, const char *content_policy);
