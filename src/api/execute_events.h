/*
 * A run as server-sent events: what happens is told as it happens.
 *
 * Runs in the api process. Events: `start` (run_id, sandbox_id), `stdout` and `stderr` (text), `result` (a MIME map),
 * `file`, and `done` with the whole reply (or `error` with the body of an error reply, if the service itself failed);
 * between them a comment every 15 seconds, so that proxies keep the connection. A client that does not keep up stops
 * the reading of the run's output, and so in the end the snippet's prints; the time limit of the run goes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/event_stream.h"
#include "base/loop.h"
#include "run/json_out.h"
#include "run/run.h"

struct http_request;

struct execute_events {
        struct loop *loop;
        struct http_request *request;
        struct run *run; /* NULL once it has ended */
        bool begun;      /* the reply's head is out: no error status is possible any more */
        bool paused;
        bool gone; /* nobody reads them */
        struct event_stream stream;
        struct {
                char bytes[4]; /* the beginning of a character, whose rest is still to come */
                size_t length;
        } cut_off[RUN_STREAMS];
        struct json_out last; /* the last event, while it does not fit */
        void (*ended)(void *data);
        void *ended_data;
};

void execute_events_init(struct execute_events *events, struct loop *loop, struct http_request *request);
void execute_events_deinit(struct execute_events *events);

void execute_events_start(struct execute_events *events, struct run *run);
void execute_events_output(struct execute_events *events, struct run *run, enum run_stream stream, const char *bytes,
                           size_t length);
void execute_events_item(struct execute_events *events, struct run *run, const char *event,
                         const struct rendered *item);

/*
 * The last event, which takes over the bytes of `data` (one JSON value), and the end of the reply; `ended` is called
 * when the request has had its terminal call, maybe at once.
 */
void execute_events_finish(struct execute_events *events, struct run *run, const char *event, struct json_out *data,
                           void (*ended)(void *data), void *ended_data);

/* The client is gone, and nobody waits for it any more. Calls `ended` if only the last event was still to be sent. */
void execute_events_gone(struct execute_events *events);

/* TERMINAL, of a request whose run has been before: `start`, and `done` with the reply that was given then. */
void execute_events_repeat(struct http_request *request, const char *run_id, const char *sandbox_id, const char *reply,
                           size_t length);

/* As finish, with the event `error`: the body of an error reply, for what went wrong after the head of the reply. */
void execute_events_finish_error(struct execute_events *events, struct run *run, const char *message,
                                 void (*ended)(void *data), void *ended_data);
