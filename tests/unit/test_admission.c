/* Admission: limits, fairness between projects, waiting times; and its promises under random events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/admission.h"

#define S UINT64_C(1000000000)
#define MIB (UINT64_C(1) << 20)

static const struct admission_settings settings = {
        .running_max = 2,
        .queue_max = 4,
        .bytes_max = 100 * MIB,
        .wait_max_ns = 30 * S,
};

static struct admission_ticket *enter(struct admission *admission, struct admission_ticket *ticket, const char *lane,
                                      uint64_t now, int expected) {
        struct admission_ticket *displaced;
        assert_int_equal(admission_enter(admission, ticket, lane, MIB, now, &displaced), expected);
        return displaced;
}

/* Everything that still waits is taken out, so that nothing leaks. */
static void finish(struct admission *admission) {
        while (admission_expired(admission, SCHED_NEVER))
                ;
        admission_deinit(admission);
}

static void runs_at_most_so_many(void **state) {
        struct admission admission;
        struct admission_ticket tickets[3];
        (void)state;
        admission_init(&admission, &settings);
        assert_null(admission_next(&admission));
        for (int i = 0; i < 3; i++)
                enter(&admission, &tickets[i], "p", 0, ADMISSION_WAITS);
        assert_int_equal(admission_demand(&admission), 2);
        assert_ptr_equal(admission_next(&admission), &tickets[0]);
        assert_ptr_equal(admission_next(&admission), &tickets[1]);
        assert_null(admission_next(&admission));
        assert_int_equal(admission_demand(&admission), 0);
        admission_release(&admission, S);
        assert_ptr_equal(admission_next(&admission), &tickets[2]);
        finish(&admission);
}

static void turns_away_when_full(void **state) {
        struct admission admission;
        struct admission_ticket tickets[7];
        (void)state;
        admission_init(&admission, &settings);
        /* Two places are free: those that wait only for a sandbox to be made do not count. */
        for (int i = 0; i < 6; i++)
                enter(&admission, &tickets[i], "p", 0, ADMISSION_WAITS);
        assert_null(enter(&admission, &tickets[6], "p", 0, ADMISSION_FULL));
        assert_int_equal(admission.waiting, 6);
        finish(&admission);
}

static void no_queue_still_serves_up_to_the_limit(void **state) {
        struct admission_settings none = settings;
        struct admission admission;
        struct admission_ticket tickets[3];
        (void)state;
        none.queue_max = 0;
        admission_init(&admission, &none);
        enter(&admission, &tickets[0], "p", 0, ADMISSION_WAITS);
        admission_next(&admission);
        enter(&admission, &tickets[1], "p", 0, ADMISSION_WAITS);
        enter(&admission, &tickets[2], "p", 0, ADMISSION_FULL);
        admission_next(&admission);
        enter(&admission, &tickets[2], "p", 0, ADMISSION_FULL);
        finish(&admission);
}

static void projects_take_turns(void **state) {
        struct admission_settings wide = settings;
        struct admission admission;
        struct admission_ticket a[4], b[2], c[1];
        (void)state;
        wide.running_max = 100;
        admission_init(&admission, &wide);
        for (int i = 0; i < 4; i++)
                enter(&admission, &a[i], "a", 0, ADMISSION_WAITS);
        for (int i = 0; i < 2; i++)
                enter(&admission, &b[i], "b", 1, ADMISSION_WAITS);
        enter(&admission, &c[0], "c", 2, ADMISSION_WAITS);
        struct admission_ticket *expected[] = {&a[0], &b[0], &c[0], &a[1], &b[1], &a[2], &a[3]};
        for (int i = 0; i < 7; i++)
                assert_ptr_equal(admission_next(&admission), expected[i]);
        finish(&admission);
}

static void a_flood_displaces_only_itself(void **state) {
        struct admission admission;
        struct admission_ticket flood[6], other[4];
        (void)state;
        admission_init(&admission, &settings);
        for (int i = 0; i < 6; i++)
                enter(&admission, &flood[i], "flood", 0, ADMISSION_WAITS);
        /* The newcomer of another project takes the place of the flood's youngest, until both have a fair share. */
        assert_ptr_equal(enter(&admission, &other[0], "other", 0, ADMISSION_WAITS), &flood[5]);
        assert_null(flood[5].lane);
        assert_ptr_equal(enter(&admission, &other[1], "other", 0, ADMISSION_WAITS), &flood[4]);
        assert_ptr_equal(enter(&admission, &other[2], "other", 0, ADMISSION_WAITS), &flood[3]);
        assert_null(enter(&admission, &other[3], "other", 0, ADMISSION_FULL));
        assert_null(enter(&admission, &flood[3], "flood", 0, ADMISSION_FULL));
        assert_int_equal(admission.waiting, 6);
        finish(&admission);
}

static void memory_of_waiting_requests_is_bounded(void **state) {
        struct admission admission;
        struct admission_ticket tickets[3], *displaced;
        (void)state;
        admission_init(&admission, &settings);
        assert_int_equal(admission_enter(&admission, &tickets[0], "a", 300 * MIB, 0, &displaced), ADMISSION_WAITS);
        assert_int_equal(admission_enter(&admission, &tickets[1], "b", MIB, 0, &displaced), ADMISSION_FULL);
        admission_next(&admission);
        assert_int_equal(admission.waiting_bytes, 0);
        assert_int_equal(admission_enter(&admission, &tickets[1], "b", 60 * MIB, 0, &displaced), ADMISSION_WAITS);
        assert_int_equal(admission_enter(&admission, &tickets[2], "b", 60 * MIB, 0, &displaced), ADMISSION_FULL);
        finish(&admission);
}

static void nobody_waits_for_ever(void **state) {
        struct admission admission;
        struct admission_ticket tickets[3];
        (void)state;
        admission_init(&admission, &settings);
        assert_int_equal(admission_next_ns(&admission), SCHED_NEVER);
        assert_null(admission_expired(&admission, SCHED_NEVER));
        enter(&admission, &tickets[0], "a", 5 * S, ADMISSION_WAITS);
        enter(&admission, &tickets[1], "b", 3 * S, ADMISSION_WAITS);
        enter(&admission, &tickets[2], "b", 9 * S, ADMISSION_WAITS);
        assert_int_equal(admission_next_ns(&admission), 33 * S);
        assert_null(admission_expired(&admission, 33 * S - 1));
        assert_ptr_equal(admission_expired(&admission, 36 * S), &tickets[1]);
        assert_ptr_equal(admission_expired(&admission, 36 * S), &tickets[0]);
        assert_null(admission_expired(&admission, 36 * S));
        assert_int_equal(admission.expired_total, 2);
        finish(&admission);
}

static void a_second_try_goes_first_and_keeps_its_time(void **state) {
        struct admission admission;
        struct admission_ticket tickets[2];
        (void)state;
        admission_init(&admission, &settings);
        enter(&admission, &tickets[0], "a", 1 * S, ADMISSION_WAITS);
        enter(&admission, &tickets[1], "a", 2 * S, ADMISSION_WAITS);
        assert_ptr_equal(admission_next(&admission), &tickets[0]);
        admission_release(&admission, S);
        assert_int_equal(admission_return(&admission, &tickets[0], "a"), 0);
        assert_int_equal(admission_next_ns(&admission), 31 * S);
        assert_ptr_equal(admission_next(&admission), &tickets[0]);
        assert_ptr_equal(admission_next(&admission), &tickets[1]);
        finish(&admission);
}

static void a_cancelled_one_is_out(void **state) {
        struct admission admission;
        struct admission_ticket tickets[3];
        (void)state;
        admission_init(&admission, &settings);
        for (int i = 0; i < 3; i++)
                enter(&admission, &tickets[i], "a", 0, ADMISSION_WAITS);
        admission_cancel(&admission, &tickets[1]);
        admission_cancel(&admission, &tickets[1]);
        assert_ptr_equal(admission_next(&admission), &tickets[0]);
        assert_ptr_equal(admission_next(&admission), &tickets[2]);
        assert_int_equal(admission.waiting, 0);
        finish(&admission);
}

static void retry_after_grows_with_the_queue(void **state) {
        struct admission_settings deep = settings;
        struct admission admission;
        struct admission_ticket tickets[400];
        (void)state;
        deep.queue_max = 400;
        deep.bytes_max = SCHED_NEVER / 2;
        admission_init(&admission, &deep);
        assert_int_equal(admission_retry_after_s(&admission), 1);
        for (int i = 0; i < 9; i++)
                enter(&admission, &tickets[i], "a", 0, ADMISSION_WAITS);
        assert_int_equal(admission_retry_after_s(&admission), 5); /* 2 at a time, a second each */
        for (int i = 9; i < 400; i++)
                enter(&admission, &tickets[i], "a", 0, ADMISSION_WAITS);
        assert_int_equal(admission_retry_after_s(&admission), 60);
        finish(&admission);
}

/* Each ticket is either waiting, running, or out, and never two of them; the limits hold; a lane is first in, first
 * out. */
static void promises_hold_under_random_events(void **state) {
        enum { TICKETS = 60, LANES = 5 };
        struct admission admission;
        struct admission_ticket tickets[TICKETS];
        int where[TICKETS], lane_of[TICKETS]; /* 0: out, 1: waiting, 2: running */
        uint64_t entered[TICKETS], now = 0, order = 0;
        (void)state;
        srand(11);
        admission_init(&admission, &settings);
        memset(where, 0, sizeof(where));
        for (int i = 0; i < 50000; i++) {
                int t = rand() % TICKETS;
                char lane[8];
                struct admission_ticket *ticket = NULL;
                now += (uint64_t)(rand() % 3) * S;
                switch (rand() % 6) {
                case 0:
                case 1:
                        if (where[t])
                                break;
                        lane_of[t] = rand() % LANES;
                        snprintf(lane, sizeof(lane), "lane%d", lane_of[t]);
                        if (admission_enter(&admission, &tickets[t], lane, MIB, now, &ticket) == ADMISSION_WAITS) {
                                where[t] = 1;
                                entered[t] = ++order;
                        }
                        if (ticket)
                                where[ticket - tickets] = 0;
                        break;
                case 2:
                        ticket = admission_next(&admission);
                        if (!ticket)
                                break;
                        t = (int)(ticket - tickets);
                        assert_int_equal(where[t], 1);
                        where[t] = 2;
                        for (int j = 0; j < TICKETS; j++)
                                assert_false(where[j] == 1 && lane_of[j] == lane_of[t] && entered[j] < entered[t]);
                        break;
                case 3:
                        if (where[t] == 2) {
                                admission_release(&admission, S);
                                where[t] = 0;
                        }
                        break;
                case 4:
                        if (where[t] == 1) {
                                admission_cancel(&admission, &tickets[t]);
                                where[t] = 0;
                        }
                        break;
                default:
                        while ((ticket = admission_expired(&admission, now))) {
                                assert_int_equal(where[ticket - tickets], 1);
                                assert_true(ticket->entered_ns + settings.wait_max_ns <= now);
                                where[ticket - tickets] = 0;
                        }
                }
                unsigned count[3] = {0};
                for (int j = 0; j < TICKETS; j++)
                        count[where[j]]++;
                assert_int_equal(admission.waiting, count[1]);
                assert_int_equal(admission.running, count[2]);
                assert_int_equal(admission.waiting_bytes, count[1] * MIB);
                assert_true(count[2] <= settings.running_max);
                assert_true(count[1] <= settings.queue_max + settings.running_max);
                assert_int_equal(admission.turn == NULL, count[1] == 0);
        }
        finish(&admission);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(runs_at_most_so_many),
                cmocka_unit_test(turns_away_when_full),
                cmocka_unit_test(no_queue_still_serves_up_to_the_limit),
                cmocka_unit_test(projects_take_turns),
                cmocka_unit_test(a_flood_displaces_only_itself),
                cmocka_unit_test(memory_of_waiting_requests_is_bounded),
                cmocka_unit_test(nobody_waits_for_ever),
                cmocka_unit_test(a_second_try_goes_first_and_keeps_its_time),
                cmocka_unit_test(a_cancelled_one_is_out),
                cmocka_unit_test(retry_after_grows_with_the_queue),
                cmocka_unit_test(promises_hold_under_random_events),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
