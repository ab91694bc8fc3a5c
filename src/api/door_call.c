/* One request at a front door; see door_call.h. */
#include "api/door_call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/api.h"
#include "api/http.h"
#include "api/http_error.h"
#include "api/json.h"
#include "base/cleanup.h"

#define PENDING_RESUME (256 << 10)

/* Calls that make an agent, or wait for one that does; of all projects and doors. */
static struct door_call *making;

static void leave(struct door_call *call);

void door_end(struct door_call *call) {
        leave(call);
        if (call->deinit)
                call->deinit(call);
        if (call->subrequest)
                subrequest_cancel(call->subrequest);
        json_decref(call->execute);
        free(call);
}

/* An agent that is begun is made whole, or it would stay without a session for ever. */
static void on_gone(struct http_request *request, void *data) {
        struct door_call *call = data;
        call->gone = call->agent_state == DOOR_AGENT_MAKING;
        if (call->gone)
                return;
        http_drop(request);
        door_end(call);
}

bool door_begin(struct api *api, struct http_request *request, size_t size, void (*deinit)(struct door_call *call),
                struct door_call **ret) {
        struct door_call *call = calloc(1, size);
        if (!call) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                return false;
        }
        call->api = api;
        call->request = request;
        call->project_id = request->auth.project_id;
        call->deinit = deinit;
        http_on_disconnect(request, on_gone, call);
        *ret = call;
        return true;
}

/* ---- the engine's answers */

static bool is_json(const char *content_type) {
        return content_type && strncmp(content_type, "application/json", strlen("application/json")) == 0;
}

static void on_reply(void *data, unsigned status, const char *content_type, const void *body, size_t length) {
        struct door_call *call = data;
        const char *retry_after = subrequest_reply_header(call->subrequest, "Retry-After");
        call->subrequest = NULL;
        if (status == 0) {
                http_drop(call->request);
                door_end(call);
                return;
        }
        if (retry_after && status >= 400)
                http_reply_header(call->request, "Retry-After", retry_after);
        json_t *reply = is_json(content_type) ? json_loadb(body, length, JSON_ALLOW_NUL, NULL) : NULL;
        call->body = body;
        call->body_length = length;
        call->content_type = content_type;
        call->then(call, status, reply);
        json_decref(reply);
}

static void on_stream(void *data, const void *bytes, size_t length) {
        struct door_call *call = data;
        call->events(call, bytes, length);
}

static void on_stream_end(void *data) {
        struct door_call *call = data;
        call->subrequest = NULL;
        call->events_end(call);
}

static void on_drained(struct http_request *request, void *data) {
        struct door_call *call = data;
        (void)request;
        if (call->subrequest)
                subrequest_drained(call->subrequest);
}

/* The run is made to wait while its client takes too little: see http_stream_pending. */
static size_t pending(void *data) {
        struct door_call *call = data;
        size_t bytes = http_stream_pending(call->request);
        if (bytes > PENDING_RESUME)
                http_on_drain(call->request, PENDING_RESUME, on_drained, call);
        return bytes;
}

void door_ask(struct door_call *call, const char *method, const char *target, json_t *body, door_answer_fn then) {
        static const struct subrequest_sink whole = {.on_reply = on_reply};
        static const struct subrequest_sink streamed = {
                .on_reply = on_reply,
                .on_stream = on_stream,
                .on_stream_end = on_stream_end,
                .pending = pending,
        };
        call->then = then;
        if (!target || subrequest_start(call->request, method, target, body, call->events ? &streamed : &whole, call,
                                        &call->subrequest) < 0)
                door_refuse(call, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
}

void door_run(struct door_call *call, json_t *body, door_answer_fn then) {
        if (!body)
                door_refuse(call, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
        else
                door_ask(call, "POST", "/v1/execute", body, then);
}

/* ---- runs of the door's agent */

static void on_executed(struct door_call *call, unsigned status, json_t *reply);

static bool is_for_agent_of(const struct door_call *one, const struct door_call *other) {
        return one->project_id == other->project_id && strcmp(one->agent, other->agent) == 0;
}

static bool is_being_made(const struct door_call *call) {
        for (const struct door_call *other = making; other; other = other->next)
                if (other->agent_state == DOOR_AGENT_MAKING && is_for_agent_of(other, call))
                        return true;
        return false;
}

static void enter(struct door_call *call, int state) {
        call->agent_state = state;
        call->next = making;
        making = call;
}

static void execute(struct door_call *call) {
        door_run(call, json_incref(call->execute), on_executed);
}

/* Those that have waited for this one look for themselves. */
static void wake_others(const struct door_call *made) {
        struct door_call *other = making;
        while (other) {
                if (other->agent_state != DOOR_AGENT_WAITED_FOR || !is_for_agent_of(other, made)) {
                        other = other->next;
                        continue;
                }
                leave(other);
                execute(other);
                other = making; /* it may have ended, and the list with it */
        }
}

static void leave(struct door_call *call) {
        bool was_making = call->agent_state == DOOR_AGENT_MAKING;
        struct door_call **place = &making;
        if (!was_making && call->agent_state != DOOR_AGENT_WAITED_FOR)
                return;
        while (*place != call)
                place = &(*place)->next;
        *place = call->next;
        call->agent_state = was_making ? DOOR_AGENT_MADE : DOOR_AGENT_UNKNOWN;
        if (was_making)
                wake_others(call);
}

static void execute_again(struct door_call *call, unsigned status, json_t *reply) {
        leave(call);
        if (call->gone) {
                http_drop(call->request);
                door_end(call);
        } else if (status >= 300) {
                door_pass_error(call, status, reply);
        } else {
                execute(call);
        }
}

static void set_session(struct door_call *call, unsigned status, json_t *reply) {
        CLEANUP_FREE char *target = door_target("/v1/agents/", call->agent, "/env/" AGENT_SETTING_SESSION);
        if (status >= 300)
                execute_again(call, status, reply);
        else
                door_ask(call, "PUT", target, json_pack("{s:s}", "value", "true"), execute_again);
}

static void make_agent(struct door_call *call) {
        CLEANUP_FREE char *target = door_target("/v1/agents/", call->agent, "");
        enter(call, DOOR_AGENT_MAKING);
        door_ask(call, "PUT", target, json_object(), set_session);
}

/* Between the two requests that make an agent it has no session: nobody may run with it then. */
static void on_executed(struct door_call *call, unsigned status, json_t *reply) {
        const char *param = json_string_value(json_object_get(json_object_get(reply, "error"), "param"));
        bool missing = status == 404 && param && strcmp(param, "agent") == 0;
        if (!missing || call->agent_state == DOOR_AGENT_MADE)
                call->executed(call, status, reply);
        else if (is_being_made(call))
                enter(call, DOOR_AGENT_WAITED_FOR);
        else
                make_agent(call);
}

void door_execute(struct door_call *call, const char *agent, json_t *body, door_answer_fn then) {
        call->agent = agent;
        call->executed = then;
        call->execute = body;
        if (body)
                json_object_set_new(body, "agent", json_string(agent));
        if (is_being_made(call))
                enter(call, DOOR_AGENT_WAITED_FOR);
        else
                execute(call);
}

/* ---- ends */

void door_reply(struct door_call *call, unsigned status, json_t *body) {
        http_reply_json(call->request, status, body);
        door_end(call);
}

void door_reply_empty(struct door_call *call, unsigned status) {
        http_reply_empty(call->request, status);
        door_end(call);
}

void door_refuse(struct door_call *call, enum http_error kind, const char *param, const char *format, ...) {
        char message[1024];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
        http_reply_error(call->request, kind, param, "%s", message);
        door_end(call);
}

void door_refuse_err(struct door_call *call, const struct err *e) {
        door_refuse(call, HTTP_INVALID_REQUEST, e->field, "%s", e->message);
}

void door_pass_error(struct door_call *call, unsigned status, const json_t *reply) {
        enum door door = route_door(call->request->route);
        const char *type = "internal", *message = "The service could not do this; its log says more.";
        json_unpack((json_t *)(uintptr_t)reply, "{s:{s?s, s?s}}", "error", "type", &type, "message", &message);
        door_reply(call, door_error_status(door, status), door_error_body(door, status, type, message));
}

json_t *door_body(struct door_call *call, const char *const *known) {
        struct err e = {0};
        json_t *body = NULL;
        int r = call->request->body_length == 0
                        ? 0
                        : json_parse_object(call->request->body, call->request->body_length, &body, &e);
        if (r == 0 && !body)
                body = json_object();
        http_release_body(call->request);
        if (r == 0 && body)
                r = door_check_fields(body, known, &e);
        if (r == 0 && body)
                return body;
        json_decref(body);
        if (r == -EINVAL)
                door_refuse_err(call, &e);
        else
                door_refuse(call, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
        return NULL;
}

char *door_target(const char *before, const char *name, const char *after) {
        CLEANUP_FREE char *escaped = subrequest_escape(name);
        char *target;
        return escaped && asprintf(&target, "%s%s%s", before, escaped, after) >= 0 ? target : NULL;
}
