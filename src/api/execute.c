/* POST /v1/execute; see execute.h. */
#include "api/execute.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/activity.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/call.h"
#include "api/engine.h"
#include "api/execution.h"
#include "api/http.h"
#include "api/metrics.h"
#include "api/run_refusal.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"

#define NOTING_WAITS_NS (NS_PER_MS / 5)

static void enlist(struct execution *execution) {
        struct execution **first = &execution->api->executions;
        execution->next = *first;
        execution->place = first;
        if (execution->next)
                execution->next->place = &execution->next;
        *first = execution;
}

void execution_free(void *data) {
        struct execution *execution = data;
        *execution->place = execution->next;
        if (execution->next)
                execution->next->place = execution->place;
        loop_remove(execution->api->loop, &execution->noting);
        execute_events_deinit(&execution->events);
        execute_request_deinit(&execution->what);
        free(execution->files);
        free(execution->not_kept);
        json_out_deinit(&execution->reply);
        keyed_end(execution->keyed);
        free(execution);
}

bool execute_is_running(const struct api *api, int64_t project_id, const char *conversation) {
        for (const struct execution *execution = api->executions; execution; execution = execution->next)
                if (execution->what.conversation_id && execution->request->auth.project_id == project_id &&
                    strcmp(execution->what.conversation_id, conversation) == 0)
                        return true;
        return call_is_running(api, project_id, conversation);
}

/* News of the run. */

static void on_started(struct run *run, void *data) {
        struct execution *execution = data;
        execute_events_start(&execution->events, run);
}

static void on_output(struct run *run, void *data, enum run_stream stream, const char *bytes, size_t length) {
        struct execution *execution = data;
        execute_events_output(&execution->events, run, stream, bytes, length);
}

static void on_result(struct run *run, void *data, const struct rendered *result) {
        struct execution *execution = data;
        execute_events_item(&execution->events, run, "result", result);
}

static void on_file(struct run *run, void *data, const struct rendered *file) {
        struct execution *execution = data;
        execute_events_item(&execution->events, run, "file", file);
}

static double span_ms(uint64_t from_ns, uint64_t to_ns) {
        return from_ns > 0 && to_ns >= from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_MS : -1;
}

static void note_activity(const struct execution *execution, const struct run *run) {
        const struct activity_times times = {
                .queue_ms = span_ms(run->queued_ns, run->claimed_ns),
                .start_ms = span_ms(run->claimed_ns, run->started_ns),
                .wall_ms = span_ms(run->claimed_ns, run->ended_ns),
        };
        activity_record(execution->api->activity, clock_wall_ms(), run->outcome.outcome, &times);
}

static void note_end(const struct execution *execution, const struct run *run) {
        char trace[TRACE_ID_BYTES];
        struct metrics *metrics = execution->api->metrics;
        const char *outcome = outcome_name(run->outcome.outcome), *limit = outcome_limit(run->outcome.outcome);
        metrics_add(metrics, METRIC_RUNS, 1, outcome);
        if (limit)
                metrics_add(metrics, METRIC_LIMIT_KILLS, 1, limit);
        if (run->started_ns > 0)
                metrics_observe_ns(metrics, METRIC_START_SECONDS, run->started_ns - run->claimed_ns);
        if (run->claimed_ns > 0)
                metrics_observe_ns(metrics, METRIC_RUN_SECONDS, run->ended_ns - run->claimed_ns);
        note_activity(execution, run);
        trace_id(execution->request->trace, trace);
        log_info("run ended", "request", execution->request->id, "project", execution->request->auth.project, "run",
                 run->id, "sandbox", run->sandbox_id, "outcome", outcome, "exit_code", log_num(run->outcome.exit_code),
                 *trace ? "trace" : NULL, trace);
        audit_add(execution->api, execution->request, AUDIT_RUN, run->id,
                  json_pack("{s:s, s:s*, s:s}", "sandbox", run->sandbox_id, "agent", execution->what.agent, "outcome",
                            outcome));
}

void execute_note_end(struct execution *execution) {
        if (!execution->noting)
                return;
        loop_remove(execution->api->loop, &execution->noting);
        note_end(execution, execution->run);
}

static void on_note(void *data) {
        struct execution *execution = data;
        execution->noting = NULL;
        note_end(execution, execution->run);
}

/* While the disk is at work. The writer, which has been woken for that, is not to wait for this processor. */
static void note_end_soon(struct execution *execution) {
        if (loop_add_timer(execution->api->loop, NOTING_WAITS_NS, on_note, execution, &execution->noting) < 0)
                note_end(execution, execution->run);
}

/* Files that are kept are told of when they are: until then their fate was not known. */
static void tell_files(struct execution *execution, struct run *run) {
        const struct run_files *files = &run->files;
        for (size_t i = 0; i < files->kept_count; i++) {
                struct json_out out;
                if (execution->files && execution->files[i].fate != STORE_FILE_KEPT)
                        continue;
                json_out_init(&out, 0);
                run_file_write(&files->kept[i], execution->what.run.inline_files, &out);
                const struct rendered item = {out.bytes, out.used};
                if (!out.failed)
                        execute_events_item(&execution->events, run, "file", &item);
                json_out_deinit(&out);
        }
}

/* `reply`: its bytes are taken over; NULL answers 500. */
static void send_reply(struct execution *execution, struct run *run, struct json_out *reply) {
        if (execution->what.stream) {
                tell_files(execution, run);
                if (!reply->bytes)
                        execute_events_finish_error(&execution->events, run,
                                                    "The service has no memory left for the reply.", execution_free,
                                                    execution);
                else
                        execute_events_finish(&execution->events, run, "done", reply, execution_free, execution);
                return;
        }
        http_reply_take(execution->request, 200, "application/json", TAKE_PTR(reply->bytes), reply->used);
        execution_free(execution);
}

void execute_compose(struct execution *execution, const struct run *run, bool inline_files) {
        const struct reply_view view = {&execution->note, execution->files, inline_files};
        struct json_out *reply = &execution->reply;
        json_out_deinit(reply);
        json_out_init(reply, 0);
        execute_reply_write(reply, run, &execution->what, engine_libraries(execution->api->engine), &view);
        if (reply->failed)
                json_out_deinit(reply);
}

/* What was kept of it is the reply itself, unless contents of files go with that. */
static void write_reply(struct execution *execution, const struct run *run) {
        bool inline_files = execution->what.run.inline_files;
        if (inline_files || !execution->reply.bytes)
                execute_compose(execution, run, inline_files);
}

static void send_written(struct execution *execution, struct run *run) {
        struct json_out reply = execution->reply;
        execution->reply = (struct json_out){.bytes = NULL};
        send_reply(execution, run, &reply);
}

static void answer(struct execution *execution, struct run *run) {
        write_reply(execution, run);
        send_written(execution, run);
}

static void on_reply_kept(void *data) {
        struct execution *execution = data;
        struct engine *engine = execution->api->engine;
        struct run *run = TAKE_PTR(execution->run);
        send_written(execution, run);
        engine_run_release(engine, run);
}

void execute_answer_held(struct execution *execution) {
        struct engine *engine = execution->api->engine;
        struct run *run = execution->run;
        if (execution->keyed) {
                write_reply(execution, run);
                keyed_keep(execution->keyed, run, execution->reply.bytes, execution->reply.used, on_reply_kept,
                           execution);
                return;
        }
        execution->run = NULL;
        answer(execution, run);
        engine_run_release(engine, run);
}

static void on_done(struct run *run, void *data) {
        struct execution *execution = data;
        struct session *session = execution->what.run.session;
        bool has_conversation = execution->what.conversation_id;
        execution->over = true;
        if (session) {
                session_note_files(session, &run->files);
                session_note_of(run, &execution->note);
                execution->not_kept = session_not_kept(session);
        }
        if (has_conversation || execution->keyed)
                engine_run_hold(execution->api->engine, run);
        if (has_conversation && execute_keep(execution)) {
                note_end_soon(execution);
                return;
        }
        note_end(execution, run);
        if (has_conversation) {
                execute_answer_unkept(execution);
        } else if (execution->keyed) {
                execute_answer_held(execution);
        } else {
                execution->run = NULL;
                answer(execution, run);
        }
}

static void on_refused(struct run *run, void *data, enum run_refusal why) {
        struct execution *execution = data;
        assert(!execution->events.begun);
        answer_refused_run(execution->api, execution->request, run, why);
        execution_free(execution);
}

static const struct run_handler handler = {
        .on_started = on_started,
        .on_output = on_output,
        .on_result = on_result,
        .on_file = on_file,
        .on_done = on_done,
        .on_refused = on_refused,
};

/*
 * The client is gone: its run ends at once, unless it has ended by itself; then it is kept, and the answer gets lost.
 * With an Idempotency-Key it goes on, as the client may come again for its reply.
 */
static void on_gone(struct http_request *request, void *data) {
        struct execution *execution = data;
        if (execution->keyed || execution->over || (execution->run && run_is_over(execution->run))) {
                execute_events_gone(&execution->events);
                return;
        }
        if (execution->run) {
                log_info("the client is gone; its run is ended", "request", request->id, "run", execution->run->id,
                         "state", run_state_name(execution->run->machine.state));
                run_cancel(execution->run);
        }
        http_drop(request);
        execution_free(execution);
}

/* The client may have gone while the request waited to be ready. */
static void start(struct execution *execution) {
        struct api *api = execution->api;
        struct session *session = execution->what.run.session;
        bool gone = http_is_gone(execution->request);
        execution->run = gone ? NULL : engine_run_new(api->engine, &execution->what.run, &handler, execution);
        if (!execution->run) {
                if (session)
                        sessions_give_up(session);
                if (gone)
                        http_drop(execution->request);
                else
                        http_reply_error(execution->request, HTTP_OVERLOADED, NULL,
                                         "The service has no memory left for this run.");
                execution_free(execution);
                return;
        }
        http_on_disconnect(execution->request, on_gone, execution);
        if (session)
                sessions_submit(session, execution->run);
        else
                engine_run_submit(api->engine, execution->run);
}

static void on_begun(void *data, int result) {
        struct execution *execution = data;
        if (result == 0) {
                start(execution);
                return;
        }
        if (execution->what.run.session)
                sessions_give_up(execution->what.run.session);
        execution_free(execution);
}

static void on_ready(struct execution *execution) {
        const struct execute_request *what = &execution->what;
        if (execution->keyed)
                keyed_begin(execution->keyed, what->conversation_id, what->stream, on_begun, execution);
        else
                start(execution);
}

void execute_handle(struct api *api, struct http_request *request) {
        struct keyed *keyed;
        if (!idempotency_admit(api, request, execute_handle, &keyed))
                return;
        struct execution *execution = calloc(1, sizeof(*execution));
        if (!execution) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                keyed_end(keyed);
                return;
        }
        execution->api = api;
        execution->request = request;
        execution->keyed = keyed;
        execute_events_init(&execution->events, api->loop, request);
        enlist(execution);
        if (execute_request_take(&execution->what, api->config, request))
                execute_prepare(execution, on_ready);
        else
                execution_free(execution);
}
