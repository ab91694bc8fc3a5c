/* Slowing down those who try keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/console_attempts.h"
#include "base/loop.h"

#define START (1000 * NS_PER_S)

static struct console_attempts *attempts;

static int set_up(void **state) {
        (void)state;
        return console_attempts_new(&attempts);
}

static int tear_down(void **state) {
        (void)state;
        console_attempts_free(attempts);
        return 0;
}

static void waits_grow_up_to_a_minute(void **state) {
        static const uint64_t waits[] = {0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
        uint64_t now = START;
        (void)state;
        for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
                assert_true(console_attempts_wait_ns(attempts, "10.0.0.1", now) == 0);
                console_attempts_failed(attempts, "10.0.0.1", now);
                assert_true(console_attempts_wait_ns(attempts, "10.0.0.1", now) == waits[i] * NS_PER_S);
                now += waits[i] * NS_PER_S;
        }
        for (int i = 0; i < 100000; i++)
                console_attempts_failed(attempts, "10.0.0.1", now);
        assert_true(console_attempts_wait_ns(attempts, "10.0.0.1", now) == 60 * NS_PER_S);
        assert_true(console_attempts_wait_ns(attempts, "10.0.0.2", now) == 0);
}

static void forgets_after_a_while(void **state) {
        uint64_t later = START + CONSOLE_ATTEMPTS_FORGET_S * NS_PER_S;
        (void)state;
        for (int i = 0; i < 20; i++)
                console_attempts_failed(attempts, "10.0.0.1", START);
        console_attempts_failed(attempts, "10.0.0.1", later - 1);
        assert_true(console_attempts_wait_ns(attempts, "10.0.0.1", later - 1) == 60 * NS_PER_S);
        later += CONSOLE_ATTEMPTS_FORGET_S * NS_PER_S;
        console_attempts_failed(attempts, "10.0.0.1", later);
        assert_true(console_attempts_wait_ns(attempts, "10.0.0.1", later) == 0);
}

static bool slowed(const char *address) {
        return console_attempts_wait_ns(attempts, address, START) > 0;
}

static void a_network_of_ipv6_is_one_address(void **state) {
        (void)state;
        for (int i = 0; i < CONSOLE_ATTEMPTS_FREE; i++) {
                char address[64];
                snprintf(address, sizeof(address), "2001:db8:1:2::%d", i);
                console_attempts_failed(attempts, address, START);
                console_attempts_failed(attempts, "::ffff:10.1.2.3", START);
        }
        assert_true(slowed("2001:db8:1:2:ffff::1"));
        assert_false(slowed("2001:db8:1:3::1"));
        assert_true(slowed("10.1.2.3"));
        assert_true(slowed("::ffff:10.1.2.3"));
        assert_false(slowed("::ffff:10.1.2.4"));
}

static void many_addresses_need_no_more_memory(void **state) {
        char address[32];
        (void)state;
        for (int i = 0; i < 6; i++)
                console_attempts_failed(attempts, "10.0.0.1", START - 1);
        for (int i = 0; i < 10000; i++) {
                snprintf(address, sizeof(address), "10.1.%d.%d", i / 250, i % 250);
                console_attempts_failed(attempts, address, START + (uint64_t)i);
        }
        for (int i = 0; i < CONSOLE_ATTEMPTS_FREE; i++)
                console_attempts_failed(attempts, address, START);
        assert_true(slowed(address));
        assert_false(slowed("10.0.0.1")); /* it was the longest ago */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(waits_grow_up_to_a_minute, set_up, tear_down),
                cmocka_unit_test_setup_teardown(forgets_after_a_while, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_network_of_ipv6_is_one_address, set_up, tear_down),
                cmocka_unit_test_setup_teardown(many_addresses_need_no_more_memory, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
