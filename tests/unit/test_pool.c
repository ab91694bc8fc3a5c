/* The warm pool: size, pauses, retirement; and its counters under random events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sched/pool.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static const struct pool_settings settings = {
        .target = 3,
        .total_max = 10,
        .creating_max = 4,
        .age_max_ns = 60 * S,
        .backoff_first_ns = 100 * MS,
        .backoff_max_ns = 1000 * MS,
        .settled_ns = 1 * S,
        .quiet_ns = 20 * MS,
};

static unsigned create_all(struct pool *pool, uint32_t demand, uint64_t now_ns) {
        unsigned count = 0;
        while (pool_create_wanted(pool, demand, now_ns)) {
                pool_creating(pool);
                assert_true(++count < 100);
        }
        return count;
}

static void start(struct pool *pool, struct pool_member *members, unsigned count) {
        pool_init(pool, &settings);
        pool_set_open(pool, true);
        for (unsigned i = 0; i < count; i++) {
                pool_creating(pool);
                pool_ready(pool, &members[i], i * S);
        }
}

static void fills_to_target_and_no_further(void **state) {
        struct pool pool;
        (void)state;
        pool_init(&pool, &settings);
        assert_int_equal(create_all(&pool, 0, 0), 0); /* closed as long as the template does not serve */
        pool_set_open(&pool, true);
        assert_int_equal(create_all(&pool, 0, 0), 3);
        assert_int_equal(create_all(&pool, 0, 0), 0);
}

static void makes_one_for_each_that_waits(void **state) {
        struct pool pool;
        struct pool_member members[3];
        (void)state;
        start(&pool, members, 3);
        assert_int_equal(create_all(&pool, 0, 0), 0);
        for (int i = 0; i < 3; i++)
                assert_non_null(pool_lease(&pool, 0));
        assert_null(pool_lease(&pool, 0));
        assert_int_equal(create_all(&pool, 2, 0), 2); /* for those that wait, */
        assert_int_equal(create_all(&pool, 2, 20 * MS),
                         2); /* and three more are wanted, but only four made at a time */
        assert_int_equal(pool.leased, 3);
}

static void a_replacement_waits_for_the_run_but_not_for_ever(void **state) {
        struct pool pool;
        struct pool_member members[3];
        (void)state;
        start(&pool, members, 3);
        pool_lease(&pool, 5 * S);
        assert_int_equal(create_all(&pool, 0, 5 * S), 0);
        assert_int_equal(pool_next_ns(&pool, 0, 5 * S), 5 * S + 20 * MS);
        assert_int_equal(create_all(&pool, 3, 5 * S), 1);           /* for the third that waits: two are parked */
        assert_int_equal(create_all(&pool, 0, 5 * S + 20 * MS), 0); /* and that one is the replacement now */

        pool_lease(&pool, 6 * S);
        assert_int_equal(create_all(&pool, 0, 6 * S), 0);
        pool_gone(&pool, &members[1], 6 * S + 3 * MS); /* its run is over */
        assert_int_equal(create_all(&pool, 0, 6 * S + 3 * MS), 1);

        pool_lease(&pool, 7 * S);
        assert_int_equal(create_all(&pool, 0, 7 * S + 20 * MS), 1); /* a long run */
}

static void a_replacement_waits_for_what_is_kept_but_not_for_ever(void **state) {
        struct pool pool;
        struct pool_member members[3];
        (void)state;
        start(&pool, members, 3);
        pool_lease(&pool, 5 * S);
        pool_gone(&pool, &members[0], 5 * S + 3 * MS);
        pool_hold(&pool, 5 * S + 3 * MS);
        assert_int_equal(create_all(&pool, 0, 5 * S + 4 * MS), 0);
        assert_int_equal(pool_next_ns(&pool, 0, 5 * S + 4 * MS), 5 * S + 23 * MS);
        pool_release(&pool, 5 * S + 8 * MS);
        assert_int_equal(create_all(&pool, 0, 5 * S + 8 * MS), 1);

        pool_lease(&pool, 6 * S);
        pool_lease(&pool, 6 * S);
        pool_hold(&pool, 6 * S);
        pool_gone(&pool, &members[1], 6 * S + 5 * MS);
        pool_hold(&pool, 6 * S + 5 * MS);
        pool_release(&pool, 6 * S + 6 * MS); /* one of two */
        assert_int_equal(create_all(&pool, 0, 6 * S + 7 * MS), 0);
        assert_true(create_all(&pool, 0, 6 * S + 25 * MS) > 0); /* a disk that is slow */
        pool_release(&pool, 6 * S + 90 * MS);
}

static void stays_below_the_total(void **state) {
        struct pool pool;
        struct pool_member members[9];
        (void)state;
        start(&pool, members, 9);
        for (int i = 0; i < 9; i++)
                pool_lease(&pool, 0);
        assert_int_equal(create_all(&pool, 5, S), 1);
}

static void hands_out_the_oldest(void **state) {
        struct pool pool;
        struct pool_member members[3];
        (void)state;
        start(&pool, members, 3);
        pool_gone(&pool, &members[1], 100 * S);
        assert_ptr_equal(pool_lease(&pool, 0), &members[0]);
        assert_ptr_equal(pool_lease(&pool, 0), &members[2]);
        assert_null(pool_lease(&pool, 0));
}

static void pauses_longer_with_each_failure(void **state) {
        struct pool pool;
        uint64_t now = 10 * S, pauses[] = {100, 200, 400, 800, 1000, 1000};
        (void)state;
        pool_init(&pool, &settings);
        pool_set_open(&pool, true);
        for (unsigned i = 0; i < 6; i++) {
                assert_true(pool_create_wanted(&pool, 0, now));
                pool_creating(&pool);
                assert_true(i == 0 || !pool_create_wanted(&pool, 0, now)); /* one at a time now */
                pool_failed(&pool, now);
                assert_int_equal(pool_next_ns(&pool, 0, now), now + pauses[i] * MS);
                assert_false(pool_create_wanted(&pool, 5, now + pauses[i] * MS - 1));
                now += pauses[i] * MS;
        }
        pool_encourage(&pool); /* a new template */
        assert_int_equal(create_all(&pool, 0, now), 3);
}

static void a_useful_sandbox_ends_the_pause(void **state) {
        struct pool pool;
        struct pool_member member;
        (void)state;
        pool_init(&pool, &settings);
        pool_set_open(&pool, true);
        pool_creating(&pool);
        pool_creating(&pool);
        pool_failed(&pool, 0);
        pool_ready(&pool, &member, 1);
        assert_false(pool_create_wanted(&pool, 0, 2));
        pool_lease(&pool, 0);
        assert_true(pool_create_wanted(&pool, 0, 20 * MS));
}

static void one_that_dies_young_counts_as_a_failure(void **state) {
        struct pool pool;
        struct pool_member members[3];
        (void)state;
        start(&pool, members, 3); /* ready at 0, 1 and 2 s */
        pool_gone(&pool, &members[2], 2 * S + 999 * MS);
        assert_false(pool_create_wanted(&pool, 0, 3 * S));
        assert_true(pool_create_wanted(&pool, 0, 4 * S));
        pool_encourage(&pool);
        pool_gone(&pool, &members[1], 4 * S);
        assert_true(pool_create_wanted(&pool, 0, 4 * S));
}

static void retires_one_at_a_time(void **state) {
        struct pool pool;
        struct pool_member members[3];
        (void)state;
        start(&pool, members, 3);
        assert_int_equal(pool_next_ns(&pool, 0, 5 * S), 60 * S);
        assert_null(pool_overdue(&pool, 60 * S - 1));
        assert_ptr_equal(pool_overdue(&pool, 70 * S), &members[0]);
        assert_null(pool_overdue(&pool, 70 * S));
        assert_int_equal(create_all(&pool, 0, 70 * S), 1); /* its replacement at once */
        pool_gone(&pool, &members[0], 70 * S);
        assert_ptr_equal(pool_overdue(&pool, 70 * S), &members[1]);
}

static void stops(void **state) {
        struct pool pool;
        struct pool_member members[3], *member;
        unsigned count = 0;
        (void)state;
        start(&pool, members, 3);
        pool_stop(&pool);
        while ((member = pool_overdue(&pool, 0)))
                count++;
        assert_int_equal(count, 3);
        assert_int_equal(create_all(&pool, 9, 0), 0);
        assert_false(pool_empty(&pool));
        for (int i = 0; i < 3; i++)
                pool_gone(&pool, &members[i], 0);
        assert_true(pool_empty(&pool));
}

/* Whatever happens in whatever order, the counters are those of a simple model and the limits hold. */
static void counts_right_under_random_events(void **state) {
        enum { SLOTS = 16 };
        struct pool pool;
        struct pool_member members[SLOTS];
        int what[SLOTS]; /* 0: none, else enum pool_state */
        unsigned creating = 0;
        uint64_t now = 0;
        (void)state;
        srand(7);
        for (int round = 0; round < 200; round++) {
                pool_init(&pool, &settings);
                pool_set_open(&pool, true);
                for (int i = 0; i < SLOTS; i++)
                        what[i] = 0;
                creating = 0;
                for (int i = 0; i < 300; i++) {
                        int slot = rand() % SLOTS;
                        now += (uint64_t)(rand() % 2000) * MS;
                        switch (rand() % 6) {
                        case 0:
                                creating += create_all(&pool, (uint32_t)(rand() % 8), now);
                                break;
                        case 1:
                                if (creating > 0 && !what[slot]) {
                                        pool_ready(&pool, &members[slot], now);
                                        what[slot] = POOL_PARKED;
                                        creating--;
                                }
                                break;
                        case 2:
                                if (creating > 0) {
                                        pool_failed(&pool, now);
                                        creating--;
                                }
                                break;
                        case 3: {
                                struct pool_member *member = pool_lease(&pool, now);
                                if (member)
                                        what[member - members] = POOL_LEASED;
                                break;
                        }
                        case 4: {
                                struct pool_member *member = pool_overdue(&pool, now);
                                if (member)
                                        what[member - members] = POOL_RETIRING;
                                break;
                        }
                        default:
                                if (what[slot]) {
                                        pool_gone(&pool, &members[slot], now);
                                        what[slot] = 0;
                                }
                        }
                        unsigned count[4] = {0};
                        for (int j = 0; j < SLOTS; j++)
                                count[what[j]]++;
                        assert_int_equal(pool.parked, count[POOL_PARKED]);
                        assert_int_equal(pool.leased, count[POOL_LEASED]);
                        assert_int_equal(pool.retiring, count[POOL_RETIRING]);
                        assert_int_equal(pool.creating, creating);
                        assert_true(pool.creating <= settings.creating_max);
                        assert_true(pool.parked + pool.leased + pool.retiring + pool.creating <= settings.total_max);
                        assert_true(pool_next_ns(&pool, 1, now) > now || pool.oldest);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(fills_to_target_and_no_further),
                cmocka_unit_test(makes_one_for_each_that_waits),
                cmocka_unit_test(a_replacement_waits_for_the_run_but_not_for_ever),
                cmocka_unit_test(a_replacement_waits_for_what_is_kept_but_not_for_ever),
                cmocka_unit_test(stays_below_the_total),
                cmocka_unit_test(hands_out_the_oldest),
                cmocka_unit_test(pauses_longer_with_each_failure),
                cmocka_unit_test(a_useful_sandbox_ends_the_pause),
                cmocka_unit_test(one_that_dies_young_counts_as_a_failure),
                cmocka_unit_test(retires_one_at_a_time),
                cmocka_unit_test(stops),
                cmocka_unit_test(counts_right_under_random_events),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
