/* The MCP server's parts that need no service: messages, revisions, results, news of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/http_exchange.h"
#include "api/mcp_message.h"
#include "api/mcp_private.h"
#include "api/mcp_progress.h"
#include "api/mcp_result.h"
#include "base/cleanup.h"
#include "base/loop.h"

/* ---- messages */

static int read_message(const char *text, struct mcp_message *message, struct mcp_error *e) {
        *e = (struct mcp_error){.code = 0};
        return mcp_message_read(text, strlen(text), message, e);
}

static void test_messages(void **state) {
        struct mcp_message message;
        struct mcp_error e;
        (void)state;
        assert_int_equal(
                read_message("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":{}}", &message, &e), 0);
        assert_int_equal(message.kind, MCP_REQUEST);
        assert_string_equal(message.method, "ping");
        assert_true(json_is_object(message.params));
        mcp_message_deinit(&message);
        assert_int_equal(read_message("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", &message, &e), 0);
        assert_int_equal(message.kind, MCP_NOTIFICATION);
        mcp_message_deinit(&message);
        assert_int_equal(read_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", &message, &e), 0);
        assert_int_equal(message.kind, MCP_RESPONSE);
        mcp_message_deinit(&message);
        assert_int_equal(read_message("\n[1]", &message, &e), MCP_INVALID_REQUEST);
        mcp_message_deinit(&message);
        assert_int_equal(read_message("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", &message, &e),
                         MCP_INVALID_REQUEST);
        assert_null(message.id);
        mcp_message_deinit(&message);
        assert_int_equal(read_message("", &message, &e), MCP_PARSE_ERROR);
        mcp_message_deinit(&message);
}

static void test_errors(void **state) {
        struct mcp_error e = {.code = 0};
        char bytes[2000];
        (void)state;
        memset(bytes, 0xff, sizeof(bytes)); /* what a client sent may be quoted, and is cut off */
        bytes[sizeof(bytes) - 1] = '\0';
        mcp_error_set(&e, MCP_INVALID_PARAMS, "wrong: %s", bytes);
        e.data = json_string("first");
        mcp_error_set(&e, MCP_INVALID_PARAMS, "wrong: %s", bytes);
        assert_null(e.data);
        e.data = json_string("second");
        json_t *id = json_integer(7), *response = mcp_error_response(id, &e);
        const json_t *error = json_object_get(response, "error");
        assert_int_equal(json_integer_value(json_object_get(error, "code")), -32602);
        assert_string_equal(json_string_value(json_object_get(error, "data")), "second");
        assert_int_equal(json_integer_value(json_object_get(response, "id")), 7);
        CLEANUP_FREE char *text = json_dumps(response, 0);
        assert_non_null(text);
        json_decref(response);
        json_decref(id);
        response = mcp_error_response(NULL, &e);
        assert_true(json_is_null(json_object_get(response, "id")));
        json_decref(response);
        assert_int_equal(mcp_error_status(MCP_METHOD_NOT_FOUND), 404);
        assert_int_equal(mcp_error_status(MCP_INVALID_PARAMS), 400);
        assert_int_equal(mcp_error_status(MCP_INTERNAL_ERROR), 200);
}

static void test_revisions(void **state) {
        (void)state;
        assert_int_equal(mcp_revision_of("2025-06-18"), MCP_2025_06_18);
        assert_int_equal(mcp_revision_of("2026-07-28"), MCP_2026_07_28);
        assert_int_equal(mcp_revision_of("2024-11-05"), -1);
        assert_int_equal(mcp_revision_of(NULL), -1);
        json_t *all = mcp_revisions();
        assert_string_equal(json_string_value(json_array_get(all, 0)), "2026-07-28");
        assert_int_equal(json_array_size(all), MCP_REVISIONS);
        json_decref(all);
}

/* ---- results */

static json_t *run_reply(const char *standard_output, size_t length) {
        return json_pack(
                "{s:s, s:i, s:s%, s:s, s:[{s:s, s:s}], s:[{s:s, s:s, s:s, s:i}, {s:s, s:s, s:s, s:i, s:s}], s:[]}",
                "outcome", "ok", "exit_code", 0, "stdout", standard_output, length, "stderr", "", "results",
                "text/plain", "<Figure>", "image/png", "cGljdHVyZQ==", "files", "file_id", "file_1", "name", "a.csv",
                "media_type", "text/csv", "size", 5, "file_id", "file_2", "name", "b.png", "media_type", "image/png",
                "size", 7, "content_base64", "aW5saW5l", "files_skipped");
}

static const char *item_type(const json_t *content, size_t i) {
        return json_string_value(json_object_get(json_array_get(content, i), "type"));
}

static void test_result_of_a_run(void **state) {
        (void)state;
        json_t *result = mcp_result_of_run(run_reply("x", 1)), *content = json_object_get(result, "content");
        assert_int_equal(json_array_size(content), 4);
        assert_string_equal(item_type(content, 0), "text");
        assert_string_equal(item_type(content, 1), "image");
        assert_string_equal(item_type(content, 2), "resource_link");
        assert_string_equal(item_type(content, 3), "image"); /* it came along */
        const json_t *link = json_array_get(content, 2);
        assert_string_equal(json_string_value(json_object_get(link, "uri")), "sandbox://files/file_1");
        json_t *structured = json_object_get(result, "structuredContent");
        CLEANUP_FREE char *text = json_dumps(structured, 0);
        assert_null(strstr(text, "cGljdHVyZQ==")); /* one copy is enough */
        assert_null(strstr(text, "aW5saW5l"));
        assert_true(json_is_false(json_object_get(result, "isError")));
        json_decref(result);
}

static void check_cut(const char *bytes, size_t length, const char *start, const char *end) {
        json_t *result = mcp_result_of_run(run_reply(bytes, length));
        const json_t *structured = json_object_get(result, "structuredContent"),
                     *out = json_object_get(structured, "stdout");
        assert_true(json_string_length(out) < MCP_TEXT_BYTES_MAX + 64);
        assert_true(json_is_true(json_object_get(structured, "stdout_truncated")));
        assert_memory_equal(json_string_value(out), start, strlen(start));
        assert_string_equal(json_string_value(out) + json_string_length(out) - strlen(end), end);
        CLEANUP_FREE char *text = json_dumps(result, 0); /* all of it is UTF-8 */
        assert_non_null(text);
        json_decref(result);
}

static void test_long_output_is_cut_between_characters(void **state) {
        size_t length = (size_t)3 * 50000;
        CLEANUP_FREE char *bytes = malloc(length + 3);
        (void)state;
        assert_non_null(bytes);
        for (size_t shift = 0; shift < 3; shift++) {
                memset(bytes, '.', shift);
                for (size_t i = 0; i < length; i += 3)
                        memcpy(bytes + shift + i, "\xe2\x82\xac", 3);
                check_cut(bytes, shift + length, shift ? "." : "\xe2\x82\xac", "\xe2\x82\xac");
        }
        memset(bytes, 'x', length);
        bytes[10] = '\0';
        check_cut(bytes, length, "xxxxxxxxxx", "xxxxxxxxxx");
}

static void test_refusals(void **state) {
        struct mcp_error e = {.code = 0};
        json_t *body = json_pack("{s:{s:s, s:s, s:s}}", "error", "type", "x", "message", "No room.", "param", "code");
        (void)state;
        json_t *result = mcp_result_of_refusal(503, body, "3", &e);
        assert_int_equal(e.code, 0);
        assert_true(json_is_true(json_object_get(result, "isError")));
        const json_t *item = json_array_get(json_object_get(result, "content"), 0);
        assert_string_equal(json_string_value(json_object_get(item, "text")), "No room. (Try again in 3 s.)");
        json_decref(result);
        assert_null(mcp_result_of_refusal(400, body, NULL, &e));
        assert_int_equal(e.code, MCP_INVALID_PARAMS);
        assert_string_equal(json_string_value(json_object_get(e.data, "param")), "code");
        json_decref(TAKE_PTR(e.data));
        assert_null(mcp_result_of_refusal(0, NULL, NULL, &e));
        assert_int_equal(e.code, MCP_INTERNAL_ERROR);
        json_decref(body);
}

static void test_result_of_a_call(void **state) {
        json_t *reply = json_pack("{s:s, s:i, s:n, s:{s:s, s:s, s:s}, s:s, s:s, s:s}", "outcome", "error", "exit_code",
                                  1, "result", "error", "type", "ValueError", "message", "no", "traceback", "Traceback",
                                  "stdout", "", "stderr", "", "hint", "Try this.");
        (void)state;
        CLEANUP_FREE char *bytes = json_dumps(reply, 0), *text = mcp_result_of_call(bytes, strlen(bytes));
        json_t *result = json_loads(text, 0, NULL);
        const json_t *item = json_array_get(json_object_get(result, "content"), 0);
        assert_string_equal(json_string_value(json_object_get(item, "text")),
                            "ValueError: no\n\n[traceback]\nTraceback\n\n[error, exit code 1]\n[hint] Try this.\n");
        assert_true(json_is_true(json_object_get(result, "isError")));
        json_decref(result);
        json_decref(reply);
}

/* What a tool returned is a stranger's, and may be large. */
static void test_what_a_tool_returns_goes_in_as_it_came(void **state) {
        static const char reply[] =
                "{\"outcome\": \"ok\", \"exit_code\": 0, \"result\": [1.10,\n\r\t 100000000000000000000,"
                " \"a\\nb\"], \"error\": null, \"stdout\": \"\", \"stderr\": \"\"}";
        const size_t count = 1000000;
        (void)state;
        CLEANUP_FREE char *text = mcp_result_of_call(reply, strlen(reply));
        assert_non_null(text);
        assert_non_null(strstr(text, "\"result\":[1.10,  \t 100000000000000000000, \"a\\nb\"]"));
        assert_null(strchr(text, '\n'));
        char *many = malloc(3 * count + 200), *to = many;
        to += sprintf(to, "{\"outcome\":\"ok\",\"exit_code\":0,\"result\":[");
        for (size_t i = 0; i < count; i++)
                to = mempcpy(to, "[],", 3);
        to += sprintf(to, "0],\"error\":null,\"stdout\":\"\",\"stderr\":\"\"}");
        CLEANUP_FREE char *large = mcp_result_of_call(many, (size_t)(to - many));
        assert_non_null(large);
        assert_non_null(strstr(large, "bytes left out"));
        assert_true(strlen(large) > 3 * count && strlen(large) < 3 * count + MCP_TEXT_BYTES_MAX + 1000);
        free(many);
        assert_null(mcp_result_of_call("{\"outcome\": \"ok\"}", 17));
        assert_null(mcp_result_of_call("[]", 2));
}

static void test_schemas_are_json(void **state) {
        (void)state;
        json_t *schemas[] = {mcp_run_schema(), mcp_call_schema()};
        for (size_t i = 0; i < ARRAY_SIZE(schemas); i++) {
                assert_true(json_is_object(json_object_get(schemas[i], "properties")));
                json_decref(schemas[i]);
        }
}

/* ---- news of a run */

static void test_progress(void **state) {
        struct api api = {.config = NULL};
        struct mcp mcp = {.api = &api};
        struct mcp_reply reply = {.mcp = &mcp};
        struct mcp_progress progress;
        json_t *token = json_string("t");
        static const char events[] =
                ": comment\n\nevent: start\ndata: {}\n\nevent: stdout\ndata: {\"text\":\"one\"}\n\n"
                "event: stderr\ndata: {\"text\":\"two\"}\n\nevent: stdout\ndata: nonsense\n\n"
                "event: done\ndata: {\"a\":1}\n\n";
        (void)state;
        assert_int_equal(loop_new(&api.loop), 0);
        mcp_progress_begin(&progress, &reply, token);
        mcp_progress_take(&progress, events, strlen(events));
        assert_memory_equal(progress.text, "onetwo", 6);
        assert_int_equal(progress.length, 6);
        assert_string_equal(progress.last, "{\"a\":1}");
        assert_false(progress.failed);
        CLEANUP_FREE char *text = malloc(10000), *event = malloc(10100);
        memset(text, 'x', 9999);
        text[9999] = '\0';
        int length = sprintf(event, "event: stdout\ndata: {\"text\":\"%s\"}\n\n", text);
        mcp_progress_take(&progress, event, (size_t)length);
        mcp_progress_take(&progress, events, strlen(events));
        assert_int_equal(progress.length, MCP_PROGRESS_TEXT_MAX);
        assert_memory_equal(progress.text + progress.length - 7, "xonetwo", 7);
        mcp_progress_take(&progress, "event: error\ndata: {}\n\n", 23);
        assert_true(progress.failed);
        mcp_progress_deinit(&progress);
        mcp_progress_deinit(&progress);
        json_decref(token);
        loop_free(api.loop);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_messages),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_revisions),
                cmocka_unit_test(test_result_of_a_run),
                cmocka_unit_test(test_long_output_is_cut_between_characters),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_result_of_a_call),
                cmocka_unit_test(test_what_a_tool_returns_goes_in_as_it_came),
                cmocka_unit_test(test_schemas_are_json),
                cmocka_unit_test(test_progress),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
