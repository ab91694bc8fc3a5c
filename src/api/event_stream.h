/*
 * What every reply of server-sent events has: its head, and a comment now and then while there is nothing to say, so that
 * nobody between the service and the client takes the silence for an end.
 *
 * Runs in the api process.
 */
#pragma once

#include "base/loop.h"

struct http_request;

#define EVENT_STREAM_PAUSE_NS (15 * NS_PER_S)
#define EVENT_STREAM_COMMENT ": keep-alive\n\n"

/* Begins the reply, for whoever sends the comments otherwise: of many streams by one timer. */
void event_stream_head(struct http_request *request);

struct event_stream {
        struct loop *loop;
        struct http_request *request;
        struct loop_source *timer; /* NULL: not begun, or ended */
};

/* Begins the reply. What is written goes past this, by http_stream_write. */
void event_stream_begin(struct event_stream *stream, struct loop *loop, struct http_request *request);
/* No comments any more: before the reply is ended, or dropped. Harmless for one that was never begun. */
void event_stream_quiet(struct event_stream *stream);
