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
#include "api/idempotency.h"
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
        struct loop_source *noting;   /* set while the end of the run, which is held, waits to be noted */

        struct store_use use; /* of its conversation */
        struct store_conversation conversation;
        void (*ready)(struct execution *execution);
        struct session_note note;
        struct store_new_run keep;
        struct store_new_file *files; /* of `keep`, one for each of the run's */
        char *not_kept;
        struct keyed *keyed;   /* NULL: without an Idempotency-Key */
        struct json_out reply; /* while it is kept; without the contents of files */

        struct execution *next, **place; /* among those of api->executions */
};

/*
 * Looks up what the request refers to: agent, conversation, earlier files, quota, and a place in a session. Calls `ready`,
 * maybe at once, or later if the conversation is to be made first. Refused requests have been answered: then it frees the
 * execution.
 */
void execute_prepare(struct execution *execution, void (*ready)(struct execution *execution));
void execution_free(void *data);

/* In the log, the metrics and the audit log, unless it has been noted already. */
void execute_note_end(struct execution *execution);

/* Composes execution->reply, which has no bytes then if there is no memory. */
void execute_compose(struct execution *execution, const struct run *run, bool inline_files);

/* Begins to keep a run of a conversation, which must be held, and answers when that is done. False: it cannot be. */
bool execute_keep(struct execution *execution);
/* It could not be kept: its files come with the reply, so that nothing is lost. */
void execute_answer_unkept(struct execution *execution);

/* Answers with what came of the run, which is held, and releases it. */
void execute_answer_held(struct execution *execution);
