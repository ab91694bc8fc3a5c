/* E2B's code interpreter: runs; see door_e2b.h. */
#include "api/door_e2b.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/door_call.h"
#include "api/door_e2b_lines.h"
#include "api/http.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "base/loop.h"

#define NAME_CHARACTERS NAME_LETTERS NAME_DIGITS "_-"
#define HELD_NS (100 * NS_PER_MS) /* that an unfinished line waits for its end */

static const char *const fields[] = {"code", "context_id", "language", NULL};

struct execution {
        struct door_call call; /* first */
        bool is_default, begun;
        struct e2b_lines lines;
        struct loop_source *held; /* a timer, while something is held back */
        char conversation[E2B_CONVERSATION_BYTES];
        json_t *code;
};

bool e2b_is_python(const char *language) {
        return strcmp(language, "python") == 0 || strcmp(language, "python3") == 0;
}

static bool refuse_name(struct http_request *request, const char *what) {
        http_reply_error(request, HTTP_INVALID_REQUEST, NULL,
                         "The id of a %s must be 1 to %d characters of A-Z, a-z, 0-9, \"_\" and \"-\".", what,
                         E2B_NAME_MAX);
        return false;
}

bool e2b_conversation_in(struct http_request *request, const char *sandbox, const char *context,
                         char to[E2B_CONVERSATION_BYTES]) {
        if (!name_is_of(sandbox, NAME_CHARACTERS, NAME_CHARACTERS, E2B_NAME_MAX))
                return refuse_name(request, "sandbox");
        if (!name_is_of(context, NAME_CHARACTERS, NAME_CHARACTERS, E2B_NAME_MAX))
                return refuse_name(request, "context");
        snprintf(to, E2B_CONVERSATION_BYTES, E2B_AGENT ":%s:%s", sandbox, context);
        return true;
}

bool e2b_conversation(struct http_request *request, const char *context, char to[E2B_CONVERSATION_BYTES]) {
        const char *sandbox = http_header(request, "E2b-Sandbox-Id");
        return e2b_conversation_in(request, sandbox ? sandbox : E2B_DEFAULT, context, to);
}

static struct execution *execution_of(struct door_call *call) {
        return (struct execution *)(void *)call;
}

static void execution_deinit(struct door_call *call) {
        struct execution *execution = execution_of(call);
        loop_remove(call->api->loop, &execution->held);
        e2b_lines_deinit(&execution->lines);
        json_decref(execution->code);
}

static uint64_t now_ns(void) {
        return (uint64_t)clock_wall_ms() * NS_PER_MS;
}

static void send(struct execution *execution, struct json_out *out) {
        if (!out->failed && out->used > 0)
                http_stream_write(execution->call.request, out->bytes, out->used);
        json_out_deinit(out);
}

static void flush(struct execution *execution) {
        struct json_out out;
        json_out_init(&out, 0);
        e2b_lines_flush(&execution->lines, &out, now_ns());
        send(execution, &out);
}

static void on_held(void *data) {
        struct execution *execution = data;
        execution->held = NULL;
        flush(execution);
}

static void write_lines(struct door_call *call, const char *bytes, size_t length) {
        struct execution *execution = execution_of(call);
        struct json_out out;
        if (!execution->begun)
                http_stream_begin(call->request, "application/x-ndjson");
        execution->begun = true;
        json_out_init(&out, length);
        e2b_lines_write(&execution->lines, &out, bytes, length, now_ns());
        send(execution, &out);
        if (e2b_lines_hold(&execution->lines) && !execution->held)
                loop_add_timer(call->api->loop, HELD_NS, on_held, execution, &execution->held);
}

static void end_lines(struct door_call *call) {
        flush(execution_of(call)); /* nothing is held back, but after a run whose end was not told */
        http_stream_end(call->request);
        door_end(call);
}

/* It has not begun: a run that has answers in events. */
static void on_refused(struct door_call *call, unsigned status, json_t *reply) {
        door_pass_error(call, status, reply);
}

/* The run that made a context counts among the conversation's; the default context has none such. */
static void on_context(struct door_call *call, unsigned status, json_t *reply) {
        struct execution *execution = execution_of(call);
        json_int_t runs = json_integer_value(json_object_get(reply, "run_count"));
        if (status == 404 && !execution->is_default) {
                door_refuse(call, HTTP_NOT_FOUND, "context_id",
                            "There is no such context: it was deleted, or has expired.");
                return;
        }
        if (status != 200 && status != 404) {
                door_pass_error(call, status, reply);
                return;
        }
        execution->lines.number = runs + execution->is_default;
        call->events = write_lines;
        call->events_end = end_lines;
        door_execute(call, E2B_AGENT,
                     json_pack("{s:O, s:s, s:b, s:b}", "code", execution->code, "conversation_id",
                               execution->conversation, "inline_files", 0, "stream", 1),
                     on_refused);
}

/* Takes what is asked for; false: it was refused, and the call is over. */
static bool take(struct execution *execution, json_t *body) {
        struct door_call *call = &execution->call;
        const char *context, *language;
        struct err e = {0};
        if (door_text(body, "context_id", &context, &e) < 0 || door_text(body, "language", &language, &e) < 0) {
                door_refuse_err(call, &e);
                return false;
        }
        if (!json_is_string(json_object_get(body, "code"))) {
                door_refuse(call, HTTP_INVALID_REQUEST, "code", "code must be a text.");
                return false;
        }
        if (context && language) {
                door_refuse(call, HTTP_INVALID_REQUEST, "language", "Give context_id or language, not both.");
                return false;
        }
        if (language && !e2b_is_python(language)) {
                door_refuse(call, HTTP_INVALID_REQUEST, "language",
                            "language must be \"python\": only Python is run here.");
                return false;
        }
        execution->code = json_incref(json_object_get(body, "code"));
        execution->is_default = !context || strcmp(context, E2B_DEFAULT) == 0;
        if (e2b_conversation(call->request, context ? context : E2B_DEFAULT, execution->conversation))
                return true;
        door_end(call);
        return false;
}

void e2b_handle_execute(struct api *api, struct http_request *request) {
        struct door_call *call;
        json_t *body;
        if (!door_begin(api, request, sizeof(struct execution), execution_deinit, &call) ||
            !(body = door_body(call, fields)))
                return;
        bool good = take(execution_of(call), body);
        json_decref(body);
        if (!good)
                return;
        CLEANUP_FREE char *target = door_target("/v1/conversations/", execution_of(call)->conversation, "");
        door_ask(call, "GET", target, NULL, on_context);
}
