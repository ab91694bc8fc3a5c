/* Front doors: fields, keys' places, and the mappings between others' protocols and the engine's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "api/api.h"
#include "api/door.h"
#include "api/door_azure.h"
#include "api/door_e2b_lines.h"
#include "api/door_multipart.h"
#include "api/door_piston.h"
#include "api/door_traceback.h"
#include "base/config.h"

static const struct config config = {.execute_timeout_s = 20, .execute_max_timeout_s = 60};

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)api;
        (void)exit_status;
        fail_msg("%s", why);
}

static json_t *parse(const char *text) {
        json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        if (!value)
                fail_msg("not JSON: %s", text);
        return value;
}

static void assert_json(json_t *value, const char *expected) {
        json_t *wanted = parse(expected);
        if (!value || !json_equal(value, wanted))
                fail_msg("%s is not %s", value ? json_dumps(value, JSON_ENCODE_ANY) : "NULL", expected);
        json_decref(value);
        json_decref(wanted);
}

/* ---- fields and errors */

static void what_is_set_and_unknown_is_refused(void **state) {
        static const char *const known[] = {"code", NULL};
        struct err e = {0};
        (void)state;
        json_t *empty = parse("{\"code\": \"1\", \"a\": null, \"b\": false, \"c\": \"\", \"d\": [], \"e\": {}}");
        assert_int_equal(door_check_fields(empty, known, &e), 0);
        json_t *set = parse("{\"code\": \"1\", \"a\": null, \"wanted\": 0}");
        assert_int_equal(door_check_fields(set, known, &e), -EINVAL);
        assert_string_equal(e.field, "wanted");
        json_decref(empty);
        json_decref(set);
}

static void each_door_has_its_errors(void **state) {
        (void)state;
        assert_json(door_error_body(DOOR_E2B, 404, "not_found", "No."), "{\"code\": 404, \"message\": \"No.\"}");
        assert_json(door_error_body(DOOR_DIFY, 400, "invalid_request", "No."),
                    "{\"code\": -400, \"message\": \"No.\", \"data\": null}");
        assert_json(door_error_body(DOOR_PISTON, 400, "invalid_request", "No."), "{\"message\": \"No.\"}");
        assert_json(door_error_body(DOOR_AZURE, 400, "invalid_request", "No."),
                    "{\"error\": {\"code\": \"InvalidRequest\", \"message\": \"No.\"}}");
        assert_int_equal(door_error_status(DOOR_DIFY, 400), 200);
        assert_int_equal(door_error_status(DOOR_DIFY, 503), 503);
        assert_int_equal(door_error_status(DOOR_PISTON, 400), 400);
}

static void doors_are_open_as_the_setting_says(void **state) {
        char both[] = "piston,e2b", none[] = "";
        (void)state;
        assert_true(door_is_open(&(struct config){.front_doors = both}, DOOR_E2B));
        assert_true(door_is_open(&(struct config){.front_doors = both}, DOOR_PISTON));
        assert_false(door_is_open(&(struct config){.front_doors = both}, DOOR_DIFY));
        assert_false(door_is_open(&(struct config){.front_doors = none}, DOOR_AZURE));
}

/* ---- tracebacks */

static void assert_traceback(const char *text, const char *from, const char *name, const char *value) {
        struct traceback found;
        assert_true(traceback_find(text, &found));
        assert_string_equal(found.text, from);
        assert_int_equal(found.name_length, strlen(name));
        assert_memory_equal(found.name, name, found.name_length);
        assert_int_equal(found.value_length, strlen(value));
        assert_memory_equal(found.value, value, found.value_length);
}

static void the_last_traceback_is_found(void **state) {
        static const char first[] = "Traceback (most recent call last):\n  File \"a\", line 1, in <module>\n    1/0\n"
                                    "    ~^~\nZeroDivisionError: division by zero\n";
        static const char second[] =
                "Traceback (most recent call last):\n  File \"a\", line 3\nKeyError: 'a'\nand more\n";
        static const char syntax[] = "  File \"main.py\", line 1\n    a b\n    ^^^\nSyntaxError: invalid syntax\n";
        char both[sizeof(first) + sizeof(second) + 64];
        struct traceback found;
        (void)state;
        assert_traceback(first, first, "ZeroDivisionError", "division by zero");
        snprintf(both, sizeof(both), "%s\nDuring the handling:\n\n%s", first, second);
        assert_traceback(both, second, "KeyError", "'a'\nand more");
        assert_traceback(syntax, syntax, "SyntaxError", "invalid syntax");
        assert_traceback("Traceback (most recent call last):\n  File\nKeyboardInterrupt\n",
                         "Traceback (most recent call last):\n  File\nKeyboardInterrupt\n", "KeyboardInterrupt", "");
        assert_false(traceback_find("", &found));
        assert_false(traceback_find("all is well\n", &found));
        assert_false(traceback_find("Traceback (most recent call last):\n", &found));
        assert_false(traceback_find("Traceback (most recent call last):\n  File", &found));
        assert_false(traceback_find("Traceback (most recent call last):\n  File\nno exception here\n", &found));
}

/* ---- E2B */

static void assert_written(struct json_out *out, const char *expected) {
        assert_false(out->failed);
        assert_int_equal(out->used, strlen(expected));
        if (out->used > 0)
                assert_memory_equal(out->bytes, expected, out->used);
        json_out_deinit(out);
}

static void assert_writes(struct e2b_lines *lines, const char *events, const char *expected) {
        struct json_out out;
        json_out_init(&out, 0);
        e2b_lines_write(lines, &out, events, strlen(events), 5);
        assert_written(&out, expected);
}

static void assert_lines(const char *events, const char *expected) {
        struct e2b_lines lines = {.number = 7};
        assert_writes(&lines, events, expected);
        assert_false(e2b_lines_hold(&lines));
        e2b_lines_deinit(&lines);
}

#define PRINTED(stream, text) "event: " stream "\ndata: {\"text\":\"" text "\"}\n\n"
#define LINE(stream, text) "{\"type\":\"" stream "\",\"text\":\"" text "\",\"timestamp\":5}\n"

static void unfinished_lines_are_held_back(void **state) {
        struct e2b_lines lines = {0};
        struct json_out out;
        (void)state;
        assert_writes(&lines, PRINTED("stdout", "3") PRINTED("stdout", "\\n"), LINE("stdout", "3\\n"));
        assert_writes(&lines, PRINTED("stdout", "a"), "");
        assert_writes(&lines, PRINTED("stderr", "b"), "");
        assert_true(e2b_lines_hold(&lines));
        assert_writes(&lines, PRINTED("stdout", "\\nc\\nd"), LINE("stdout", "a\\nc\\n"));
        json_out_init(&out, 0);
        e2b_lines_flush(&lines, &out, 5);
        assert_written(&out, LINE("stdout", "d") LINE("stderr", "b"));
        assert_false(e2b_lines_hold(&lines));
        assert_writes(&lines, PRINTED("stdout", "e"), "");
        assert_writes(&lines, "event: result\ndata: {\"text/plain\":\"1\"}\n\n",
                      LINE("stdout", "e") "{\"type\":\"result\",\"text\":\"1\",\"is_main_result\":true}\n");
        e2b_lines_deinit(&lines);
}

static void long_lines_are_not_held_back(void **state) {
        struct e2b_lines lines = {0};
        struct json_out out;
        char event[128 << 10];
        (void)state;
        size_t used = (size_t)snprintf(event, sizeof(event), "event: stdout\ndata: {\"text\":\"");
        memset(event + used, 'x', 70000);
        snprintf(event + used + 70000, sizeof(event) - used - 70000, "\"}\n\n");
        json_out_init(&out, 0);
        e2b_lines_write(&lines, &out, event, strlen(event), 5);
        assert_true(out.used > 70000);
        assert_false(e2b_lines_hold(&lines));
        json_out_deinit(&out);
        e2b_lines_deinit(&lines);
}

static void events_become_lines(void **state) {
        (void)state;
        assert_lines("event: start\ndata: {\"run_id\":\"r\"}\n\nevent: stdout\ndata: {\"text\":\"a\\n\"}\n\n",
                     "{\"type\":\"number_of_executions\",\"execution_count\":7}\n"
                     "{\"type\":\"stdout\",\"text\":\"a\\n\",\"timestamp\":5}\n");
        assert_lines(": keep-alive\n\n", "{\"type\":\"keepalive\"}\n");
        assert_lines("event: file\ndata: {\"name\":\"a\"}\n\n", "");
        assert_lines("event: result\ndata: "
                     "{\"text/plain\":\"1\",\"application/json\":\"{\\\"a\\\":[1]}\",\"a/b\":\"c\"}\n\n",
                     "{\"type\":\"result\",\"text\":\"1\",\"json\":{\"a\":[1]},\"extra\":{\"a/b\":\"c\"},"
                     "\"is_main_result\":true}\n");
        assert_lines("event: result\ndata: {\"text/plain\":\"F\",\"image/png\":\"aa\"}\n\n",
                     "{\"type\":\"result\",\"text\":\"F\",\"png\":\"aa\",\"is_main_result\":false}\n");
}

static void ends_become_lines(void **state) {
        (void)state;
        assert_lines(
                "event: done\ndata: {\"outcome\":\"ok\",\"stderr\":\"Traceback\",\"session\":{\"message\":null}}\n\n",
                "{\"type\":\"end_of_execution\"}\n");
        assert_lines(
                "event: done\ndata: {\"outcome\":\"error\",\"exit_code\":3,\"stderr\":\"\",\"hint\":null,"
                "\"session\":{\"message\":\"lost\"}}\n\n",
                "{\"type\":\"stderr\",\"text\":\"lost\\n\",\"timestamp\":5}\n"
                "{\"type\":\"error\",\"name\":\"SystemExit\",\"value\":\"The run ended with error and exit code 3.\","
                "\"traceback\":\"\"}\n{\"type\":\"end_of_execution\"}\n");
        assert_lines("event: done\ndata: {\"outcome\":\"out_of_memory\",\"hint\":\"Use less.\",\"stderr\":\"\"}\n\n",
                     "{\"type\":\"error\",\"name\":\"MemoryError\",\"value\":\"Use less.\",\"traceback\":\"\"}\n"
                     "{\"type\":\"end_of_execution\"}\n");
        assert_lines("event: error\ndata: {\"error\":{\"type\":\"internal\",\"message\":\"Lost.\"}}\n\n",
                     "{\"type\":\"error\",\"name\":\"SandboxError\",\"value\":\"Lost.\",\"traceback\":\"\"}\n"
                     "{\"type\":\"end_of_execution\"}\n");
}

/* ---- piston */

static void versions_are_matched(void **state) {
        static const char *const good[] = {"3",      "3.x",   "3.*",   "*",        "x",      "3.12",
                                           "3.12.1", "v3.12", "^3.10", ">=3.10.0", "~3.12.0"};
        static const char *const bad[] = {"2", "3.1", "3.11.0", "3.12.2", "^2.7", "^4", ">=3.13", "latest", "3,12"};
        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
                if (!door_piston_version_is(good[i], "3.12.1"))
                        fail_msg("%s is refused", good[i]);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                if (door_piston_version_is(bad[i], "3.12.1"))
                        fail_msg("%s is taken", bad[i]);
}

static int decode(const char *text, json_t **run, struct err *e) {
        json_t *body = parse(text);
        *e = (struct err){0};
        *run = NULL;
        int r = door_piston_decode(body, &config, "3.12.1", run, e);
        json_decref(body);
        return r;
}

static void executions_become_runs(void **state) {
        struct err e;
        json_t *run;
        (void)state;
        assert_int_equal(
                decode("{\"language\": \"py\", \"version\": \"3.12.1\", \"stdin\": \"in\", \"run_timeout\": 1500,"
                       "\"compile_timeout\": 1, \"run_memory_limit\": -1,"
                       "\"files\": [{\"content\": \"a\"}, {\"name\": \"b.py\", \"content\": \"6162\", \"encoding\": "
                       "\"hex\"}]}",
                       &run, &e),
                0);
        assert_json(run, "{\"code\": \"a\", \"stdin\": \"in\", \"inline_files\": false, \"timeout_s\": 1.5,"
                         "\"files\": [{\"name\": \"b.py\", \"content_base64\": \"YWI=\"}]}");
        assert_int_equal(decode("{\"language\": \"python\", \"args\": [\"é'\"], \"files\": [{\"name\": \"m\", "
                                "\"content\": \"a\"}]}",
                                &run, &e),
                         0);
        assert_non_null(strstr(json_string_value(json_object_get(run, "code")), "sys.argv = [\"m\", \"é'\"]\n"));
        assert_int_equal(json_array_size(json_object_get(run, "files")), 1);
        json_decref(run);
        assert_int_equal(decode("{\"language\": \"python\", \"stdin\": \"a\\u0000b\","
                                "\"files\": [{\"content\": \"a\"}]}",
                                &run, &e),
                         0);
        assert_int_equal(json_string_length(json_object_get(run, "stdin")), 3);
        json_decref(run);
}

static void executions_are_refused_by_name(void **state) {
        static const struct {
                const char *body, *field;
        } cases[] = {
                {"{}", "language"},
                {"{\"language\": \"bash\", \"files\": [{\"content\": \"a\"}]}", "language"},
                {"{\"language\": \"python\", \"version\": \"2.7\", \"files\": [{\"content\": \"a\"}]}", "language"},
                {"{\"language\": \"python\"}", "files"},
                {"{\"language\": \"python\", \"files\": [{\"name\": \"a\"}]}", "files[0]"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"a\", \"encoding\": \"rot13\"}]}", "files[0]"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"a\", \"encoding\": \"hex\"}]}", "files[0]"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"61\\u0000\", \"encoding\": \"hex\"}]}",
                 "files[0]"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"a\", \"name\": \"a\\u0000b\"}]}", "name"},
                {"{\"language\": \"python\\u0000\", \"files\": [{\"content\": \"a\"}]}", "language"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"a\"}], \"args\": [1]}", "args"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"a\"}], \"run_timeout\": 60001}",
                 "run_timeout"},
                {"{\"language\": \"python\", \"files\": [{\"content\": \"a\"}], \"run_memory_limit\": 1000}",
                 "run_memory_limit"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct err e;
                json_t *run;
                assert_int_equal(decode(cases[i].body, &run, &e), -EINVAL);
                assert_string_equal(e.field, cases[i].field);
                assert_null(run);
        }
}

static void runs_become_replies_of_executions(void **state) {
        (void)state;
        json_t *reply = parse(
                "{\"outcome\": \"timeout\", \"exit_code\": -1, \"stdout\": \"a\", \"stderr\": \"b\", \"hint\": \"h\","
                "\"usage\": {\"cpu_ms\": 1.5, \"wall_ms\": 2, \"max_memory_bytes\": 3}}");
        assert_json(door_piston_encode(reply, "3"),
                    "{\"language\": \"python\", \"version\": \"3\", \"run\": {\"stdout\": \"a\", \"stderr\": \"b\","
                    "\"output\": \"ab\", \"code\": null, \"signal\": \"SIGKILL\","
                    "\"message\": \"The program was stopped at its time limit (run_timeout).\", \"status\": \"TO\","
                    "\"cpu_time\": 1, \"wall_time\": 2, \"memory\": 3}}");
        json_decref(reply);
}

/* ---- Azure */

static void values_are_typed(void **state) {
        (void)state;
        assert_json(azure_value("42"), "42");
        assert_json(azure_value("[1, 2.5]"), "[1, 2.5]");
        assert_json(azure_value("True"), "true");
        assert_json(azure_value("'a\\n\\'b'"), "\"a\\n'b\"");
        assert_json(azure_value("'a' 'b'"), "\"'a' 'b'\"");
        assert_json(azure_value("'\\x00'"), "\"'\\\\x00'\"");
        assert_json(azure_value("'a\\'"), "\"'a\\\\'\"");
        assert_json(azure_value("'"), "\"'\"");
        assert_json(azure_value(""), "\"\"");
        assert_json(azure_value("nan"), "\"nan\"");
}

static int find(const char *type, const char *body, struct multipart_file *file) {
        struct err e = {0};
        return multipart_find_file(type, body, strlen(body), file, &e);
}

static void a_file_is_found_in_a_form(void **state) {
        static const char type[] = "multipart/form-data; boundary=XX";
        struct multipart_file file;
        (void)state;
        assert_int_equal(find(type,
                              "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nv\r\n"
                              "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.csv\"\r\n"
                              "Content-Type: text/csv\r\n\r\n1\r\n--X\r\n--XX--\r\n",
                              &file),
                         0);
        assert_string_equal(file.name, "a b.csv");
        assert_int_equal(file.length, 6);
        assert_memory_equal(file.bytes, "1\r\n--X", 6);
        assert_int_equal(find("multipart/form-data; boundary=\"XX\"",
                              "before\r\n--XX\r\ncontent-disposition: form-data; filename=x\r\n\r\n\r\n--XX--", &file),
                         0);
        assert_string_equal(file.name, "x");
        assert_int_equal(file.length, 0);
}

static void what_is_no_form_is_refused(void **state) {
        static const char type[] = "multipart/form-data; boundary=XX";
        static const char *const bodies[] = {
                "",
                "--XX",
                "--XX\r\n",
                "--XX--",
                "--XX\r\n\r\n\r\n--XX--",
                "\r\n--XX\r\nContent-Disposition:\r\n\r\n--XX",
                "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nv\r\n--XX--",
                "--XX\r\nContent-Disposition: form-data; filename=\"\"\r\n\r\nv\r\n--XX--",
                "--XX\r\nContent-Disposition: form-data; filename=\"a\r\n\r\nv\r\n--XX--",
                "--XX\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nno end",
                "--XX\r\nContent-Disposition: form-data; filename=\"a\"; no empty line\r\n--XX--",
        };
        struct multipart_file file;
        (void)state;
        for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
                if (find(type, bodies[i], &file) != -EINVAL)
                        fail_msg("taken: %s", bodies[i]);
        char name[1200], body[1400];
        memset(name, 'n', sizeof(name));
        name[sizeof(name) - 1] = '\0';
        snprintf(body, sizeof(body), "--XX\r\nContent-Disposition: form-data; filename=%s\r\n\r\nv\r\n--XX--", name);
        assert_int_equal(find(type, body, &file), -EINVAL);
        assert_int_equal(find("application/json", "--XX", &file), -EINVAL);
        assert_int_equal(find("multipart/form-data", "--XX", &file), -EINVAL);
        assert_int_equal(find(NULL, "--XX", &file), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_set_and_unknown_is_refused),
                cmocka_unit_test(each_door_has_its_errors),
                cmocka_unit_test(doors_are_open_as_the_setting_says),
                cmocka_unit_test(the_last_traceback_is_found),
                cmocka_unit_test(unfinished_lines_are_held_back),
                cmocka_unit_test(long_lines_are_not_held_back),
                cmocka_unit_test(events_become_lines),
                cmocka_unit_test(ends_become_lines),
                cmocka_unit_test(versions_are_matched),
                cmocka_unit_test(executions_become_runs),
                cmocka_unit_test(executions_are_refused_by_name),
                cmocka_unit_test(runs_become_replies_of_executions),
                cmocka_unit_test(values_are_typed),
                cmocka_unit_test(a_file_is_found_in_a_form),
                cmocka_unit_test(what_is_no_form_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
