/* The body of POST /v1/execute: what is taken, what is filled in, and what is refused by which field. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/agent_settings.h"
#include "api/execute_request.h"
#include "base/config.h"

static const struct config config = {.execute_timeout_s = 20, .execute_max_timeout_s = 60};

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)api;
        (void)exit_status;
        fail_msg("%s", why);
}

static int decode(const char *text, struct execute_request *execute, struct err *e) {
        *execute = (struct execute_request){.body = json_loads(text, JSON_ALLOW_NUL, NULL)};
        *e = (struct err){0};
        assert_non_null(execute->body);
        return execute_request_decode(execute, &config, execute->body, e);
}

static void fills_in_what_was_not_said(void **state) {
        struct execute_request execute;
        struct err e;
        (void)state;
        assert_int_equal(decode("{\"code\": \"print(1)\"}", &execute, &e), 0);
        assert_int_equal(execute.run.code_length, 8);
        assert_memory_equal(execute.run.code, "print(1)", 8);
        assert_int_equal(execute.run.timeout_ms, 0);
        assert_false(execute.inline_given);
        assert_true(execute.run.inline_files);
        assert_false(execute.stream);
        assert_false(execute.run.watched);
        assert_int_equal(execute.run.stdin_length, 0);
        assert_int_equal(execute.run.input_count, 0);
        assert_null(execute.agent);
        assert_null(execute.conversation_id);
        execute_request_deinit(&execute);
}

static void takes_everything(void **state) {
        struct execute_request execute;
        struct err e;
        (void)state;
        assert_int_equal(
                decode("{\"code\": \"\", \"timeout_s\": 1.5, \"agent\": \"a.B_9-\", \"conversation_id\": \"x:y\", "
                       "\"stdin\": "
                       "\"a\\u0000b\", \"inline_files\": false, \"stream\": true, \"files\": [{\"name\": \"t.txt\", "
                       "\"content\": \"h\xc3\xa9\\u0000\"}, {\"name\": \"d/b.bin\", \"content_base64\": \"AP8=\"}, "
                       "{\"name\": "
                       "\"e\", \"content\": \"\"}]}",
                       &execute, &e),
                0);
        assert_int_equal(execute.run.code_length, 0);
        assert_int_equal(execute.run.timeout_ms, 1500);
        assert_string_equal(execute.agent, "a.B_9-");
        assert_string_equal(execute.conversation_id, "x:y");
        assert_int_equal(execute.run.stdin_length, 3);
        assert_memory_equal(execute.run.stdin_bytes, "a\0b", 3);
        assert_false(execute.run.inline_files);
        assert_true(execute.stream && execute.run.watched);
        assert_int_equal(execute.run.input_count, 3);
        const struct work_input *inputs = execute.run.inputs;
        assert_int_equal(inputs[0].size, 4);
        assert_memory_equal(inputs[0].bytes, "h\xc3\xa9\0", 4);
        assert_int_equal(inputs[1].size, 2);
        assert_memory_equal(inputs[1].bytes, "\0\xff", 2);
        assert_memory_equal(inputs[1].name, "d/b.bin", inputs[1].name_length);
        assert_int_equal(inputs[2].size, 0);
        execute_request_deinit(&execute);
}

static void rounds_the_time_limit_up(void **state) {
        static const struct {
                const char *text;
                uint32_t ms;
        } cases[] = {{"{\"code\":\"\",\"timeout_s\":60}", 60000},      {"{\"code\":\"\",\"timeout_s\":0.0001}", 1},
                     {"{\"code\":\"\",\"timeout_s\":1e-300}", 1},      {"{\"code\":\"\",\"timeout_s\":2.0001}", 2001},
                     {"{\"code\":\"\",\"timeout_s\":59.9999}", 60000}};
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct execute_request execute;
                struct err e;
                assert_int_equal(decode(cases[i].text, &execute, &e), 0);
                assert_int_equal(execute.run.timeout_ms, cases[i].ms);
                execute_request_deinit(&execute);
        }
}

static void takes_what_a_reply_shows_as_null(void **state) {
        struct execute_request execute;
        struct err e;
        (void)state;
        assert_int_equal(decode("{\"code\":\"\",\"agent\":null,\"conversation_id\":null}", &execute, &e), 0);
        assert_null(execute.agent);
        assert_null(execute.conversation_id);
        execute_request_deinit(&execute);
}

static void the_default_never_exceeds_the_maximum(void **state) {
        const struct config low = {.execute_timeout_s = 20, .execute_max_timeout_s = 5};
        struct agent_settings settings;
        (void)state;
        agent_settings_init(&low, &settings);
        assert_int_equal(settings.timeout_ms, 5000);
        agent_settings_init(&config, &settings);
        assert_int_equal(settings.timeout_ms, 20000);
}

static const struct {
        const char *text, *field, *in_message;
} refused[] = {
        {"{}", "code", "required"},
        {"{\"code\":5}", "code", "a string"},
        {"{\"code\":\"a\\u0000\"}", "code", "NUL"},
        {"{\"code\":\"\",\"codes\":1}", "codes", "no field"},
        {"{\"code\":\"\",\"timeout_s\":0}", "timeout_s", "a number of seconds greater than 0 and at most 60"},
        {"{\"code\":\"\",\"timeout_s\":-0.0}", "timeout_s", "seconds greater than 0 and at most 60"},
        {"{\"code\":\"\",\"timeout_s\":-1}", "timeout_s", "at most 60"},
        {"{\"code\":\"\",\"timeout_s\":60.0001}", "timeout_s", "at most 60"},
        {"{\"code\":\"\",\"timeout_s\":60000}", "timeout_s", "at most 60"},
        {"{\"code\":\"\",\"timeout_s\":\"ten\"}", "timeout_s", "seconds"},
        {"{\"code\":\"\",\"timeout_s\":true}", "timeout_s", "seconds"},
        {"{\"code\":\"\",\"timeout_s\":null}", "timeout_s", "seconds"},
        {"{\"code\":\"\",\"files\":null}", "files", "a list"},
        {"{\"code\":\"\",\"agent\":\"\"}", "agent", "1 to 64"},
        {"{\"code\":\"\",\"agent\":\"a b\"}", "agent", "._-"},
        {"{\"code\":\"\",\"agent\":\"a:b\"}", "agent", "._-"},
        {"{\"code\":\"\",\"agent\":\"\xc3\xa4\"}", "agent", "A-Z"},
        {"{\"code\":\"\",\"conversation_id\":\"a/b\"}", "conversation_id", "1 to 128"},
        {"{\"code\":\"\",\"conversation_id\":\"a\\n\"}", "conversation_id", "._:-"},
        {"{\"code\":\"\",\"stream\":1}", "stream", "true or false"},
        {"{\"code\":\"\",\"files\":{}}", "files", "a list"},
        {"{\"code\":\"\",\"files\":[5]}", "files[0]", "an object"},
        {"{\"code\":\"\",\"files\":[{}]}", "files[0].name", "required"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\"}]}", "files[0]", "\"a\" needs exactly one"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\",\"content\":\"\",\"content_base64\":\"\"}]}", "files[0]",
         "exactly one"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\",\"content\":\"\",\"mode\":1}]}", "files[0].mode", "no field"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\",\"content_base64\":\"not base64 !\"}]}", "files[0].content_base64",
         "character 4"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\",\"content_base64\":\"AA=\"}]}", "files[0].content_base64",
         "base64"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"../a\",\"content\":\"\"}]}", "files[0].name", "\"..\""},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\\u0000\",\"content\":\"\"}]}", "files[0].name", "NUL"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a\",\"content\":\"\"},{\"name\":\"a\",\"content\":\"\"}]}",
         "files[1].name", "two input files"},
        {"{\"code\":\"\",\"files\":[{\"name\":\"a/b\",\"content\":\"\"},{\"name\":\"a\",\"content\":\"\"}]}",
         "files[0].name", "folder"},
};

static void names_what_is_wrong(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
                struct execute_request execute;
                struct err e;
                if (decode(refused[i].text, &execute, &e) != -EINVAL || strcmp(e.field, refused[i].field) != 0 ||
                    !strstr(e.message, refused[i].in_message))
                        fail_msg("%s: %s: %s", refused[i].text, e.field, e.message);
                execute_request_deinit(&execute);
        }
}

static void an_earlier_file_is_not_there(void **state) {
        struct execute_request execute;
        struct err e;
        (void)state;
        assert_int_equal(decode("{\"code\":\"\",\"files\":[{\"name\":\"a\",\"file_id\":\"file_1\"}]}", &execute, &e),
                         0);
        assert_string_equal(execute.file_ids[0], "file_1");
        execute_request_deinit(&execute);
}

static void the_number_of_files_is_bounded(void **state) {
        (void)state;
        for (size_t count = INPUTS_MAX; count <= INPUTS_MAX + 1; count++) {
                json_t *files = json_array();
                struct execute_request execute = {0};
                struct err e = {0};
                for (size_t i = 0; i < count; i++) {
                        char name[16];
                        snprintf(name, sizeof(name), "f%zu", i);
                        json_array_append_new(files, json_pack("{s:s, s:s}", "name", name, "content", ""));
                }
                execute.body = json_pack("{s:s, s:o}", "code", "", "files", files);
                int r = execute_request_decode(&execute, &config, execute.body, &e);
                assert_int_equal(r, count <= INPUTS_MAX ? 0 : -EINVAL);
                if (r < 0)
                        assert_non_null(strstr(e.message, "256"));
                execute_request_deinit(&execute);
        }
}

static void the_first_file_that_does_not_fit_is_named(void **state) {
        size_t third = SANDBOX_WORKDIR_BYTES / 3;
        char *content = malloc(third + 1);
        json_t *files = json_array();
        struct execute_request execute = {0};
        struct err e = {0};
        (void)state;
        memset(content, 'x', third);
        content[third] = '\0';
        for (int i = 0; i < 4; i++) {
                char name[4] = {(char)('a' + i), '\0'};
                json_array_append_new(files, json_pack("{s:s, s:s#}", "name", name, "content", i < 3 ? content : "",
                                                       i < 3 ? (int)third : 0));
        }
        execute.body = json_pack("{s:s, s:o}", "code", "", "files", files);
        assert_int_equal(execute_request_decode(&execute, &config, execute.body, &e), -EINVAL);
        assert_string_equal(e.field, "files[2]"); /* three thirds, each in whole pages, are more than the whole */
        assert_non_null(strstr(e.message, "\"c\" does not fit"));
        execute_request_deinit(&execute);
        free(content);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(fills_in_what_was_not_said),
                cmocka_unit_test(takes_everything),
                cmocka_unit_test(rounds_the_time_limit_up),
                cmocka_unit_test(takes_what_a_reply_shows_as_null),
                cmocka_unit_test(the_default_never_exceeds_the_maximum),
                cmocka_unit_test(names_what_is_wrong),
                cmocka_unit_test(an_earlier_file_is_not_there),
                cmocka_unit_test(the_number_of_files_is_bounded),
                cmocka_unit_test(the_first_file_that_does_not_fit_is_named),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
