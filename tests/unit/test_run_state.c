/* The life of a run as a table: every sequence of events up to a length, and the promises that must hold on each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/run_state.h"

static unsigned step(struct run_machine *machine, enum run_event event, enum run_state expected) {
        unsigned actions = run_machine_step(machine, event);
        assert_int_equal(machine->state, expected);
        return actions;
}

static void the_usual_way(void **state) {
        struct run_machine machine = {RUN_QUEUED, 0};
        (void)state;
        assert_int_equal(step(&machine, RUN_EVENT_LEASED, RUN_CLAIMED), RUN_DO_CLAIM);
        assert_int_equal(step(&machine, RUN_EVENT_STARTED, RUN_STARTED), 0);
        assert_int_equal(step(&machine, RUN_EVENT_EXITED, RUN_ENDED), RUN_DO_DRAIN);
        assert_int_equal(step(&machine, RUN_EVENT_DRAINED, RUN_DONE), RUN_DO_REPLY | RUN_DO_FREE);
}

static void inputs_come_before_the_claim(void **state) {
        struct run_machine machine = {RUN_QUEUED, 0};
        (void)state;
        assert_int_equal(step(&machine, RUN_EVENT_LEASED_WITH_INPUTS, RUN_INPUTS), RUN_DO_WRITE_INPUTS);
        assert_int_equal(step(&machine, RUN_EVENT_INPUTS_WRITTEN, RUN_CLAIMED), RUN_DO_CLAIM);

        machine = (struct run_machine){RUN_INPUTS, 0};
        assert_int_equal(step(&machine, RUN_EVENT_INPUT_REFUSED, RUN_DONE), RUN_DO_KILL | RUN_DO_REFUSE | RUN_DO_FREE);
}

static void a_lost_sandbox_is_replaced_once(void **state) {
        struct run_machine machine = {RUN_QUEUED, 0};
        (void)state;
        step(&machine, RUN_EVENT_LEASED, RUN_CLAIMED);
        assert_int_equal(step(&machine, RUN_EVENT_LOST, RUN_QUEUED), RUN_DO_REQUEUE);
        step(&machine, RUN_EVENT_LEASED, RUN_CLAIMED);
        assert_int_equal(step(&machine, RUN_EVENT_LOST, RUN_ENDED), RUN_DO_DRAIN);
}

static void a_run_of_which_something_was_seen_is_not_repeated(void **state) {
        struct run_machine machine = {RUN_STARTED, 0};
        (void)state;
        assert_int_equal(step(&machine, RUN_EVENT_EXITED, RUN_ENDED), RUN_DO_DRAIN);
}

struct history {
        unsigned answers, claims;
        bool holds; /* a sandbox that is alive */
};

/* Does what the actions say to a model of the outside. */
static void apply(struct history *history, enum run_event event, unsigned actions, const struct run_machine *machine) {
        bool leased = event == RUN_EVENT_LEASED || event == RUN_EVENT_LEASED_WITH_INPUTS;
        bool gone = event == RUN_EVENT_LOST || event == RUN_EVENT_EXITED;
        if (leased && actions)
                history->holds = true;
        if (gone && actions)
                history->holds = false;
        if ((event == RUN_EVENT_COLLECTED || event == RUN_EVENT_INPUT_REFUSED_BY_SESSION) && actions)
                history->holds = false; /* it is the session's again */
        if (actions & RUN_DO_CLAIM)
                history->claims++;
        if (actions & RUN_DO_KILL) {
                assert_true(history->holds);
                history->holds = false;
        }
        if (actions & (RUN_DO_REPLY | RUN_DO_REFUSE))
                history->answers++;
        if (actions & RUN_DO_WRITE_INPUTS)
                assert_true(history->holds);
        if (event == RUN_EVENT_CANCEL && machine->state == RUN_DONE && actions)
                assert_false(actions & (RUN_DO_REPLY | RUN_DO_REFUSE));
}

/* Events that the outside can bring forth in this state of the model: no end of a sandbox that there is not. */
static bool possible(const struct history *history, enum run_event event, const struct run_machine *machine) {
        switch (event) {
        case RUN_EVENT_LEASED:
        case RUN_EVENT_LEASED_WITH_INPUTS:
        case RUN_EVENT_EXPIRED:
                return machine->state == RUN_QUEUED;
        case RUN_EVENT_LOST:
        case RUN_EVENT_EXITED:
                return history->holds;
        default:
                return true;
        }
}

static unsigned long tried;

static void try_all(struct run_machine machine, struct history history, int depth) {
        tried++;
        assert_true(history.answers <= 1);
        assert_true(history.claims <= 2);
        if (machine.state == RUN_DONE)
                assert_false(history.holds); /* nothing is left behind */
        if (depth == 0)
                return;
        for (int event = 0; event < RUN_EVENTS; event++) {
                struct run_machine next = machine;
                struct history told = history;
                if (!possible(&history, (enum run_event)event, &machine))
                        continue;
                unsigned actions = run_machine_step(&next, (enum run_event)event);
                if (machine.state == RUN_DONE)
                        assert_int_equal(actions, 0);
                assert_int_equal(next.state == RUN_DONE && machine.state != RUN_DONE, (actions & RUN_DO_FREE) != 0);
                apply(&told, (enum run_event)event, actions, &next);
                try_all(next, told, depth - 1);
        }
}

static void promises_hold_in_every_sequence(void **state) {
        (void)state;
        try_all((struct run_machine){RUN_QUEUED, 0}, (struct history){0}, 8);
        assert_true(tried > 100000);
}

static void cancel_ends_every_state_at_once(void **state) {
        (void)state;
        for (int i = 0; i < RUN_DONE; i++) {
                struct run_machine machine = {(enum run_state)i, 0};
                if (i == RUN_COLLECTING)
                        continue;
                unsigned actions = step(&machine, RUN_EVENT_CANCEL, RUN_DONE);
                bool holds = i == RUN_INPUTS || i == RUN_CLAIMED || i == RUN_STARTED;
                assert_int_equal(actions, RUN_DO_FREE | (holds ? RUN_DO_KILL : 0));
        }
}

static void a_call_of_a_session_gives_its_sandbox_back(void **state) {
        struct run_machine machine = {RUN_STARTED, 0};
        (void)state;
        assert_int_equal(step(&machine, RUN_EVENT_CALL_OVER, RUN_COLLECTING), RUN_DO_COLLECT);
        assert_int_equal(step(&machine, RUN_EVENT_CANCEL, RUN_COLLECTING), 0); /* what it did is done */
        assert_int_equal(step(&machine, RUN_EVENT_COLLECTED, RUN_DONE), RUN_DO_REPLY | RUN_DO_FREE);

        machine = (struct run_machine){RUN_COLLECTING, 0};
        assert_int_equal(step(&machine, RUN_EVENT_EXITED, RUN_ENDED), RUN_DO_DRAIN);
        machine = (struct run_machine){RUN_INPUTS, 0};
        assert_int_equal(step(&machine, RUN_EVENT_INPUT_REFUSED_BY_SESSION, RUN_DONE), RUN_DO_REFUSE | RUN_DO_FREE);
}

static void states_have_names(void **state) {
        (void)state;
        for (int i = 0; i < RUN_STATES; i++)
                assert_string_not_equal(run_state_name((enum run_state)i), "unknown");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_usual_way),
                cmocka_unit_test(inputs_come_before_the_claim),
                cmocka_unit_test(a_lost_sandbox_is_replaced_once),
                cmocka_unit_test(a_run_of_which_something_was_seen_is_not_repeated),
                cmocka_unit_test(promises_hold_in_every_sequence),
                cmocka_unit_test(cancel_ends_every_state_at_once),
                cmocka_unit_test(a_call_of_a_session_gives_its_sandbox_back),
                cmocka_unit_test(states_have_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
