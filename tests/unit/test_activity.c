/* What the runs of the last hour were like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/activity.h"

#define NOW INT64_C(1796040000000) /* a whole minute */
#define MINUTE 60000

static struct activity *activity;
static json_t *tree;

static int set_up(void **state) {
        (void)state;
        return activity_new(&activity);
}

static int tear_down(void **state) {
        (void)state;
        activity_free(activity);
        json_decref(tree);
        tree = NULL;
        return 0;
}

static void record(int64_t at, enum outcome outcome, double wall_ms) {
        const struct activity_times times = {.queue_ms = 0.01, .start_ms = wall_ms / 10, .wall_ms = wall_ms};
        activity_record(activity, at, outcome, &times);
}

/* The minute so many before the last one. */
static json_t *minute(int64_t now, size_t before) {
        json_decref(tree);
        tree = activity_json(activity, now);
        json_t *minutes = json_object_get(tree, "minutes");
        assert_int_equal(json_array_size(minutes), ACTIVITY_MINUTES);
        return json_array_get(minutes, ACTIVITY_MINUTES - 1 - before);
}

static int number(json_t *object, const char *name) {
        return (int)json_integer_value(json_object_get(object, name));
}

static double part(json_t *object, const char *name, const char *percentile) {
        return json_real_value(json_object_get(json_object_get(object, name), percentile));
}

static void minutes_are_counted(void **state) {
        (void)state;
        record(NOW - 5 * MINUTE, OUTCOME_OK, 10);
        record(NOW, OUTCOME_OK, 10);
        record(NOW + 59999, OUTCOME_TIMEOUT, 20000);
        json_t *last = minute(NOW + 1, 0);
        assert_string_equal(json_string_value(json_object_get(last, "at")), "2026-11-30T12:00:00Z");
        assert_int_equal(number(last, "runs"), 2);
        assert_int_equal(number(json_object_get(last, "outcomes"), "ok"), 1);
        assert_int_equal(number(json_object_get(last, "outcomes"), "timeout"), 1);
        assert_int_equal(json_object_size(json_object_get(last, "outcomes")), 2);
        assert_int_equal(number(minute(NOW, 5), "runs"), 1);
        json_t *empty = minute(NOW, 3);
        assert_int_equal(number(empty, "runs"), 0);
        assert_true(json_is_null(json_object_get(empty, "wall_ms")));
        /* An hour later nothing is left of them but the count since the start. */
        assert_int_equal(number(minute(NOW + 59 * MINUTE, 59), "runs"), 2);
        assert_int_equal(number(minute(NOW + 60 * MINUTE, 59), "runs"), 0);
        assert_true(json_is_null(json_object_get(json_object_get(tree, "latency"), "wall_ms")));
        assert_int_equal(number(json_object_get(tree, "outcomes"), "ok"), 2);
        assert_int_equal(number(json_object_get(tree, "outcomes"), "killed"), 0);
        assert_int_equal(json_object_size(json_object_get(tree, "outcomes")), OUTCOMES);
}

static void a_place_is_used_again(void **state) {
        (void)state;
        record(NOW, OUTCOME_OK, 1);
        record(NOW + 60 * MINUTE, OUTCOME_ERROR, 1);
        json_t *last = minute(NOW + 60 * MINUTE, 0);
        assert_int_equal(number(last, "runs"), 1);
        assert_int_equal(number(json_object_get(last, "outcomes"), "ok"), 0);
}

static void a_clock_that_goes_back_loses_nothing(void **state) {
        (void)state;
        record(NOW, OUTCOME_OK, 1);
        record(NOW - 30 * MINUTE, OUTCOME_OK, 1);
        assert_int_equal(number(minute(NOW - 30 * MINUTE, 0), "runs"), 2);
}

static void percentiles_are_right_to_a_tenth(void **state) {
        (void)state;
        for (int before = 9; before >= 0; before--)
                for (int i = 10 - before; i <= 1000; i += 10)
                        record(NOW - before * MINUTE, OUTCOME_OK, i);
        minute(NOW, 0);
        json_t *latency = json_object_get(tree, "latency");
        assert_in_range(part(latency, "wall_ms", "p50"), 450, 550);
        assert_in_range(part(latency, "wall_ms", "p95"), 900, 1000);
        assert_in_range(part(latency, "wall_ms", "p99"), 940, 1080);
        assert_in_range(part(latency, "start_ms", "p50"), 45, 55);
        assert_true(part(latency, "queue_ms", "p99") <= 0.1);
        assert_in_range(part(minute(NOW, 3), "wall_ms", "p50"), 430, 570);
}

static void what_did_not_happen_is_not_counted(void **state) {
        const struct activity_times times = {.queue_ms = 4, .start_ms = -1, .wall_ms = 1e9};
        (void)state;
        activity_record(activity, NOW, OUTCOME_INTERNAL, &times);
        json_t *last = minute(NOW, 0);
        assert_true(json_is_null(json_object_get(last, "start_ms")));
        assert_in_range(part(last, "wall_ms", "p50"), 200000, 500000); /* the last class has all that is longer */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(minutes_are_counted, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_place_is_used_again, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_clock_that_goes_back_loses_nothing, set_up, tear_down),
                cmocka_unit_test_setup_teardown(percentiles_are_right_to_a_tenth, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_did_not_happen_is_not_counted, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
