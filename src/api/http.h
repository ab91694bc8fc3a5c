/*
 * What a handler sees of HTTP: a request that is whole and checked, and the ways to answer it.
 *
 * Runs in the api process. Everything in a request came from the network: its framing was checked (http_guard.h), its
 * route, size and key too; its body was not looked at. libmicrohttpd hides behind this header (http_server.c).
 *
 * LIFE OF A REQUEST. A handler is called once, on the loop's thread, when the whole body is there. It may answer at
 * once, or return and answer later from any other callback of the loop. Every request must end in exactly ONE terminal
 * call: http_reply_*, http_stream_end or http_drop. Until then the request and all that it points to stay valid, even
 * when the client has gone away; after it the request must not be touched.
 *
 * CLIENT GONE. http_on_disconnect says so, once, at most; it is never called after the terminal call. It is only news:
 * the terminal call is still due (answers to a client that is gone are dropped without harm; http_drop says it
 * shorter).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/trace.h"
#include "store/key.h"

struct api;
struct http_request;
struct route;

/* Kinds of error replies; status and `type` of the body follow from the kind (table in http_reply.c). */
enum http_error {
        HTTP_INVALID_REQUEST,        /* 400 */
        HTTP_UNAUTHORIZED,           /* 401 */
        HTTP_FORBIDDEN,              /* 403 */
        HTTP_NOT_FOUND,              /* 404 */
        HTTP_METHOD_NOT_ALLOWED,     /* 405; add Allow by http_reply_header */
        HTTP_REQUEST_TIMEOUT,        /* 408 */
        HTTP_CONFLICT,               /* 409 */
        HTTP_TOO_LARGE,              /* 413 */
        HTTP_UNSUPPORTED_MEDIA_TYPE, /* 415 */
        HTTP_RANGE_NOT_SATISFIABLE,  /* 416; add Content-Range by http_reply_header */
        HTTP_HEADERS_TOO_LARGE,      /* 431, type too_large */
        HTTP_SESSION_LIMIT,          /* 429 */
        HTTP_QUOTA_EXCEEDED,         /* 429 */
        HTTP_RATE_LIMITED,           /* 429; Retry-After: 1 unless set by http_reply_header */
        HTTP_INTERNAL,               /* 500 */
        HTTP_OVERLOADED,             /* 503; Retry-After: 1 unless set by http_reply_header */
        HTTP_ERRORS
};

#define HTTP_PARAMS_MAX 2 /* parts of a path that stand for a name, such as {name} */
#define REQUEST_ID_BYTES 32
#define PROJECT_NAME_MAX 64
#define KEY_NAME_MAX 40

/* Who asks. Filled in before the handler of a route that needs a key is called. */
struct http_auth {
        bool is_admin;                      /* an admin key */
        int64_t key_id, project_id;         /* rows of the store; the project is the one the request acts in */
        char project[PROJECT_NAME_MAX + 1]; /* its name */
        char key_name[KEY_NAME_MAX + 1];    /* the key's id, "key_…" */
        struct key_hash key;                /* what it was found by */
        bool by_session;                    /* by the Console's cookie, of this session */
        struct key_hash session;
};

struct http_request {
        const char *method;                  /* "GET" ... */
        const char *path;                    /* as sent, without the query */
        const char *params[HTTP_PARAMS_MAX]; /* what stood at {name} in the route's path, decoded, in order */
        const struct route *route;
        const char *body; /* body_length bytes and a NUL that is not counted; never NULL */
        size_t body_length;
        int body_fd;                   /* of a route that takes it into a file: read it from offset 0; else -1. The
                                          request's own: a handler that keeps it takes it, and leaves -1 */
        const char *client;            /* address as text, without port */
        char id[REQUEST_ID_BYTES + 1]; /* X-Request-Id of the reply; goes into every log line about the request */
        char trace[TRACE_BYTES]; /* `traceparent` for whatever is asked in turn; "" if the client sent none */
        struct http_auth auth;
        uint64_t received_ns; /* clock_now_ns() of the first byte */
        void *data;           /* the handler's own */
};

typedef void (*http_handler_fn)(struct api *api, struct http_request *request);
typedef void (*http_notice_fn)(struct http_request *request, void *data);

/* A parameter of the query ("" if it has no value), or NULL. Borrowed, valid until the handler returns. */
const char *http_query(const struct http_request *request, const char *name);
/* A header by its name in any case, or NULL. Borrowed, valid until the handler returns. */
const char *http_header(const struct http_request *request, const char *name);

/* Gives the body's memory back when it has been decoded; a run may last, and bodies in memory are counted. */
void http_release_body(struct http_request *request);

/* Calls once when the client is gone before the terminal call; see above, and http_front.c for what "gone" means. */
void http_on_disconnect(struct http_request *request, http_notice_fn call, void *data);
bool http_is_gone(const struct http_request *request);

/* Adds a header to the reply that comes; before the terminal call or http_stream_begin. Values are our own, or made
 * harmless by the caller. One of the headers that every reply has takes that one's place. */
void http_reply_header(struct http_request *request, const char *name, const char *value);

/* TERMINAL. Steals the reference to `body`; NULL (out of memory) answers 500. */
void http_reply_json(struct http_request *request, unsigned status, json_t *body);
/* TERMINAL. Copies the bytes. */
void http_reply_bytes(struct http_request *request, unsigned status, const char *content_type, const void *bytes,
                      size_t length);
/* TERMINAL. Bytes that stay where they are for ever. */
void http_reply_static(struct http_request *request, unsigned status, const char *content_type, const void *bytes,
                       size_t length);
/* TERMINAL. Takes over malloc()ed bytes; NULL (out of memory) answers 500. */
void http_reply_take(struct http_request *request, unsigned status, const char *content_type, char *bytes,
                     size_t length);
/*
 * TERMINAL. `length` bytes of a file, from `offset` on, read as the client takes them: a slow one costs no memory.
 * Takes over the descriptor. The file must not change; one that turns out shorter ends the connection.
 */
void http_reply_file(struct http_request *request, unsigned status, const char *content_type, int fd, uint64_t offset,
                     uint64_t length);
/* TERMINAL. No body, for 204 and 304. */
void http_reply_empty(struct http_request *request, unsigned status);
/* TERMINAL. {"error": {"type", "message", "param"}}; `param` names the field at fault and may be NULL or empty. */
void http_reply_error(struct http_request *request, enum http_error kind, const char *param, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* TERMINAL. Closes the connection without an answer; for a client that is gone. */
void http_drop(struct http_request *request);

/* What http_reply_error would send as body, for an error inside a stream. A new reference, or NULL. */
json_t *http_error_body(enum http_error kind, const char *param, const char *message);
unsigned http_error_status(enum http_error kind);

/*
 * A reply of unknown length: 200, sent as it is written (server-sent events). Writing never blocks: what the client has
 * not yet taken is kept in memory. The writer looks at http_stream_pending and stops reading its source while that is
 * over its own mark; http_on_drain calls once when pending has fallen to `below` bytes or less.
 */
void http_stream_begin(struct http_request *request, const char *content_type);
/* 0, -EPIPE when the client is gone, -ENOBUFS when HTTP_STREAM_PENDING_MAX would be passed (nothing was taken). */
int http_stream_write(struct http_request *request, const void *bytes, size_t length);
size_t http_stream_pending(const struct http_request *request);
void http_on_drain(struct http_request *request, size_t below, http_notice_fn call, void *data);
/* TERMINAL. What is pending is still sent. */
void http_stream_end(struct http_request *request);

#define HTTP_STREAM_PENDING_MAX (size_t)(64 << 20)
