/*
 * One POST /v1/execute on its way; shared by execute.c, execute_prepare.c and execute_keep.c.
 *
 * Runs in the api process. Freed when its request has had its terminal call and nothing else uses it.
 */
#pragma once

#include <stdbool.h>

#include "api/execute_events.h"
#include "api/execute_reply.h"
#include "api/execute_request.h"
#include "session/sessions.h"
#include "store/conversations.h"

struct api;
struct http_request;
struct run;

struct execution {
        struct api *api;
        struct http_request *request;
        struct execute_request what;
        struct execute_events events; /* only with `stream` */
        struct run *run;              /* NULL once it has ended, unless it is held until it is kept */
        bool over;                    /* the run has ended: what it did is done, also if the client goes away */

        int64_t conversation_id; /* row of the store; 0: none */
        struct session_note note;
        struct store_new_run keep;
        struct store_new_file *files; /* of `keep`, one for each of the run's */
        char *not_kept;

        struct execution *next, **place; /* among those of api->executions */
};

/*
 * Looks up what the request refers to: agent, conversation, earlier files, quota, and a place in a session. False: the
 * request was refused and has been answered.
 */
bool execute_prepare(struct execution *execution);

/* Keeps a run of a conversation, then answers. Takes care of the run, too, which must be held. */
void execute_keep(struct execution *execution);

/* Answers with what came of the run. */
void execute_answer(struct execution *execution, const struct run *run);
