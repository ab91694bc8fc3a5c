/*
 * What a front door does for one request: requests of the service to itself, one after the other, and one answer.
 *
 * Runs in the api process. A door's own struct begins with a struct door_call and is calloc()ed; door_begin takes it
 * over. From then on it lives until the request has been answered, or its client is gone, and is then free()d. The
 * engine's answers are the service's own; what stands in them came from sandboxes.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/door.h"
#include "api/subrequest.h"

struct api;
struct door_call;

/* An answer of the engine: its status, and its body as JSON, borrowed, or NULL if it is none. */
typedef void (*door_answer_fn)(struct door_call *call, unsigned status, json_t *reply);

struct door_call {
        struct api *api;
        struct http_request *request;
        struct subrequest *subrequest; /* that is on its way, or NULL */
        door_answer_fn then;
        /* Of a streamed answer: whole events, then `last` with the end. NULL: answers come whole. */
        void (*events)(struct door_call *call, const char *bytes, size_t length);
        void (*events_end)(struct door_call *call);
        /* Frees what the door's struct has besides; may be NULL. */
        void (*deinit)(struct door_call *call);
        const char *body; /* inside of `then`: the bytes of the answer, and what they are; NULL: unknown */
        const char *content_type;
        size_t body_length;
        int64_t project_id;
        json_t *execute; /* the body of a run with door_execute */
        const char *agent;
        door_answer_fn executed;
        enum { DOOR_AGENT_UNKNOWN, DOOR_AGENT_WAITED_FOR, DOOR_AGENT_MAKING, DOOR_AGENT_MADE } agent_state;
        struct door_call *next; /* among those that make an agent, or wait for one that does */
        bool gone;              /* the client, while an agent was being made */
};

/* False: there is no memory, which has been ANSWERED. `size` is of the door's struct. */
bool door_begin(struct api *api, struct http_request *request, size_t size, void (*deinit)(struct door_call *call),
                struct door_call **ret);

/* Asks the engine. `body` is stolen; `target` is copied. If that fails the call is over, and has been ANSWERED. */
void door_ask(struct door_call *call, const char *method, const char *target, json_t *body, door_answer_fn then);

/* POST /v1/execute. */
void door_run(struct door_call *call, json_t *body, door_answer_fn then);

/*
 * The same for an agent of the door's, whose runs share an interpreter: if the project has no agent of this name it is
 * made, with CODE_INTERPRETER_SESSION=true, and is then an agent like any other, whose settings count.
 */
void door_execute(struct door_call *call, const char *agent, json_t *body, door_answer_fn then);

/* The ends of a call: each answers the request. */
void door_reply(struct door_call *call, unsigned status, json_t *body); /* `body` is stolen */
void door_reply_empty(struct door_call *call, unsigned status);
void door_refuse(struct door_call *call, enum http_error kind, const char *param, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void door_refuse_err(struct door_call *call, const struct err *e); /* 400 */
/* What the engine answered, in the protocol's form. */
void door_pass_error(struct door_call *call, unsigned status, const json_t *reply);
/* Frees it; the request has been answered by other means. */
void door_end(struct door_call *call);

/* The body of the request, an object whose fields are among these. NULL: the request was refused, and the call is over.
 */
json_t *door_body(struct door_call *call, const char *const *known);

/* A target with a name in its middle that is made fit for it. malloc()ed, or NULL. */
char *door_target(const char *before, const char *name, const char *after);
