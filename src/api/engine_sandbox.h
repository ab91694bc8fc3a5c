/*
 * A sandbox as the engine keeps it, and what a session may ask to be done with its own.
 *
 * Runs in the api process. Shared by engine*.c and src/session/.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"
#include "sched/pool.h"
#include "spawn/proto.h"

struct engine;
struct session;

/* A sandbox that the spawner has made. Its descriptors are here while nothing runs in it, and with its run otherwise. */
struct engine_sandbox {
        struct pool_member member;
        struct sandbox_id id;
        int fds[SPAWN_READY_FDS];
        struct run *run;         /* NULL: parked, at rest, or nobody is interested in it any more */
        struct session *session; /* whose it is for longer than one run; NULL: nobody's */
        uint64_t leased_ns;      /* 0: it was never */
        bool admitted;           /* counts as one of the runs that admission has let through */
        uint64_t making;         /* of a call or an import: the request to make it; 0: it is there, or of the pool */
        bool own;                /* made for its run alone: the pool does not know it */
        bool is_import;
        bool room_kept;          /* its main process is dead, its room is not */
        uint64_t renewal;        /* the request to put a fresh process into its room; 0: there is none */
        struct engine_sandbox *next;
};

/* Gives the sandbox of a session its next call. */
void engine_call(struct engine_sandbox *sandbox, struct run *run);
/* Puts a fresh process into a room that was kept: session_renewed or session_renew_failed follows. */
void engine_renew(struct engine *engine, struct engine_sandbox *sandbox);
/* Kills a sandbox and its room: session_exited follows, and then engine_let_go is due. */
void engine_end(struct engine *engine, struct engine_sandbox *sandbox);
/* The session does not need it any more. Ends it if it is alive, forgets it otherwise. */
void engine_let_go(struct engine *engine, struct engine_sandbox *sandbox);
/* From the loop, when the reply that is being written is on its way: frees what has ended, settles the sessions, and does
 * whatever can be done then. */
void engine_tidy_soon(struct engine *engine);
