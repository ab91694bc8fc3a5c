/*
 * The front: owns the connections to clients, and hands libmicrohttpd one checked request at a time.
 *
 * Runs in the api process. Everything it reads is hostile.
 *
 *      client ══TCP══ front ══socket pair══ libmicrohttpd ── handlers
 *
 * The front reads the head of each request and has the guard check it (http_guard.h) before libmicrohttpd sees a byte
 * of it; it knows from the head where the body ends, and hands over nothing of the next request until the answer to
 * this one is complete. So what libmicrohttpd reads has one meaning, and no two requests can be confused. The front
 * also keeps the clocks (a whole request must arrive in its time, however its bytes are dripped), the limits on
 * connections, the way a connection is closed (so that a refusal reaches a client that is still sending), and notices
 * when a client is gone. docs/decisions/0009-http-front.md tells why it is built this way.
 *
 * WHEN IS A CLIENT GONE? When its side reports an error or a reset, or takes nothing of a reply for a while. A plain
 * end of its sending side (FIN) is ambiguous: close() and a half-close look alike. While an answer is being worked on,
 * the front then sends "100 Continue", which every HTTP/1.1 client passes over; a closed client's system answers with a
 * reset. A client of HTTP/1.0, or one that has begun to receive a stream, cannot be asked: its FIN counts as gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http.h"

struct api;
struct front;
struct front_connection;
struct http_server;

/* What the front knows of the request that libmicrohttpd is now reading. */
struct front_head {
        char *target;  /* path and query as sent */
        bool has_body; /* of a length over 0, or of unknown length */
        bool chunked;  /* length unknown */
        uint64_t content_length;
        uint64_t received_ns; /* first byte */
};

/* Takes over `listen_fd`, but accepts nothing before front_start. 0 or a negative errno. */
int front_new(struct api *api, int listen_fd, struct http_server *server, struct front **ret);
void front_free(struct front *front);
int front_start(struct front *front);

/* Accepts no more and closes what is idle; `done` is called once when no request is left. */
void front_drain(struct front *front, void (*done)(void *data), void *data);

const struct front_head *front_connection_head(const struct front_connection *connection);
const char *front_connection_client(const struct front_connection *connection);

/* News from the side of libmicrohttpd. The first: the whole body was read. The second: the reply was handed over whole.
 */
void front_body_done(struct front_connection *connection);
void front_request_done(struct front_connection *connection);

/* The request that is coming in may take so long as a whole, and not SANDBOX_REQUEST_TIMEOUT_SECONDS. */
void front_allow_time(struct front_connection *connection, uint64_t seconds);

/* Answers an error past libmicrohttpd, which could not do it in the middle of a body, and closes. */
void front_refuse(struct front_connection *connection, enum http_error kind, const char *message);
