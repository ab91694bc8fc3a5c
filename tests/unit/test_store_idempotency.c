/* Requests with an Idempotency-Key on disk: begun, answered, forgotten, expired, and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/loop.h"
#include "store/idempotency.h"
#include "store_fixture.h"

#define SUMS_HOLD                                                                                                      \
        "SELECT count(*) FROM (SELECT project_id, count(*) AS keys, sum(bytes) AS bytes FROM idempotency"              \
        " GROUP BY project_id) a JOIN idempotency_usage u USING (project_id) WHERE a.keys <> u.keys"                   \
        " OR a.bytes <> u.bytes"

static const struct store_idempotency_limits plenty = {.keys = 1000, .bytes = 1000000};

/* ---- waiting for the writer */

struct outcome {
        struct store_fixture *f;
        bool done;
        int result;
};

static void on_done(void *data, int result) {
        struct outcome *outcome = data;
        outcome->done = true;
        outcome->result = result;
        loop_quit(outcome->f->loop, 0);
}

static struct store_idempotency new_key(const char *key, int64_t begun_ms) {
        struct store_idempotency what = {.project_id = 1, .begun_ms = begun_ms};
        snprintf(what.key, sizeof(what.key), "%s", key);
        memset(what.digest, 7, sizeof(what.digest));
        return what;
}

static int begin(struct store_fixture *f, const struct store_idempotency *what, int64_t after_ms,
                 struct store_idempotency_limits limits) {
        struct outcome outcome = {.f = f};
        assert_int_equal(store_idempotency_begin(f->store, what, after_ms, limits, on_done, &outcome), 0);
        store_fixture_wait(f, &outcome.done);
        return outcome.result;
}

static int keep(struct store_fixture *f, struct store_idempotency *what, const char *reply) {
        struct outcome outcome = {.f = f};
        what->state = reply ? STORE_IDEMPOTENCY_KEPT : STORE_IDEMPOTENCY_TOO_LARGE;
        what->reply = (char *)(uintptr_t)reply;
        what->reply_length = reply ? strlen(reply) : 99;
        snprintf(what->run_id, sizeof(what->run_id), "run_1");
        snprintf(what->sandbox_id, sizeof(what->sandbox_id), "sbx_1");
        assert_int_equal(store_idempotency_keep(f->store, what, on_done, &outcome), 0);
        store_fixture_wait(f, &outcome.done);
        return outcome.result;
}

static void add(struct store_fixture *f, const char *key, int64_t begun_ms, const char *conversation,
                const char *reply) {
        struct store_idempotency what = new_key(key, begun_ms);
        snprintf(what.conversation, sizeof(what.conversation), "%s", conversation);
        assert_int_equal(begin(f, &what, 0, plenty), 0);
        if (reply)
                assert_int_equal(keep(f, &what, reply), 0);
}

static enum store_idempotency_state state_of(struct store_fixture *f, const char *key) {
        struct store_idempotency got;
        assert_int_equal(store_idempotency_find(f->store, 1, key, 0, &got), 0);
        assert_true((got.reply != NULL) == (got.state == STORE_IDEMPOTENCY_KEPT));
        free(got.reply);
        return got.state;
}

/* ---- */

static void a_reply_is_kept(void **state) {
        struct store_fixture *f = *state;
        struct store_idempotency what = new_key("order-1", 1234), got;
        what.is_stream = true;
        assert_int_equal(store_idempotency_find(f->store, 1, "order-1", 0, &got), STORE_E_NOT_FOUND);
        assert_int_equal(begin(f, &what, 0, plenty), 0);
        store_fixture_reopen(f);
        assert_int_equal(state_of(f, "order-1"), STORE_IDEMPOTENCY_BEGUN);
        assert_int_equal(keep(f, &what, "{\"a\":1}"), 0);

        store_fixture_reopen(f);
        assert_int_equal(store_idempotency_find(f->store, 1, "order-1", 0, &got), 0);
        assert_int_equal(got.state, STORE_IDEMPOTENCY_KEPT);
        assert_string_equal(got.reply, "{\"a\":1}");
        assert_int_equal(got.reply_length, 7);
        assert_string_equal(got.run_id, "run_1");
        assert_string_equal(got.sandbox_id, "sbx_1");
        assert_memory_equal(got.digest, what.digest, sizeof(what.digest));
        assert_true(got.is_stream && got.begun_ms == 1234);
        free(got.reply);
        assert_int_equal(store_idempotency_find(f->store, 2, "order-1", 0, &got), STORE_E_NOT_FOUND);
        assert_int_equal(store_idempotency_find(f->store, 1, "order-1", 1235, &got), STORE_E_NOT_FOUND);
}

static void one_that_is_too_large_is_told(void **state) {
        struct store_fixture *f = *state;
        struct store_idempotency what = new_key("order-1", 1);
        assert_int_equal(begin(f, &what, 0, plenty), 0);
        assert_int_equal(keep(f, &what, NULL), 0);
        assert_int_equal(state_of(f, "order-1"), STORE_IDEMPOTENCY_TOO_LARGE);
}

static void each_project_has_its_own(void **state) {
        struct store_fixture *f = *state;
        struct store_project other;
        struct store_idempotency what = new_key("order-1", 1), got;
        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        add(f, "order-1", 1, "", "{}");
        what.project_id = other.id;
        assert_int_equal(begin(f, &what, 0, plenty), 0);
        assert_int_equal(store_idempotency_find(f->store, other.id, "order-1", 0, &got), 0);
        assert_int_equal(got.state, STORE_IDEMPOTENCY_BEGUN);
        assert_int_equal(state_of(f, "order-1"), STORE_IDEMPOTENCY_KEPT);
}

static void one_that_is_forgotten_may_come_again(void **state) {
        struct store_fixture *f = *state;
        struct outcome outcome = {.f = f};
        struct store_idempotency what = new_key("order-1", 1), got;
        assert_int_equal(begin(f, &what, 0, plenty), 0);
        assert_true(begin(f, &what, 0, plenty) < 0); /* the caller looks first */
        assert_int_equal(store_idempotency_forget(f->store, &what, on_done, &outcome), 0);
        store_fixture_wait(f, &outcome.done);
        assert_int_equal(outcome.result, 0);
        assert_int_equal(store_idempotency_find(f->store, 1, "order-1", 0, &got), STORE_E_NOT_FOUND);
        assert_int_equal(begin(f, &what, 0, plenty), 0);
}

static void one_that_is_too_old_gives_way(void **state) {
        struct store_fixture *f = *state;
        struct store_idempotency what = new_key("order-1", 500), got;
        add(f, "order-1", 100, "", "{}");
        assert_int_equal(begin(f, &what, 101, plenty), 0);
        assert_int_equal(store_idempotency_find(f->store, 1, "order-1", 0, &got), 0);
        assert_true(got.begun_ms == 500 && got.state == STORE_IDEMPOTENCY_BEGUN && !got.reply);
        assert_int_equal(store_fixture_number(f, "SELECT bytes FROM idempotency_usage"), 0);
}

static void a_project_has_so_many(void **state) {
        struct store_fixture *f = *state;
        struct store_idempotency third = new_key("third", 1);
        add(f, "first", 1, "", "{\"long\": \"reply\"}");
        add(f, "second", 1, "", NULL);
        assert_int_equal(begin(f, &third, 0, (struct store_idempotency_limits){2, 1000}), STORE_E_FULL);
        assert_int_equal(begin(f, &third, 0, (struct store_idempotency_limits){3, 17}), STORE_E_FULL);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM idempotency"), 2);
        assert_int_equal(begin(f, &third, 0, (struct store_idempotency_limits){3, 18}), 0);
        assert_int_equal(store_fixture_number(f, SUMS_HOLD), 0);
}

static void old_ones_expire_in_portions(void **state) {
        struct store_fixture *f = *state;
        struct store_idempotency_expiry expiry = {.before_ms = 1000, .more = true};
        int turns = 0;
        store_fixture_sql(f, "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
                             " INSERT INTO idempotency (project_id, key, digest, begun_ms, is_stream, bytes, reply)"
                             " SELECT 1, 'key-' || i, zeroblob(32), 800 + i, 0, 2, x'7b7d' FROM n");
        assert_int_equal(store_fixture_number(f, "SELECT keys + bytes FROM idempotency_usage"), 600);
        for (; expiry.more; turns++) {
                struct outcome outcome = {.f = f};
                assert_int_equal(store_idempotency_expire(f->store, &expiry, on_done, &outcome), 0);
                store_fixture_wait(f, &outcome.done);
                assert_int_equal(outcome.result, 0);
        }
        assert_true(turns > 1);
        assert_int_equal(store_fixture_number(f, "SELECT min(begun_ms) FROM idempotency"), 1000);
        assert_int_equal(store_fixture_number(f, "SELECT keys + bytes FROM idempotency_usage"), 3);
}

/* What was said in a conversation is gone with it; that there was a run is not, as it must not happen twice. */
static void a_deleted_conversation_takes_replies_along(void **state) {
        struct store_fixture *f = *state;
        struct store_idempotency late = new_key("late", 1);
        store_fixture_use(f, "talk");
        add(f, "of-talk", 1, "talk", "{\"secret\": 1}");
        add(f, "of-other", 1, "other", NULL);
        add(f, "of-none", 1, "", "{}");
        strcpy(late.conversation, "talk");
        assert_int_equal(begin(f, &late, 0, plenty), 0);
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), 0);
        assert_int_equal(state_of(f, "of-talk"), STORE_IDEMPOTENCY_DELETED);
        assert_int_equal(state_of(f, "of-none"), STORE_IDEMPOTENCY_KEPT);
        assert_int_equal(state_of(f, "late"), STORE_IDEMPOTENCY_BEGUN);
        assert_int_equal(store_fixture_number(f, "SELECT bytes FROM idempotency_usage"), 2);
        assert_int_equal(keep(f, &late, "{\"secret\": 2}"), 0);
        assert_int_equal(state_of(f, "late"), STORE_IDEMPOTENCY_DELETED);
        assert_int_equal(store_fixture_number(f, SUMS_HOLD), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_reply_is_kept, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(one_that_is_too_large_is_told, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(each_project_has_its_own, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(one_that_is_forgotten_may_come_again, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(one_that_is_too_old_gives_way, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_project_has_so_many, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(old_ones_expire_in_portions, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_deleted_conversation_takes_replies_along, store_set_up,
                                                store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
