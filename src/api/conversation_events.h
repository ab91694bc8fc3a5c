/*
 * News of conversations as server-sent events: GET /v1/conversations/{id}/events, and GET /v1/events for all of a project.
 *
 * Runs in the api process. Whoever keeps a run publishes it here, and every client that listens to its conversation is
 * told. Events: `run` (as GET /v1/conversations/{id}/runs shows it; its id is the run's), and `end` when the
 * conversation is deleted or over, after which the stream ends. A client that comes back with Last-Event-ID, as
 * browsers do by themselves, first gets what it has missed. Of a whole project: `conversation` whenever a run of one was
 * kept (the conversation as the list shows it), and `end` with its id; what was missed is in the list. Between events a
 * comment every 15 seconds keeps the connection, which ends if its key was revoked or its session is over.
 *
 * Listeners cost memory for as long as they like, so there is a bound for each address, each project and all together,
 * and one that does not read what it is sent is let go: it can come back and ask for what it missed.
 */
#pragma once

#include <stdint.h>

struct api;
struct conversation_events;
struct http_request;
struct store_run;

#define EVENT_LISTENERS_PER_ADDRESS 32
#define EVENT_LISTENERS_PER_PROJECT 200
#define EVENT_LISTENERS_MAX 1000

int conversation_events_new(struct api *api, struct conversation_events **ret);
/* NULL-safe. Ends every stream. */
void conversation_events_free(struct conversation_events *events);

void conversation_events_handle(struct api *api, struct http_request *request);
void conversation_events_handle_all(struct api *api, struct http_request *request);

/* A run was kept: called when it is on the disk. */
void conversation_events_publish(struct conversation_events *events, const struct store_run *run);
/* The conversation is gone: tells its listeners, and ends their streams. */
void conversation_events_end(struct conversation_events *events, int64_t project_id, const char *conversation);
/* The service is stopping: ends every stream, and takes no more. */
void conversation_events_stop(struct conversation_events *events);
