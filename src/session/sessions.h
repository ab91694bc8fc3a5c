/*
 * Stateful sessions: interpreters that outlive a call, each bound to one conversation.
 *
 * Runs in the api process. A session holds one sandbox of the engine's; calls of its conversation take turns in it. This
 * header is for those who ask for calls or end sessions; what the engine tells a session stands in session.h.
 *
 * A session counts towards the caps from the moment it is admitted until its sandbox is on its way out. All of it happens
 * on one thread, so no two requests can take the last place.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "run/run.h"

struct api;
struct session;
struct sessions;

/* Why the variables of a session are gone; what the next call is told. */
enum session_loss {
        SESSION_LOSS_NONE,      /* they are not, or there never were any */
        SESSION_LOSS_TIMEOUT,   /* a call was over its time */
        SESSION_LOSS_EXIT,      /* the interpreter's process ended by itself: os._exit() */
        SESSION_LOSS_CRASH,     /* it died by a signal */
        SESSION_LOSS_MEMORY,    /* it was over its memory */
        SESSION_LOSS_OUTPUT,    /* a call printed more than may be */
        SESSION_LOSS_CANCELLED, /* the client of a call went away */
        SESSION_LOSS_KILLED,    /* the sandbox was lost */
        SESSION_LOSS_IDLE,      /* nothing was called for SANDBOX_SESSION_IDLE_SECONDS */
        SESSION_LOSS_ENDED,     /* DELETE /v1/conversations/{id}/session */
        SESSION_LOSS_RESTART,   /* the service was started anew */
        SESSION_LOSS_DELETED,   /* with the conversation: nobody is told */
        SESSION_LOSSES
};

/* What a call's reply says of its session. */
struct session_note {
        bool restarted;
        bool on_request; /* somebody has ended the session, or deleted the conversation, while the call ran */
        char message[1024]; /* "": nothing */
};

/* Whose session, and what a call in it has to know. */
struct session_key {
        int64_t project_id;
        const char *project, *conversation, *agent;
};

int sessions_new(struct api *api, struct sessions **ret);
/* After the engine's runs are gone. */
void sessions_free(struct sessions *sessions);

/*
 * A place for one more call. `ret` is the session of that conversation, made if there was none. -EDQUOT: over a cap, which
 * the message names (429 session_limit). -EBUSY: so many calls wait for it already (503). -ENOMEM.
 * Either sessions_submit with a run of that session, or sessions_give_up, has to follow.
 */
int sessions_admit(struct sessions *sessions, const struct session_key *key, struct session **ret, struct err *e);
void sessions_give_up(struct session *session);
/* Queues the call; it may start or be refused within this call. Instead of engine_run_submit. */
void sessions_submit(struct session *session, struct run *run);

/* What the reply of a call says; once, when the run is over. */
void session_note_of(const struct run *run, struct session_note *ret);
/*
 * Remembers which files of the working directory are not kept beside the conversation, and so are lost with the room: from
 * what a call has handed over, once when it is over, and a name alone if it then could not be kept.
 */
void session_note_files(struct session *session, const struct run_files *files);
void sessions_note_not_kept(struct sessions *sessions, int64_t project_id, const char *conversation, const char *name);
/* The same as a JSON list for the store, malloc()ed; NULL: there are none. */
char *session_not_kept(const struct session *session);

/*
 * Ends the session of a conversation, if it has one: a running call is answered as killed. Waiting calls go on in a fresh
 * interpreter, or are refused if the conversation is being deleted. False: there was none.
 */
bool sessions_end(struct sessions *sessions, int64_t project_id, const char *conversation, enum session_loss why);
/* No new sessions; those at rest end. */
void sessions_stop(struct sessions *sessions);

/* Whether a conversation has a session or a call of one on its way. */
bool sessions_has(const struct sessions *sessions, int64_t project_id, const char *conversation);

/* Live sessions of a project (0: of all): conversation, agent, state, times, calls. A new reference, or NULL. */
json_t *sessions_list(const struct sessions *sessions, int64_t project_id);
unsigned sessions_count(const struct sessions *sessions);
