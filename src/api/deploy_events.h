/*
 * How a deployment is answered: with events while it goes on, or with one reply at its end.
 *
 * Runs in the api process. Events: `progress` (step, done, total, message), then `done` with the agent, or `error` with the
 * body of an error reply. They begin with the first progress: what is refused before that has its status.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "api/event_stream.h"
#include "api/http.h"
#include "base/loop.h"

struct deploy_events {
        struct loop *loop;
        struct http_request *request;
        bool wanted; /* else one reply at the end */
        bool begun;
        struct event_stream stream;
};

void deploy_events_init(struct deploy_events *events, struct loop *loop, struct http_request *request, bool wanted);
/* Steals the reference. */
void deploy_events_progress(struct deploy_events *events, json_t *what);
/* TERMINAL. Steals the reference. */
void deploy_events_done(struct deploy_events *events, unsigned status, json_t *agent);
/* TERMINAL. `traceback`: of the agent's code, or NULL. */
void deploy_events_error(struct deploy_events *events, enum http_error kind, const char *param, const char *message,
                         const char *traceback);
/* The client is gone, or the request has its answer from elsewhere. */
void deploy_events_deinit(struct deploy_events *events);
