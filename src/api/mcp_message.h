/*
 * JSON-RPC messages of the Model Context Protocol, and which of its revisions a message is of.
 *
 * Runs in the api process. Pure. The bytes come from the network.
 *
 * Two of the revisions that are spoken begin with a handshake (`initialize`) that makes a session. In the third there
 * is none: each request carries the revision and the client's abilities in `_meta`, and repeats in headers what proxies
 * route by.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct http_request;

enum mcp_revision { MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28, MCP_REVISIONS };
#define MCP_NEWEST_WITH_HANDSHAKE MCP_2025_11_25

enum mcp_code {
        MCP_PARSE_ERROR = -32700,
        MCP_INVALID_REQUEST = -32600,
        MCP_METHOD_NOT_FOUND = -32601,
        MCP_INVALID_PARAMS = -32602,
        MCP_INTERNAL_ERROR = -32603,
        MCP_SESSION_NOT_FOUND = -32001,
        MCP_RESOURCE_NOT_FOUND = -32002, /* with a handshake; INVALID_PARAMS without */
        MCP_HEADER_MISMATCH = -32020,
        MCP_UNSUPPORTED_VERSION = -32022,
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
        enum mcp_kind kind;
        json_t *tree; /* the rest is borrowed from it */
        json_t *id;
        const char *method;
        json_t *params; /* an object, or NULL */
};

struct mcp_error {
        int code; /* 0: none */
        char message[640];
        json_t *data; /* a reference, or NULL */
};

/* Returns `code`; releases what `data` was there. */
int mcp_error_set(struct mcp_error *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* 0, or a code with the error. */
int mcp_message_read(const char *bytes, size_t length, struct mcp_message *ret, struct mcp_error *e);
void mcp_message_deinit(struct mcp_message *message);

/* "2025-11-25" … */
const char *mcp_revision_name(enum mcp_revision revision);
/* -1: none that is spoken here. */
int mcp_revision_of(const char *name);
static inline bool mcp_has_handshake(enum mcp_revision revision) {
        return revision <= MCP_NEWEST_WITH_HANDSHAKE;
}
/* ["2026-07-28", …], newest first. A new reference. */
json_t *mcp_revisions(void);

/* The text of a member; NULL if there is none, or one with a NUL, which C would take for the end of it. */
const char *mcp_text(const json_t *object, const char *name);

/*
 * What a message that belongs to no session says about its revision. 0 with a revision without a handshake; 1: it is of
 * a time in which there is one; or an error.
 */
int mcp_message_revision(const struct http_request *request, const struct mcp_message *message, enum mcp_revision *ret,
                         struct mcp_error *e);

/* A new reference; `id` may be NULL, which is null. Takes e->data. */
json_t *mcp_error_response(json_t *id, struct mcp_error *e);

/* The status of a reply that is an error, in revisions without a handshake. */
unsigned mcp_error_status(int code);
