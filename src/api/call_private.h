/*
 * One POST /v1/call on its way; shared by call*.c.
 *
 * Runs in the api process. Freed when its request has had its terminal call and nothing else uses it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "api/idempotency.h"
#include "run/call_end.h"
#include "run/run.h"
#include "store/conversations.h"
#include "store/images.h"

struct api;
struct http_request;

struct call {
        struct api *api;
        struct http_request *request;
        json_t *body; /* owns most of what is borrowed below */
        const char *agent, *tool;
        const char *conversation_id; /* NULL: not given */
        char *arguments;             /* JSON, as it was sent */
        char *frame;                 /* what the runner is told */
        struct store_image image;    /* the agent's, as it was when the call came */
        char *reference;             /* what that was deployed from */
        struct run_request what;
        bool holds_image;

        struct run *run; /* NULL once it has ended, unless it is held until it is kept */
        bool over;       /* it has ended: what it did is done, also if the client goes away */
        bool has_result;
        struct call_facts facts;
        struct call_error error;
        struct json_out_text {
                char *bytes;
                size_t length;
        } reply;

        struct store_use use; /* of its conversation */
        struct store_conversation conversation;
        struct store_new_run keep;
        struct keyed *keyed; /* NULL: without an Idempotency-Key */

        struct call *next, **place; /* among those of api->calls */
};

/*
 * call_request.c: what is called, with what. False: the request was refused and has been ANSWERED. Looks up the agent, its
 * image and the tool, and checks the arguments.
 */
bool call_request_take(struct call *call);

/* call_reply.c: judges how the call ended and writes the reply: call->reply, without bytes if there was no memory. */
void call_reply_make(struct call *call, const struct run *run);

void call_free(void *data);
