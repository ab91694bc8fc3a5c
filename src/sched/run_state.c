/* The life of one run; see run_state.h. */
#include "sched/run_state.h"

#include <assert.h>

#define RETRIES_MAX 1

struct step {
        enum run_state next;
        unsigned actions;
        bool known; /* an entry left out is an event that does not concern the state */
};

#define STEP(next_, actions_)                                                                                          \
        { .next = (next_), .actions = (actions_), .known = true }

static const struct step table[RUN_STATES][RUN_EVENTS] = {
        [RUN_QUEUED] =
                {
                        [RUN_EVENT_LEASED] = STEP(RUN_CLAIMED, RUN_DO_CLAIM),
                        [RUN_EVENT_LEASED_WITH_INPUTS] = STEP(RUN_INPUTS, RUN_DO_WRITE_INPUTS),
                        [RUN_EVENT_EXPIRED] = STEP(RUN_DONE, RUN_DO_REFUSE | RUN_DO_FREE),
                        [RUN_EVENT_CANCEL] = STEP(RUN_DONE, RUN_DO_FREE),
                },
        [RUN_INPUTS] =
                {
                        [RUN_EVENT_INPUTS_WRITTEN] = STEP(RUN_CLAIMED, RUN_DO_CLAIM),
                        [RUN_EVENT_INPUT_REFUSED] = STEP(RUN_DONE, RUN_DO_KILL | RUN_DO_REFUSE | RUN_DO_FREE),
                        [RUN_EVENT_INPUT_REFUSED_BY_SESSION] = STEP(RUN_DONE, RUN_DO_REFUSE | RUN_DO_FREE),
                        [RUN_EVENT_LOST] = STEP(RUN_QUEUED, RUN_DO_REQUEUE),
                        [RUN_EVENT_EXITED] = STEP(RUN_QUEUED, RUN_DO_REQUEUE), /* it cannot have been the snippet */
                        [RUN_EVENT_CANCEL] = STEP(RUN_DONE, RUN_DO_KILL | RUN_DO_FREE),
                },
        [RUN_CLAIMED] =
                {
                        [RUN_EVENT_STARTED] = STEP(RUN_STARTED, 0),
                        [RUN_EVENT_CALL_OVER] = STEP(RUN_COLLECTING, RUN_DO_COLLECT),
                        [RUN_EVENT_LOST] = STEP(RUN_QUEUED, RUN_DO_REQUEUE),
                        [RUN_EVENT_EXITED] = STEP(RUN_ENDED, RUN_DO_DRAIN),
                        [RUN_EVENT_CANCEL] = STEP(RUN_DONE, RUN_DO_KILL | RUN_DO_FREE),
                },
        [RUN_STARTED] =
                {
                        [RUN_EVENT_CALL_OVER] = STEP(RUN_COLLECTING, RUN_DO_COLLECT),
                        [RUN_EVENT_LOST] = STEP(RUN_QUEUED, RUN_DO_REQUEUE),
                        [RUN_EVENT_EXITED] = STEP(RUN_ENDED, RUN_DO_DRAIN),
                        [RUN_EVENT_CANCEL] = STEP(RUN_DONE, RUN_DO_KILL | RUN_DO_FREE),
                },
        [RUN_COLLECTING] =
                {
                        [RUN_EVENT_COLLECTED] = STEP(RUN_DONE, RUN_DO_REPLY | RUN_DO_FREE),
                        [RUN_EVENT_LOST] = STEP(RUN_ENDED, RUN_DO_DRAIN),
                        [RUN_EVENT_EXITED] = STEP(RUN_ENDED, RUN_DO_DRAIN),
                        /* A client that goes away now changes nothing any more: what the call did stays done. */
                },
        [RUN_ENDED] =
                {
                        [RUN_EVENT_DRAINED] = STEP(RUN_DONE, RUN_DO_REPLY | RUN_DO_FREE),
                        [RUN_EVENT_CANCEL] = STEP(RUN_DONE, RUN_DO_FREE),
                },
};

unsigned run_machine_step(struct run_machine *machine, enum run_event event) {
        assert(machine->state < RUN_STATES && event < RUN_EVENTS);
        struct step step = table[machine->state][event];
        if (!step.known)
                return 0;
        if ((step.actions & RUN_DO_REQUEUE) && machine->retries++ >= RETRIES_MAX)
                step = (struct step)STEP(RUN_ENDED, RUN_DO_DRAIN); /* the reply says `internal` */
        machine->state = step.next;
        return step.actions;
}

const char *run_state_name(enum run_state state) {
        static const char *const names[RUN_STATES] = {"queued", "inputs", "claimed",    "started",
                                                      "collecting", "ended",  "done"};
        return state < RUN_STATES ? names[state] : "unknown";
}
