/*
 * The life of one run as a table: which event may come when, what is to be done about it.
 *
 * Runs in the api process. Pure logic. The table makes three promises, which the unit test tries with every sequence of
 * events: each run is answered exactly once (or nobody is left to answer), each sandbox that was taken is either seen
 * to end or killed, and after RUN_DONE nothing is done any more.
 *
 *            LEASED                    STARTED            EXITED            DRAINED
 *   QUEUED ──────────────────▶ CLAIMED ────────▶ STARTED ────────▶ ENDED ───────────▶ DONE
 *      │ LEASED_WITH_INPUTS       ▲                                                    ▲
 *      └──────────────▶ INPUTS ───┘ INPUTS_WRITTEN                                     │
 *                          └── INPUT_REFUSED, CANCEL, EXPIRED … ───────────────────────┘
 *
 * A call of a session ends while its sandbox lives on:
 *
 *               CALL_OVER              COLLECTED
 *   STARTED ───────────────▶ COLLECTING ─────────▶ DONE
 *
 * A sandbox that is lost before anybody has seen an effect of the snippet is replaced: the run goes back to the queue,
 * once.
 */
#pragma once

#include <stdbool.h>

enum run_state {
        RUN_QUEUED,  /* waits for a sandbox */
        RUN_INPUTS,  /* has one; its input files are being written */
        RUN_CLAIMED, /* the clock runs and the code is on its way */
        RUN_STARTED, /* the first instruction ran */
        RUN_COLLECTING, /* the call of a session is over; its files are being handed over */
        RUN_ENDED,      /* the sandbox is gone; what it left in the pipes is read */
        RUN_DONE,    /* answered, or nobody waits any more */
        RUN_STATES
};

enum run_event {
        RUN_EVENT_LEASED,
        RUN_EVENT_LEASED_WITH_INPUTS, /* as LEASED, for a run that has input files */
        RUN_EVENT_INPUTS_WRITTEN,
        RUN_EVENT_INPUT_REFUSED, /* an input did not fit */
        RUN_EVENT_INPUT_REFUSED_BY_SESSION, /* the same, in a sandbox that is to stay */
        RUN_EVENT_STARTED,
        RUN_EVENT_CALL_OVER, /* the call of a session has come to its end by itself */
        RUN_EVENT_COLLECTED, /* everything that it left has been handed over */
        RUN_EVENT_LOST,    /* the sandbox is gone by no doing of the snippet, and nobody has seen an effect of it */
        RUN_EVENT_EXITED,  /* the sandbox is gone, in any other way */
        RUN_EVENT_DRAINED, /* everything that it left has been read, or will not come */
        RUN_EVENT_EXPIRED, /* waited too long in the queue, or was displaced there */
        RUN_EVENT_CANCEL,  /* the client is gone */
        RUN_EVENTS
};

/* What to do, in this order. */
enum run_action {
        RUN_DO_WRITE_INPUTS = 1 << 0,
        RUN_DO_CLAIM = 1 << 1, /* start the clock, send the code */
        RUN_DO_KILL = 1 << 2,  /* nobody needs the sandbox any more */
        RUN_DO_DRAIN = 1 << 3,
        RUN_DO_REQUEUE = 1 << 4,
        RUN_DO_REPLY = 1 << 5,  /* with the result */
        RUN_DO_REFUSE = 1 << 6, /* with an error */
        RUN_DO_FREE = 1 << 7,
        RUN_DO_COLLECT = 1 << 8,
};

struct run_machine {
        enum run_state state;
        unsigned retries; /* times that it went back to the queue */
};

/* Steps on and returns the actions, ORed. Events that do not concern the state change nothing and return 0. */
unsigned run_machine_step(struct run_machine *machine, enum run_event event);

const char *run_state_name(enum run_state state);
