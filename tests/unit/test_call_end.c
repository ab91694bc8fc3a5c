/* How a call ended, from the runner's last word and the end of its process together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/call_end.h"
#include "run/json_out.h"
#include "spawn/frames.h"

struct judged {
        bool good;
        struct call_facts facts;
        struct call_error error;
};

/* `said`: the payload; NULL: none came. */
static struct judged judge(const char *said, enum spawn_end reason, int wait_status) {
        struct call_end end = {.bytes = NULL};
        struct judged judged = {.facts = {.outcome = outcome_from(reason, wait_status, true),
                                          .wait_status = wait_status,
                                          .timeout_ms = 1500,
                                          .memory_bytes = CALL_MEMORY_BYTES,
                                          .output_max_bytes = 4096,
                                          .started = true}};
        if (said)
                call_end_take(&end, said, strlen(said));
        judged.good = call_end_judge(&end, &end.result, &judged.facts, &judged.error);
        call_end_deinit(&end);
        return judged;
}

static void assert_failed(struct judged judged, enum outcome outcome, int exit_code, const char *type,
                          const char *words) {
        assert_false(judged.good);
        assert_int_equal(judged.facts.outcome.outcome, outcome);
        assert_int_equal(judged.facts.outcome.exit_code, exit_code);
        assert_string_equal(judged.error.type, type);
        if (!strstr(judged.error.message, words))
                fail_msg("%s", judged.error.message);
        call_error_deinit(&judged.error);
}

static void a_result_counts_if_the_process_ended_well(void **state) {
        (void)state;
        struct judged judged = judge("{\"result\": [1, null]}", SPAWN_END_EXIT, 0);
        assert_true(judged.good);
        assert_int_equal(judged.facts.outcome.outcome, OUTCOME_OK);
        assert_failed(judge("{\"result\": 1}", SPAWN_END_EXIT, 3 << 8), OUTCOME_ERROR, 3, "SandboxError",
                      "exit code 3 after the function returned");
        assert_failed(judge("{\"result\": 1}", SPAWN_END_EXIT, 11), OUTCOME_ERROR, 139, "SandboxError", "SIGSEGV");
        assert_failed(judge("{\"result\": 1}", SPAWN_END_TIMEOUT, 9), OUTCOME_TIMEOUT, -1, "SandboxError", "1.5 s");
        assert_failed(judge("{\"result\": 1}", SPAWN_END_MEMORY, 9), OUTCOME_OUT_OF_MEMORY, 137, "SandboxError",
                      "1024 MiB");
}

static void an_error_is_told_on(void **state) {
        static const char said[] = "{\"error\": {\"type\": \"ValueError\", \"message\": \"no\", \"traceback\": \"T\","
                                   " \"builtin\": true}}";
        (void)state;
        struct judged judged = judge(said, SPAWN_END_EXIT, 1 << 8);
        assert_true(judged.error.builtin);
        assert_string_equal(judged.error.traceback, "T");
        assert_failed(judged, OUTCOME_ERROR, 1, "ValueError", "no");
        assert_failed(judge(said, SPAWN_END_EXIT, 0), OUTCOME_ERROR, 1, "ValueError", "no"); /* no success for that */
        assert_failed(judge("{\"error\": {\"type\": 5}}", SPAWN_END_EXIT, 1 << 8), OUTCOME_ERROR, 1, "SandboxError",
                      "runner");
}

static void no_word_is_explained(void **state) {
        (void)state;
        assert_failed(judge(NULL, SPAWN_END_EXIT, 0), OUTCOME_ERROR, 0, "SandboxError", "before the function returned");
        assert_failed(judge(NULL, SPAWN_END_EXIT, 7 << 8), OUTCOME_ERROR, 7, "SandboxError", "exit code 7");
        assert_failed(judge(NULL, SPAWN_END_OUTPUT, 9), OUTCOME_OUTPUT_LIMIT, 137, "SandboxError", "4096 bytes");
        assert_failed(judge(NULL, SPAWN_END_LOST, 9), OUTCOME_KILLED, 137, "SandboxError", "lost");
}

static void nonsense_is_refused(void **state) {
        static const char *const said[] = {
                "{\"result\": NaN}", "{\"result\": 1, \"error\": null}", "{}", "[]", "{\"result\": 1}}", "{\"tools\": []}",
                "{\"image\": {}}",   "{\"result\": \"\\ud800\"}",
        };
        (void)state;
        for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
                assert_failed(judge(said[i], SPAWN_END_EXIT, 0), OUTCOME_ERROR, 1, "SandboxError", "no JSON");
}

static void size_is_refused_with_its_number(void **state) {
        struct call_end end = {.bytes = NULL};
        struct call_facts facts = {.outcome = {OUTCOME_OK, 0}, .started = true};
        struct call_error error;
        (void)state;
        call_end_refuse_size(&end, 9000000);
        assert_false(call_end_judge(&end, &end.result, &facts, &error));
        assert_int_equal(facts.outcome.outcome, OUTCOME_ERROR);
        assert_non_null(strstr(error.message, "9000000 bytes"));
        assert_non_null(strstr(error.message, "8388608"));
        call_error_deinit(&error);

        size_t length = CALL_RESULT_BYTES_MAX + 32;
        char *large = malloc(length);
        memset(large, 'x', length);
        memcpy(large, "{\"result\":\"", 11);
        memcpy(large + length - 2, "\"}", 2);
        end = (struct call_end){.bytes = NULL};
        facts.outcome = (struct outcome_of_run){OUTCOME_OK, 0};
        call_end_take(&end, large, length);
        assert_false(call_end_judge(&end, &end.result, &facts, &error));
        assert_non_null(strstr(error.message, "8388608"));
        call_error_deinit(&error);
        call_end_deinit(&end);
        free(large);
}

static void long_texts_are_cut_between_characters(void **state) {
        size_t length = CALL_ERROR_MESSAGE_MAX + 100;
        char *said = malloc(length + 100);
        (void)state;
        int at = sprintf(said, "{\"error\": {\"type\": \"E\", \"message\": \"x");
        for (size_t i = 0; i < length / 2; i++)
                at += sprintf(said + at, "\xc3\xa4");
        sprintf(said + at, "\"}}");
        struct judged judged = judge(said, SPAWN_END_EXIT, 1 << 8);
        assert_int_equal(strlen(judged.error.message), CALL_ERROR_MESSAGE_MAX - 1);
        call_error_deinit(&judged.error);
        free(said);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_result_counts_if_the_process_ended_well),
                cmocka_unit_test(an_error_is_told_on),
                cmocka_unit_test(no_word_is_explained),
                cmocka_unit_test(nonsense_is_refused),
                cmocka_unit_test(size_is_refused_with_its_number),
                cmocka_unit_test(long_texts_are_cut_between_characters),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
