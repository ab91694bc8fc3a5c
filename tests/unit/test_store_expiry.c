/* Idle conversations: found, and removed unless they are used meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"
#include "store/conversations.h"
#include "store_fixture.h"

#define FUTURE INT64_MAX

struct outcome {
        struct store_fixture *f;
        int pending, results[4];
        int expired, conflicts;
        bool done;
};

static void on_expired(void *data, int result) {
        struct outcome *outcome = data;
        if (result == 0)
                outcome->expired++;
        else if (result == STORE_E_CONFLICT)
                outcome->conflicts++;
        outcome->done = --outcome->pending == 0;
        if (outcome->done)
                loop_quit(outcome->f->loop, 0);
}

static void expire(struct outcome *outcome, const struct store_idle *which) {
        outcome->pending++;
        outcome->done = false;
        assert_int_equal(store_conversation_expire(outcome->f->store, which, on_expired, outcome), 0);
}

static void age(const struct store_fixture *f) {
        if (f->store)
                store_settle(f->store);
        store_fixture_sql(f, "UPDATE conversations SET active_ms = 1000 + id, created_ms = 1");
}

static void the_longest_idle_come_first(void **state) {
        struct store_fixture *f = *state;
        struct store_idle idle[4];
        store_fixture_use(f, "a");
        int64_t b = store_fixture_use(f, "b");
        store_fixture_use(f, "c");
        assert_int_equal(store_conversation_idle(f->store, 1000, idle, 4), 0);
        age(f);
        store_fixture_sql(f, "UPDATE conversations SET active_ms = 7 WHERE name = 'b'");
        assert_int_equal(store_conversation_idle(f->store, FUTURE, idle, 4), 3);
        assert_string_equal(idle[0].name, "b");
        assert_true(idle[0].conversation_id == b && idle[0].active_ms == 7 && idle[0].project_id == 1);
        assert_string_equal(idle[1].name, "a");
        assert_int_equal(store_conversation_idle(f->store, FUTURE, idle, 2), 2);
        assert_int_equal(store_conversation_idle(f->store, 8, idle, 4), 1);
        assert_int_equal(store_conversation_idle(f->store, 7, idle, 4), 0);
}

/* The use is in memory only, and the time on the disk is old. */
static void one_that_is_in_use_is_not_idle(void **state) {
        struct store_fixture *f = *state;
        struct store_idle idle[4];
        store_fixture_use(f, "a");
        store_fixture_use(f, "b");
        age(f);
        store_fixture_use(f, "a");
        assert_int_equal(store_conversation_idle(f->store, 100000, idle, 1), 1);
        assert_string_equal(idle[0].name, "b");
        assert_int_equal(store_conversation_idle(f->store, 100000, idle, 4), 1);
}

static void expires_with_all_that_it_has(void **state) {
        struct store_fixture *f = *state;
        struct outcome outcome = {.f = f};
        struct store_conversation there;
        struct store_usage usage;
        struct store_idle idle;
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "text");
        age(f);
        assert_int_equal(store_conversation_idle(f->store, 100000, &idle, 1), 1);
        expire(&outcome, &idle);
        assert_int_equal(store_conversation_idle(f->store, 100000, &idle, 1), 0);
        store_fixture_wait(f, &outcome.done);
        assert_int_equal(outcome.expired, 1);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), STORE_E_NOT_FOUND);
        assert_int_equal(store_usage_get(f->store, 1, &usage), 0);
        assert_true(usage.files == 0 && usage.bytes == 0);
        store_settle(f->store);
        assert_int_equal(store_fixture_blobs(f, NULL), 0);
}

static void not_after_a_use(void **state) {
        struct store_fixture *f = *state;
        struct outcome outcome = {.f = f};
        struct store_idle idle[3];
        store_fixture_use(f, "used");
        store_fixture_use(f, "run");
        store_fixture_use(f, "deleted");
        age(f);
        assert_int_equal(store_conversation_idle(f->store, 100000, idle, 3), 3);
        store_fixture_use(f, "used");
        store_fixture_save_one(f, "run", 1, "a.txt", "text");
        assert_int_equal(store_conversation_delete(f->store, 1, "deleted"), 0);
        for (size_t i = 0; i < 3; i++)
                expire(&outcome, &idle[i]);
        store_fixture_wait(f, &outcome.done);
        assert_int_equal(outcome.conflicts, 3);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM conversations WHERE name IS NOT NULL"), 2);
}

/* The writer is asked to remove it, and then it is used: it is either kept or made anew, and there in any case. */
static void a_use_while_it_expires(void **state) {
        struct store_fixture *f = *state;
        for (int i = 0; i < 50; i++) {
                struct outcome outcome = {.f = f};
                struct store_conversation there;
                struct store_idle idle;
                int64_t before = store_fixture_use(f, "talk");
                store_fixture_close(f);
                age(f);
                store_fixture_open(f);
                assert_int_equal(store_conversation_idle(f->store, 100000, &idle, 1), 1);
                expire(&outcome, &idle);
                if (i % 2)
                        usleep((useconds_t)i * 10);
                int64_t used = store_fixture_use(f, "talk");
                store_fixture_wait(f, &outcome.done);
                assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), 0);
                assert_int_equal(there.id, used);
                assert_int_equal(used == before, outcome.conflicts == 1);
                assert_int_equal(used != before, outcome.expired == 1);
        }
}

/* Each of them is small; what takes long is done in portions, and other calls get through in between. */
static void thousands_expire_without_a_pause(void **state) {
        struct store_fixture *f = *state;
        struct outcome outcome = {.f = f};
        enum { MANY = 3000, AT_ONCE = 100 };
        struct store_idle *idle = calloc(AT_ONCE, sizeof(*idle));
        uint64_t longest = 0;
        int total = 0, count;
        assert_non_null(idle);
        store_fixture_sql(f, "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
                             " INSERT INTO conversations (project_id, name, created_ms, active_ms)"
                             " SELECT 1, 'talk-' || i, 1, 1000 + i FROM n;"
                             "INSERT INTO runs SELECT id, 'run_' || id, id, '', '', 'ok', 0, 0, 1, 1, 1, 1, 0, 0, ''"
                             " FROM conversations;"
                             "INSERT INTO run_details SELECT id, zeroblob(2000), zeroblob(8000) FROM runs");
        while ((count = store_conversation_idle(f->store, 100000, idle, AT_ONCE)) > 0) {
                uint64_t before = clock_now_ns();
                for (int i = 0; i < count; i++)
                        expire(&outcome, &idle[i]);
                store_fixture_use(f, "beside");
                uint64_t took = clock_now_ns() - before;
                longest = took > longest ? took : longest;
                store_fixture_wait(f, &outcome.done);
                total += count;
        }
        free(idle);
        assert_int_equal(total, MANY);
        assert_int_equal(outcome.expired, MANY);
        assert_true(longest < NS_PER_S);
        store_settle(f->store);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 0);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM conversations"), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_longest_idle_come_first, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(one_that_is_in_use_is_not_idle, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(expires_with_all_that_it_has, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(not_after_a_use, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_use_while_it_expires, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(thousands_expire_without_a_pause, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
