/*
 * One stateful session, as the engine and the other files of this folder see it.
 *
 * Runs in the api process. The engine tells a session what becomes of its sandbox and of its calls; a session only notes
 * it, and goes on in session_settle, which the engine calls from the loop, so that no run is freed or given another
 * sandbox from inside its own callbacks.
 *
 *               first call            sandbox leased          call over
 *      NEW ───────────────▶ STARTING ───────────────▶ BUSY ◀───────────▶ RESTING
 *       ▲                                  main process dead │               │ main process dead
 *       └── room lost ─── RENEWING ◀─────────────────────────┴───────────────┘
 *                            └── fresh interpreter in the same room ──▶ RESTING
 */
#pragma once

#include "base/loop.h"
#include "session/late_output.h"
#include "session/restore.h"
#include "session/sessions.h"
#include "spawn/client.h"

#define SESSION_WAITING_MAX 16 /* calls that wait for one session */
#define SESSION_NAME_BYTES 132

struct engine_sandbox;

enum session_state { SESSION_NEW, SESSION_STARTING, SESSION_BUSY, SESSION_RESTING, SESSION_RENEWING };

struct session {
        struct sessions *all;
        struct session *next;
        struct loop *loop;
        struct engine *engine;
        struct store *store;
        uint64_t idle_ns, wait_ns; /* how long it may rest, and a call may wait for its turn */

        int64_t project_id;
        char project[SESSION_NAME_BYTES], conversation[SESSION_NAME_BYTES], agent[SESSION_NAME_BYTES];

        enum session_state state;
        struct engine_sandbox *sandbox; /* the engine's; NULL: none */
        bool ending;                    /* the sandbox is killed, and its room is not to be kept */
        bool dying;                     /* the main process is killed: session_exited follows */
        bool new_room;                  /* its first call finds only what was kept beside the conversation */
        bool exited;                    /* the main process is dead; it is not yet seen to */
        struct spawn_exit exit;
        bool deleted; /* with its conversation: it has no name any more, and those that wait are refused */

        unsigned runs; /* that know it, or are to come: it must outlive them */
        struct run *running;  /* has the sandbox, or is about to get one; the engine frees it */
        struct run *requeued; /* one of those that wait, which still holds descriptors of the sandbox */
        struct run *waiting, **waiting_end;
        unsigned waiting_count;
        struct loop_source *wait_timer, *idle_timer, *work_source;
        struct late_output late;
        struct restore *restore; /* what the first call in a new room finds there */

        enum session_loss lost; /* since the last call was told */
        enum session_loss told; /* to the running call */
        struct session_note note; /* of the running call */
        json_t *not_kept;       /* names of files that exist only in the room; NULL: none */
        uint64_t created_ns, used_ns;
        uint64_t calls, calls_here; /* begun in all, and in this interpreter */
        int64_t created_ms;
};

/* From the engine. */
void session_leased(struct session *session, struct run *run, struct engine_sandbox *sandbox);
void session_requeue(struct session *session, struct run *run);
/* The call was cancelled, and its interpreter is killed. */
void session_abandoned(struct session *session, enum session_loss why);
/* Its main process is dead; whether the room is kept stands in `end`. */
void session_exited(struct session *session, const struct spawn_exit *end);
void session_renewed(struct session *session);
void session_renew_failed(struct session *session);
/* The run has been answered or cancelled: it does not wait any more. */
void session_withdraw(struct session *session, struct run *run);
/* It is freed right after this. */
void session_call_finished(struct session *session, struct run *run);
/* Does what can be done now, for all of them. */
void sessions_settle(struct sessions *sessions);

/* Within this folder. */
bool sessions_are_stopping(const struct sessions *sessions);
struct session *sessions_find(const struct sessions *sessions, int64_t project_id, const char *conversation);
void session_next_call(struct session *session);
void session_take_back(struct session *session, struct run *run);
void session_free(struct session *session);
void session_settle(struct session *session);
void session_end(struct session *session, enum session_loss why);
/* Takes it out of the table: it has no sandbox and no calls. What was lost is remembered for its conversation. */
void sessions_forget(struct session *session);
enum session_loss session_loss_of(const struct spawn_exit *end);
void session_note_write(struct session_note *note, const struct session *session, enum session_loss loss,
                        const struct restore *restore);
