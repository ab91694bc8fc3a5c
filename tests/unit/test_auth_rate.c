/* How often a key may ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/ratelimit.h"
#include "base/loop.h"

#define START (1000 * NS_PER_S)
#define MINUTE (60 * NS_PER_S)

static void allows_so_many_a_minute(void **state) {
        struct ratelimit *limit;
        (void)state;
        assert_int_equal(ratelimit_new(10, &limit), 0);
        for (int i = 0; i < 10; i++)
                assert_int_equal(ratelimit_take(limit, 1, START), 0);
        assert_int_equal(ratelimit_take(limit, 1, START), 6 * NS_PER_S);
        assert_int_equal(ratelimit_take(limit, 1, START + 5 * NS_PER_S), 1 * NS_PER_S);
        /* Asking in vain costs nothing. */
        assert_int_equal(ratelimit_take(limit, 1, START + 6 * NS_PER_S), 0);
        assert_int_equal(ratelimit_take(limit, 1, START + 6 * NS_PER_S), 6 * NS_PER_S);
        ratelimit_free(limit);
}

static void fills_up_and_no_further(void **state) {
        struct ratelimit *limit;
        (void)state;
        assert_int_equal(ratelimit_new(3, &limit), 0);
        assert_int_equal(ratelimit_take(limit, 1, START), 0);
        for (int i = 0; i < 3; i++)
                assert_int_equal(ratelimit_take(limit, 1, START + 100 * MINUTE), 0);
        assert_int_not_equal(ratelimit_take(limit, 1, START + 100 * MINUTE), 0);
        ratelimit_free(limit);
}

static void counts_each_key_by_itself(void **state) {
        struct ratelimit *limit;
        (void)state;
        assert_int_equal(ratelimit_new(1, &limit), 0);
        for (int64_t key = 1; key <= 500; key++)
                assert_int_equal(ratelimit_take(limit, key, START), 0);
        for (int64_t key = 1; key <= 500; key++)
                assert_int_equal(ratelimit_take(limit, key, START), MINUTE);
        /* Old buckets were full again, and made room. */
        for (int64_t key = 501; key <= 1000; key++)
                assert_int_equal(ratelimit_take(limit, key, START + 2 * MINUTE), 0);
        assert_int_equal(ratelimit_take(limit, 1, START + 2 * MINUTE), 0);
        ratelimit_free(limit);
}

static void holds_over_many_minutes(void **state) {
        struct ratelimit *limit;
        unsigned taken = 0;
        (void)state;
        assert_int_equal(ratelimit_new(60, &limit), 0);
        for (uint64_t at = 0; at < 10 * MINUTE; at += 100 * NS_PER_MS)
                taken += ratelimit_take(limit, 1, START + at) == 0;
        assert_in_range(taken, 600, 660); /* one a second, and the full bucket at the start */
        ratelimit_free(limit);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(allows_so_many_a_minute),
                cmocka_unit_test(fills_up_and_no_further),
                cmocka_unit_test(counts_each_key_by_itself),
                cmocka_unit_test(holds_over_many_minutes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
