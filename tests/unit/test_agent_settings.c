/* What an agent's settings mean for its runs, whatever stands in the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/agent_settings.h"
#include "base/config.h"
#include "store/agents.h"
#include "store_fixture.h"

static const struct config usual = {.execute_timeout_s = 20, .execute_max_timeout_s = 60};
static const struct config tight = {.execute_timeout_s = 10, .execute_max_timeout_s = 10};

static void set(const struct store_fixture *f, const char *name, const char *value) {
        bool created;
        int64_t project = store_fixture_project(f);
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        assert_int_equal(store_env_set(f->store, project, "a", name, value), 0);
}

static struct agent_settings load(const struct store_fixture *f, const struct config *config) {
        struct agent_settings settings;
        assert_int_equal(agent_settings_load(f->store, config, store_fixture_project(f), "a", &settings), 0);
        return settings;
}

static void without_an_agent_the_platforms_hold(void **state) {
        struct agent_settings settings;
        (void)state;
        agent_settings_init(&usual, &settings);
        assert_false(settings.stateful);
        assert_int_equal(settings.timeout_ms, 20000);
        assert_int_equal(settings.timeout_max_ms, 60000);
        agent_settings_init(&tight, &settings);
        assert_int_equal(settings.timeout_ms, 10000);
        assert_int_equal(settings.timeout_max_ms, 10000);
}

static void an_agents_limit_is_default_and_bound(void **state) {
        const struct store_fixture *f = *state;
        set(f, "OTHER", "true");
        assert_false(load(f, &usual).stateful);
        assert_int_equal(load(f, &usual).timeout_ms, 20000);
        assert_int_equal(load(f, &usual).timeout_max_ms, 20000);
        set(f, AGENT_SETTING_SESSION, "true");
        set(f, AGENT_SETTING_TIMEOUT, "45");
        assert_true(load(f, &usual).stateful);
        assert_int_equal(load(f, &usual).timeout_ms, 45000);
        assert_int_equal(load(f, &usual).timeout_max_ms, 45000);
        assert_int_equal(load(f, &tight).timeout_ms, 10000);
        assert_int_equal(load(f, &tight).timeout_max_ms, 10000);
        assert_int_equal(load(f, &tight).timeout_wanted_ms, 45000);
}

/* Nothing but the service writes there, but a later version may have, or a person. */
static void values_that_mean_nothing_are_passed_over(void **state) {
        static const char *const timeouts[] = {"", "0", "121", "-1", "x", "1.5", "99999999999999999999", "020", " 5"};
        const struct store_fixture *f = *state;
        set(f, AGENT_SETTING_SESSION, "perhaps");
        for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
                set(f, AGENT_SETTING_TIMEOUT, timeouts[i]);
                assert_int_equal(load(f, &usual).timeout_ms, 20000);
                assert_false(load(f, &usual).stateful);
        }
}

static void an_unknown_agent_is_told(void **state) {
        const struct store_fixture *f = *state;
        struct agent_settings settings;
        assert_int_equal(agent_settings_load(f->store, &usual, store_fixture_project(f), "a", &settings),
                         STORE_E_NOT_FOUND);
        set(f, "X", "");
        assert_int_equal(agent_settings_load(f->store, &usual, store_fixture_project(f) + 1, "a", &settings),
                         STORE_E_NOT_FOUND);
}

static void warns_where_a_value_does_less(void **state) {
        char warning[AGENT_WARNING_BYTES];
        struct err e;
        (void)state;
        assert_false(agent_setting_warning(&usual, AGENT_SETTING_TIMEOUT, "60", warning));
        assert_true(agent_setting_warning(&usual, AGENT_SETTING_TIMEOUT, "61", warning));
        assert_non_null(strstr(warning, "stored as 61"));
        assert_true(agent_setting_warning(&tight, AGENT_SETTING_TIMEOUT, "11", warning));
        assert_non_null(strstr(warning, "10 s is the effective limit"));
        assert_false(agent_setting_warning(&usual, AGENT_SETTING_SESSION, "true", warning));
        assert_false(agent_setting_warning(&usual, "OTHER", "61", warning));
        assert_int_equal(agent_setting_check("OTHER", "61.5", &e), 0);
        assert_true(agent_setting_check(AGENT_SETTING_TIMEOUT, "61.5", &e) < 0);
        assert_non_null(strstr(e.message, "\"1\" to \"120\""));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_an_agent_the_platforms_hold),
                cmocka_unit_test_setup_teardown(an_agents_limit_is_default_and_bound, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(values_that_mean_nothing_are_passed_over, store_set_up,
                                                store_tear_down),
                cmocka_unit_test_setup_teardown(an_unknown_agent_is_told, store_set_up, store_tear_down),
                cmocka_unit_test(warns_where_a_value_does_less),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
