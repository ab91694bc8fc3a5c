/* Requests of the service to itself. POST /v1/execute is answered by the test, in the ways that handlers have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "api/execute.h"
#include "api/http_exchange.h"
#include "api/json.h"
#include "api/metrics.h"
#include "api/subrequest.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/loop.h"

static struct {
        struct config config;
        struct api api;
        struct http_server server;
        struct http_exchange parent;
        void (*handle)(struct http_request *request);
        struct http_request *held; /* a handler's */
        unsigned gone, drained;

        struct subrequest *sub;
        struct loop_source *timer;
        unsigned replies, ends;
        unsigned status;
        char type[64], text[4096], retry_after[16];
        size_t length, streamed, outer_pending;
        bool cancel_in_stream;
} t;

void execute_handle(struct api *api, struct http_request *request) {
        assert_ptr_equal(api, &t.api);
        t.handle(request);
}

/* ---- the sink */

static void take(const void *bytes, size_t length) {
        size_t used = length < sizeof(t.text) ? length : sizeof(t.text) - 1;
        memcpy(t.text, bytes, used);
        t.text[used] = '\0';
        t.length = length;
}

static void on_reply(void *data, unsigned status, const char *content_type, const void *body, size_t length) {
        const char *after = subrequest_reply_header(t.sub, "retry-after");
        assert_ptr_equal(data, &t);
        t.replies++;
        t.status = status;
        snprintf(t.type, sizeof(t.type), "%s", content_type ? content_type : "none");
        snprintf(t.retry_after, sizeof(t.retry_after), "%s", after ? after : "");
        take(body, length);
}

static void on_stream(void *data, const void *bytes, size_t length) {
        (void)data;
        t.streamed += length;
        take(bytes, length);
        if (t.cancel_in_stream)
                subrequest_cancel(t.sub);
}

static void on_stream_end(void *data) {
        (void)data;
        t.ends++;
}

static size_t pending(void *data) {
        (void)data;
        return t.outer_pending;
}

static const struct subrequest_sink whole = {.on_reply = on_reply};
static const struct subrequest_sink streaming = {
        .on_reply = on_reply, .on_stream = on_stream, .on_stream_end = on_stream_end, .pending = pending};
static const struct subrequest_sink small_files = {.on_reply = on_reply, .file_max = 99};

/* ---- the loop */

static void on_pause_over(void *data) {
        (void)data;
        loop_quit(t.api.loop, 0);
}

/* Long enough for everything that is due. */
static void turn(void) {
        assert_int_equal(loop_add_timer(t.api.loop, 5 * NS_PER_MS, on_pause_over, NULL, NULL), 0);
        assert_int_equal(loop_run(t.api.loop), 0);
}

static void ask(const char *method, const char *target, json_t *body, const struct subrequest_sink *sink) {
        assert_int_equal(subrequest_start(&t.parent.request, method, target, body, sink, &t, &t.sub), 0);
        assert_int_equal(t.replies + t.ends, 0);
}

static void run(void (*handle)(struct http_request *request), const struct subrequest_sink *sink) {
        t.handle = handle;
        ask("POST", "/v1/execute", json_pack("{s:s}", "code", "1"), sink);
        turn();
}

static int set_up(void **state) {
        (void)state;
        memset(&t, 0, sizeof(t));
        t.config = (struct config){.body_max_bytes = 1000, .image_max_bytes = 1000};
        t.api.config = &t.config;
        assert_int_equal(loop_new(&t.api.loop), 0);
        assert_int_equal(metrics_new(&t.api.metrics), 0);
        t.server = (struct http_server){.api = &t.api, .body_bytes_max = 4000};
        t.parent.server = &t.server;
        t.parent.request = (struct http_request){.client = "192.0.2.1", .id = "parent-id", .trace = "00-trace"};
        t.parent.request.auth = (struct http_auth){.key_id = 7, .project_id = 3, .project = "shop"};
        return 0;
}

static int tear_down(void **state) {
        (void)state;
        assert_int_equal(t.server.body_bytes, 0);
        metrics_free(t.api.metrics);
        loop_free(t.api.loop);
        return 0;
}

/* ---- handlers */

static void answer_what_is_seen(struct http_request *request) {
        const struct json_field fields[] = {{.name = "code", .want = JSON_WANT_STRING}};
        CLEANUP_FREE char *sent = strdup(request->body);
        json_t *body;
        assert_int_equal(strlen(sent), request->body_length);
        if (!json_decode_request(request, fields, 1, &body))
                return;
        json_decref(body);
        http_reply_json(request, 201,
                        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:s?, s:s?}", "body", sent, "id", request->id,
                                  "trace", request->trace, "client", request->client, "project", request->auth.project,
                                  "key", (json_int_t)request->auth.key_id, "q", http_query(request, "q"), "header",
                                  http_header(request, "Authorization")));
}

static void refuse(struct http_request *request) {
        http_reply_error(request, HTTP_OVERLOADED, "code", "Too much of %d.", 42);
}

static void reply_empty(struct http_request *request) {
        http_reply_empty(request, 204);
}

static void reply_file(struct http_request *request) {
        int fd = memfd_create("file", MFD_CLOEXEC);
        char bytes[200];
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (char)('a' + i % 26);
        assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
        http_reply_file(request, 200, "text/csv", fd, 26, 100);
}

static void reply_short_file(struct http_request *request) {
        int fd = memfd_create("file", MFD_CLOEXEC);
        http_reply_file(request, 200, "text/csv", fd, 0, 100);
}

static void on_gone(struct http_request *request, void *data) {
        (void)data;
        t.gone++;
        http_drop(request);
}

static void hold(struct http_request *request) {
        http_release_body(request);
        t.held = request;
        http_on_disconnect(request, on_gone, NULL);
}

static void drop(struct http_request *request) {
        http_drop(request);
}

static void on_room(struct http_request *request, void *data) {
        (void)data;
        t.drained++;
        http_stream_write(request, "more", 4);
        http_stream_end(request);
}

static void stream(struct http_request *request) {
        http_reply_header(request, "X-Accel-Buffering", "no");
        http_stream_begin(request, "text/event-stream");
        http_on_disconnect(request, on_gone, NULL);
        assert_int_equal(http_stream_write(request, "event: a\n\n", 10), 0);
        assert_int_equal(http_stream_write(request, "event: b\n\n", 10), 0);
        assert_int_equal(http_stream_pending(request), 20 + t.outer_pending);
        http_on_drain(request, 0, on_room, NULL);
}

static void stream_and_end(struct http_request *request) {
        http_stream_begin(request, "text/event-stream");
        http_stream_write(request, "event: a\n\n", 10);
        http_stream_end(request);
}

/* ---- tests */

static void test_handler_sees_a_request(void **state) {
        (void)state;
        t.handle = answer_what_is_seen;
        ask("POST", "/v1/execute?a=b&q=x%20y%26%2B+z&", json_pack("{s:s}", "code", "1"), &whole);
        turn();
        assert_int_equal(t.status, 201);
        assert_string_equal(t.type, "application/json");
        json_t *seen = json_loads(t.text, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(seen, "body")), "{\"code\":\"1\"}");
        assert_string_equal(json_string_value(json_object_get(seen, "id")), "parent-id");
        assert_string_equal(json_string_value(json_object_get(seen, "trace")), "00-trace");
        assert_string_equal(json_string_value(json_object_get(seen, "client")), "192.0.2.1");
        assert_string_equal(json_string_value(json_object_get(seen, "project")), "shop");
        assert_int_equal(json_integer_value(json_object_get(seen, "key")), 7);
        assert_string_equal(json_string_value(json_object_get(seen, "q")), "x y&+ z");
        assert_true(json_is_null(json_object_get(seen, "header")));
        json_decref(seen);
        assert_int_equal(t.replies, 1);
}

static void test_bytes_are_checked_as_on_the_wire(void **state) {
        (void)state;
        t.handle = answer_what_is_seen;
        assert_int_equal(subrequest_start_bytes(&t.parent.request, "POST", "/v1/execute", strdup("{\"code\": "), 9,
                                                "application/json", &whole, &t, &t.sub),
                         0);
        turn();
        assert_int_equal(t.status, 400);
        assert_int_equal(subrequest_start_bytes(&t.parent.request, "POST", "/v1/execute", strdup("{}"), 2, "text/plain",
                                                &whole, &t, &t.sub),
                         0);
        turn();
        assert_int_equal(t.status, 415);
}

static void test_refusals(void **state) {
        static const struct {
                const char *method, *target;
                unsigned status;
        } cases[] = {
                {"GET", "/v1/nothing", 404},
                {"DELETE", "/v1/execute", 405},
                {"GET", "/v1/projects", 403},
                {"PUT", "/v1/agents/a/image", 400},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                ask(cases[i].method, cases[i].target, NULL, &whole);
                turn();
                assert_int_equal(t.replies, 1);
                assert_int_equal(t.status, cases[i].status);
                t.replies = 0;
        }
        t.parent.request.auth.key_id = 0; /* of an open route */
        ask("POST", "/v1/execute", NULL, &whole);
        turn();
        assert_int_equal(t.status, 401);
        t.replies = 0;
        ask("GET", "/openapi.json", NULL, &whole);
        turn();
        assert_int_equal(t.status, 200);
        assert_true(t.length > 1000);
}

static void test_body_limits(void **state) {
        char code[1200];
        (void)state;
        memset(code, 'x', sizeof(code));
        code[sizeof(code) - 1] = '\0';
        t.handle = answer_what_is_seen;
        ask("POST", "/v1/execute", json_pack("{s:s}", "code", code), &whole);
        turn();
        assert_int_equal(t.status, 413);
        assert_non_null(strstr(t.text, "at most 1000 are allowed here (SANDBOX_BODY_MAX_BYTES)"));
        t.replies = 0;
        ask("GET", "/openapi.json", json_pack("{}"), &whole);
        turn();
        assert_int_equal(t.status, 413);
        t.replies = 0;
        t.server.body_bytes = 3990; /* of others */
        ask("POST", "/v1/execute", json_pack("{s:s}", "code", "1"), &whole);
        turn();
        assert_int_equal(t.status, 503);
        t.server.body_bytes = 0;
}

static void test_error_with_its_header(void **state) {
        (void)state;
        run(refuse, &whole);
        assert_int_equal(t.status, 503);
        assert_string_equal(t.retry_after, "1");
        assert_string_equal(t.text,
                            "{\"error\":{\"type\":\"overloaded\",\"message\":\"Too much of 42.\",\"param\":\"code\"}}");
}

static void test_files(void **state) {
        (void)state;
        run(reply_file, &whole);
        assert_int_equal(t.status, 200);
        assert_string_equal(t.type, "text/csv");
        assert_int_equal(t.length, 100);
        assert_memory_equal(t.text, "abc", 3);
        t.replies = 0;
        run(reply_file, &small_files);
        assert_int_equal(t.status, 413);
        assert_non_null(strstr(t.text, "100 bytes; at most 99"));
        t.replies = 0;
        run(reply_short_file, &whole);
        assert_int_equal(t.status, 500);
        t.replies = 0;
        run(reply_empty, &whole);
        assert_int_equal(t.status, 204);
        assert_string_equal(t.type, "none");
        assert_int_equal(t.length, 0);
}

static void test_parent_may_end_first(void **state) {
        (void)state;
        t.handle = answer_what_is_seen;
        ask("POST", "/v1/execute", json_pack("{s:s}", "code", "1"), &whole);
        memset(&t.parent, 0xa5, sizeof(t.parent));
        turn();
        assert_non_null(strstr(t.text, "192.0.2.1"));
}

static void test_answer_later_and_drop(void **state) {
        (void)state;
        run(hold, &whole);
        assert_int_equal(t.replies, 0);
        http_reply_json(t.held, 200, json_pack("{}"));
        assert_int_equal(t.replies, 0); /* never from inside of a handler */
        turn();
        assert_int_equal(t.replies, 1);
        t.replies = 0;
        run(drop, &whole);
        assert_int_equal(t.replies, 1);
        assert_int_equal(t.status, 0);
}

static void test_cancel(void **state) {
        (void)state;
        t.handle = hold;
        ask("POST", "/v1/execute", json_pack("{s:s}", "code", "1"), &whole);
        subrequest_cancel(t.sub); /* before the handler has it */
        turn();
        assert_null(t.held);
        run(hold, &whole);
        subrequest_cancel(t.sub);
        turn();
        assert_int_equal(t.gone, 1);
        run(hold, &whole);
        http_reply_json(t.held, 200, json_pack("{}"));
        subrequest_cancel(t.sub); /* with the answer on its way */
        turn();
        assert_int_equal(t.gone, 1);
        assert_int_equal(t.replies, 0);
}

static void test_stream(void **state) {
        (void)state;
        t.outer_pending = 5;
        run(stream, &streaming);
        assert_int_equal(t.streamed, 20);
        assert_int_equal(t.drained, 0);
        assert_int_equal(t.ends, 0);
        t.outer_pending = 0;
        subrequest_drained(t.sub);
        turn();
        assert_int_equal(t.drained, 1);
        assert_int_equal(t.streamed, 24);
        assert_int_equal(t.ends, 1);
        assert_int_equal(t.replies, 0);
}

static void test_stream_cancelled_from_the_sink(void **state) {
        (void)state;
        t.cancel_in_stream = true;
        t.outer_pending = 1;
        run(stream, &streaming);
        turn();
        assert_int_equal(t.streamed, 20);
        assert_int_equal(t.gone, 1);
        assert_int_equal(t.ends + t.replies, 0);
}

static void test_stream_that_is_not_taken(void **state) {
        (void)state;
        run(stream, &whole);
        assert_int_equal(t.gone, 1);
        assert_int_equal(t.replies, 1);
        assert_int_equal(t.status, 0);
        t.replies = 0;
        run(stream_and_end, &whole);
        assert_int_equal(t.replies, 1);
        assert_int_equal(t.status, 0);
}

static void test_escape(void **state) {
        (void)state;
        char *escaped = subrequest_escape("a b/c?d=\xc3\xa9-._~%");
        assert_string_equal(escaped, "a%20b%2Fc%3Fd%3D%C3%A9-._~%25");
        free(escaped);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(test_handler_sees_a_request),
                TEST(test_bytes_are_checked_as_on_the_wire),
                TEST(test_refusals),
                TEST(test_body_limits),
                TEST(test_error_with_its_header),
                TEST(test_files),
                TEST(test_parent_may_end_first),
                TEST(test_answer_later_and_drop),
                TEST(test_cancel),
                TEST(test_stream),
                TEST(test_stream_cancelled_from_the_sink),
                TEST(test_stream_that_is_not_taken),
                TEST(test_escape),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
