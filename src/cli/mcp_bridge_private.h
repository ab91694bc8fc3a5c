/*
 * What the two halves of the MCP bridge share: mcp_bridge.c has the messages and the loop, mcp_post.c a message on its
 * way over HTTP. Private to them.
 */
#pragma once

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/mcp_bridge.h"
#include "cli/sse.h"

#define MCP_HEADER_MAX 128

/* A message on its way, and its answer. */
struct mcp_post {
        struct mcp_bridge *bridge;
        struct mcp_post *next;
        CURL *curl;
        struct curl_slist *headers;
        char *message;
        json_t *id; /* NULL: it is answered by nothing */
        bool is_initialize;
        bool alone; /* of a revision without sessions: ending the request cancels it */
        bool answered, cancelled;
        bool again;                   /* it was sent before, in a session that had ended */
        char session[MCP_HEADER_MAX]; /* in which it was sent; "" for none */
        struct sse_parser parser;
        char *body;
        size_t body_length, body_size;
        char problem[CURL_ERROR_SIZE];
};

struct mcp_bridge {
        struct cli *cli;
        CURLM *multi;
        char *url;
        char session[MCP_HEADER_MAX], revision[MCP_HEADER_MAX]; /* "" before they are known */
        char *greeting;                                         /* the `initialize` that began the session */
        struct mcp_post *posts;
        int failed; /* a write: negative errno */
};

/* mcp_bridge.c: to standard output. */
void mcp_write_message(struct mcp_bridge *bridge, const json_t *message);
void mcp_write_error(struct mcp_bridge *bridge, json_t *id, int code, const char *message);

/* Sends what has found its session ended in a new one. False: there is none to be had. */
bool mcp_bridge_renew(struct mcp_bridge *bridge, const struct mcp_post *post);

/* mcp_post.c. NULL: out of memory. It belongs to the bridge's list. */
struct mcp_post *mcp_post_new(struct mcp_bridge *bridge, const char *line, size_t length);
/* Ends it, if it is under way. */
void mcp_post_free(struct mcp_post *post);
/* All that a request of this method needs; what the message says goes into headers. */
bool mcp_post_prepare(struct mcp_post *post, const char *method, const json_t *message);
/* Waits for the answer, so long at most, instead of having it passed on. True: it is the result of a request. */
bool mcp_post_wait(struct mcp_post *post, long most_ms);
/* It is over: says so to the client, if the service has not, and frees it. */
void mcp_post_conclude(struct mcp_post *post, CURLcode result);
