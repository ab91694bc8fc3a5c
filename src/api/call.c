/* POST /v1/call; see call.h. */
#include "api/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/call_private.h"
#include "api/conversation_admission.h"
#include "api/conversation_events.h"
#include "api/egress_audit.h"
#include "api/engine.h"
#include "api/http.h"
#include "api/images.h"
#include "api/metrics.h"
#include "api/paging.h"
#include "api/run_refusal.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"

static void enlist(struct call *call) {
        struct call **first = &call->api->calls;
        call->next = *first;
        call->place = first;
        if (call->next)
                call->next->place = &call->next;
        *first = call;
}

void call_free(void *data) {
        struct call *call = data;
        *call->place = call->next;
        if (call->next)
                call->next->place = call->place;
        if (call->holds_image)
                images_release(call->api->images, call->what.image);
        call_error_deinit(&call->error);
        store_image_deinit(&call->image);
        free(call->reference);
        free(call->arguments);
        free(call->frame);
        free(call->reply.bytes);
        json_decref(call->body);
        keyed_end(call->keyed);
        free(call);
}

bool call_is_running(const struct api *api, int64_t project_id, const char *conversation) {
        for (const struct call *call = api->calls; call; call = call->next)
                if (call->conversation_id && call->request->auth.project_id == project_id &&
                    strcmp(call->conversation_id, conversation) == 0)
                        return true;
        return false;
}

/* ---- the answer */

static void send_reply(void *data) {
        struct call *call = data;
        struct engine *engine = call->api->engine;
        struct run *run = call->run;
        char *bytes = TAKE_PTR(call->reply.bytes);
        call->run = NULL;
        http_reply_take(call->request, 200, "application/json", bytes, call->reply.length); /* NULL answers 500 */
        call_free(call);
        if (run)
                engine_run_release(engine, run);
}

/* The run is held where it or the reply is kept. */
static void answer(struct call *call) {
        if (call->keyed)
                keyed_keep(call->keyed, call->run, call->reply.bytes, call->reply.length, send_reply, call);
        else
                send_reply(call);
}

static void on_saved(void *data, int result) {
        struct call *call = data;
        if (result < 0)
                log_error("a call could not be kept", "run", call->run->id, "error", log_errno(result));
        else if (result == 0)
                conversation_events_publish(call->api->events, &call->keep.run);
        answer(call);
}

/* On the store's thread. */
static const char *give_reply(void *data, size_t *ret_length) {
        const struct call *call = data;
        *ret_length = call->reply.length;
        return call->reply.bytes;
}

static void copy(char *to, size_t size, const char *from) {
        snprintf(to, size, "%s", from);
}

static void describe(struct call *call) {
        const struct run *run = call->run;
        struct store_run *row = &call->keep.run;
        copy(row->id, sizeof(row->id), run->id);
        copy(row->conversation, sizeof(row->conversation), call->conversation_id);
        copy(row->agent, sizeof(row->agent), call->agent);
        copy(row->tool, sizeof(row->tool), call->tool);
        copy(row->sandbox_id, sizeof(row->sandbox_id), run->sandbox_id);
        copy(row->outcome, sizeof(row->outcome), outcome_name(call->facts.outcome.outcome));
        row->project_id = call->request->auth.project_id;
        row->exit_code = call->facts.outcome.exit_code;
        row->started_ms = run->started_at_ms;
        row->wall_us = run->claimed_ns > 0 ? (int64_t)((run->ended_ns - run->claimed_ns) / 1000) : 0;
        row->cpu_us = (int64_t)run->end.cpu_us;
        row->memory_max_bytes = (int64_t)run->end.memory_peak;
}

/* Arguments and reply go beside the conversation, before the client has the answer. */
static void keep(struct call *call) {
        const struct config *config = call->api->config;
        call->keep = (struct store_new_run){
                .conversation_id = call->conversation.id,
                .quota = {config->quota_bytes, config->quota_files},
                .code = call->arguments,
                .code_length = strlen(call->arguments),
                .write_reply = give_reply,
                .done = on_saved,
                .data = call,
        };
        describe(call);
        int r = store_run_save(call->api->store, &call->keep);
        if (r < 0)
                on_saved(call, r);
}

/* ---- news of the run */

static void note_end(const struct call *call, const struct run *run) {
        struct metrics *metrics = call->api->metrics;
        const char *outcome = outcome_name(call->facts.outcome.outcome);
        const char *limit = outcome_limit(call->facts.outcome.outcome);
        char trace[TRACE_ID_BYTES];
        metrics_add(metrics, METRIC_CALLS, 1, outcome);
        if (limit)
                metrics_add(metrics, METRIC_LIMIT_KILLS, 1, limit);
        if (run->started_ns > 0)
                metrics_observe_ns(metrics, METRIC_CALL_START_SECONDS, run->started_ns - run->making_ns);
        if (run->claimed_ns > 0)
                metrics_observe_ns(metrics, METRIC_CALL_SECONDS, run->ended_ns - run->claimed_ns);
        for (uint32_t i = EGRESS_ALLOWED; i <= EGRESS_FAILED; i++)
                if (run->egress.decisions[i] > 0)
                        metrics_add(metrics, METRIC_CALL_CONNECTIONS, run->egress.decisions[i],
                                    egress_decision_name(i));
        trace_id(call->request->trace, trace);
        log_info("call ended", "request", call->request->id, "project", call->request->auth.project, "agent",
                 call->agent, "tool", call->tool, "run", run->id, "sandbox", run->sandbox_id, "outcome", outcome,
                 "exit_code", log_num(call->facts.outcome.exit_code), *trace ? "trace" : NULL, trace);
        audit_add(call->api, call->request, AUDIT_CALL, run->id,
                  json_pack("{s:s, s:s, s:s, s:s}", "sandbox", run->sandbox_id, "agent", call->agent, "tool", call->tool,
                            "outcome", outcome));
        audit_egress(call->api, call->request, run);
}

static void on_done(struct run *run, void *data) {
        struct call *call = data;
        call->over = true;
        call_reply_make(call, run);
        note_end(call, run);
        bool is_kept = call->conversation_id && call->reply.bytes;
        if (!is_kept && !call->keyed) {
                call->run = NULL;
                answer(call);
                return;
        }
        engine_run_hold(call->api->engine, run);
        if (is_kept)
                keep(call);
        else
                answer(call);
}

static void on_refused(struct run *run, void *data, enum run_refusal why) {
        struct call *call = data;
        answer_refused_run(call->api, call->request, run, why);
        call_free(call);
}

static const struct run_handler handler = {.on_done = on_done, .on_refused = on_refused};

/*
 * The client is gone: its call ends at once, unless it has ended by itself; then it is kept, and the answer gets lost.
 * With an Idempotency-Key it goes on, as the client may come again for its reply.
 */
static void on_gone(struct http_request *request, void *data) {
        struct call *call = data;
        if (call->over || call->keyed)
                return;
        if (call->run) {
                log_info("the client is gone; its call is ended", "request", request->id, "run", call->run->id,
                         "state", run_state_name(call->run->machine.state));
                run_cancel(call->run);
        }
        http_drop(request);
        call_free(call);
}

/* ---- from the request to the run */

static void start(struct call *call) {
        if (http_is_gone(call->request)) { /* while the conversation was made */
                http_drop(call->request);
                call_free(call);
                return;
        }
        call->run = engine_run_new(call->api->engine, &call->what, &handler, call);
        if (!call->run) {
                http_reply_error(call->request, HTTP_OVERLOADED, NULL,
                                 "The service has no memory left for this run.");
                call_free(call);
                return;
        }
        http_on_disconnect(call->request, on_gone, call);
        engine_run_submit(call->api->engine, call->run);
}

static void on_begun(void *data, int result) {
        if (result == 0)
                start(data);
        else
                call_free(data);
}

static void begin(struct call *call) {
        if (call->keyed)
                keyed_begin(call->keyed, call->conversation_id, false, on_begun, call);
        else
                start(call);
}

static void on_used(void *data, int result) {
        struct call *call = data;
        if (result == 0) {
                begin(call);
                return;
        }
        if (result == STORE_E_CONFLICT)
                answer_conversation_of_other(call->request, call->conversation_id, call->conversation.agent);
        else if (result == STORE_E_NOT_FOUND)
                http_reply_error(call->request, HTTP_NOT_FOUND, "agent",
                                 "The agent \"%.64s\" was deleted while this call was on its way.", call->agent);
        else
                answer_store_failure(call->request);
        call_free(call);
}

static void use_conversation(struct call *call) {
        call->use = (struct store_use){
                .project_id = call->request->auth.project_id,
                .name = call->conversation_id,
                .agent = call->agent,
                .ret = &call->conversation,
                .done = on_used,
                .data = call,
        };
        int r = store_conversation_use_soon(call->api->store, &call->use);
        if (r != STORE_E_LATER)
                on_used(call, r);
}

void call_handle(struct api *api, struct http_request *request) {
        struct keyed *keyed;
        if (!idempotency_admit(api, request, call_handle, &keyed))
                return;
        struct call *call = calloc(1, sizeof(*call));
        if (!call) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                keyed_end(keyed);
                return;
        }
        call->api = api;
        call->request = request;
        call->keyed = keyed;
        enlist(call);
        bool good = call_request_take(call);
        if (good && call->conversation_id)
                good = conversation_admits(api, request, call->conversation_id, call->agent);
        if (!good)
                call_free(call);
        else if (call->conversation_id)
                use_conversation(call);
        else
                begin(call);
}
