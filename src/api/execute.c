/* POST /v1/execute; see execute.h. */
#include "api/execute.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/engine.h"
#include "api/execute_events.h"
#include "api/execute_reply.h"
#include "api/execute_request.h"
#include "api/http.h"
#include "api/metrics.h"
#include "base/config.h"
#include "base/log.h"
#include "run/input_names.h"

/* One request on its way. Freed when it has had its terminal call. */
struct execution {
        struct api *api;
        struct http_request *request;
        struct execute_request what;
        struct execute_events events; /* only with `stream` */
        struct run *run;              /* NULL once it has ended: the engine frees it */
};

static void execution_free(void *data) {
        struct execution *execution = data;
        execute_events_deinit(&execution->events);
        execute_request_deinit(&execution->what);
        free(execution);
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

static void note_end(const struct execution *execution, const struct run *run) {
        struct metrics *metrics = execution->api->metrics;
        const char *outcome = outcome_name(run->outcome.outcome);
        metrics_add(metrics, METRIC_RUNS, 1, outcome);
        if (run->started_ns > 0)
                metrics_observe_ns(metrics, METRIC_START_SECONDS, run->started_ns - run->claimed_ns);
        if (run->claimed_ns > 0)
                metrics_observe_ns(metrics, METRIC_RUN_SECONDS, run->ended_ns - run->claimed_ns);
        log_info("run ended", "request", execution->request->id, "project", execution->request->auth.project, "run",
                 run->id, "sandbox", run->sandbox_id, "outcome", outcome, "exit_code", log_num(run->outcome.exit_code));
}

static void on_done(struct run *run, void *data) {
        struct execution *execution = data;
        struct http_request *request = execution->request;
        struct json_out out;

        execution->run = NULL;
        json_out_init(&out, 0);
        execute_reply_write(&out, run, &execution->what, execution->api->config,
                            engine_libraries(execution->api->engine));
        note_end(execution, run);
        if (out.failed)
                json_out_deinit(&out);
        if (execution->what.stream) {
                if (!out.bytes)
                        execute_events_finish_error(&execution->events, run,
                                                    "The service has no memory left for the reply.", execution_free,
                                                    execution);
                else
                        execute_events_finish(&execution->events, run, "done", &out, execution_free, execution);
                return;
        }
        http_reply_take(request, 200, "application/json", out.bytes, out.used); /* NULL answers 500 */
        execution_free(execution);
}

static void refuse_input(const struct run *run, struct http_request *request) {
        char why[160];
        switch (run->input_error.error) {
        case ENOSPC:
                snprintf(why, sizeof(why),
                         "does not fit: the working directory holds 128 MiB and 16384 files and folders. Send fewer "
                         "or smaller files");
                break;
        case ENOMEM:
                snprintf(why, sizeof(why),
                         "does not fit into the sandbox's memory of 512 MiB. Send fewer or smaller files");
                break;
        default:
                snprintf(why, sizeof(why), "could not be written into the working directory (%s)",
                         strerror(run->input_error.error));
        }
        http_reply_error(request, HTTP_INVALID_REQUEST, "files", "The input file \"%.*s\" %s.",
                         (int)input_name_shown(run->input_error.name), run->input_error.name, why);
}

static void refuse_overloaded(const struct execution *execution, const char *why) {
        char seconds[16];
        unsigned wait = engine_retry_after_s(execution->api->engine);
        snprintf(seconds, sizeof(seconds), "%u", wait);
        http_reply_header(execution->request, "Retry-After", seconds);
        http_reply_error(execution->request, HTTP_OVERLOADED, NULL, "%s Try again in %u s.", why, wait);
}

static void on_refused(struct run *run, void *data, enum run_refusal why) {
        struct execution *execution = data;
        const struct config *config = execution->api->config;
        char text[200];
        assert(!execution->events.begun);
        switch (why) {
        case RUN_REFUSED_INPUT:
                refuse_input(run, execution->request);
                break;
        case RUN_REFUSED_QUEUE_FULL:
                snprintf(text, sizeof(text),
                         "All %lld places for running code are taken, and %lld requests wait already, which is the "
                         "most.",
                         (long long)config->max_concurrent, (long long)config->queue_max);
                refuse_overloaded(execution, text);
                break;
        case RUN_REFUSED_WAITED:
                snprintf(text, sizeof(text), "No sandbox became free within %lld s.",
                         (long long)config->queue_timeout_s);
                refuse_overloaded(execution, text);
                break;
        case RUN_REFUSED_STOPPING:
                refuse_overloaded(execution, "The service is being stopped.");
                break;
        case RUN_REFUSED_MEMORY:
                refuse_overloaded(execution, "The service has no memory left for this run.");
                break;
        }
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

/* The client is gone: its run ends at once, in whatever state it is. */
static void on_gone(struct http_request *request, void *data) {
        struct execution *execution = data;
        if (execution->run) {
                log_info("the client is gone; its run is ended", "request", request->id, "run", execution->run->id,
                         "state", run_state_name(execution->run->machine.state));
                run_cancel(execution->run);
        }
        http_drop(request);
        execution_free(execution);
}

void execute_handle(struct api *api, struct http_request *request) {
        struct execution *execution = calloc(1, sizeof(*execution));
        if (!execution) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                return;
        }
        execution->api = api;
        execution->request = request;
        execute_events_init(&execution->events, api->loop, request);
        if (!execute_request_take(&execution->what, api->config, request)) {
                execution_free(execution);
                return;
        }
        execution->run = engine_run_new(api->engine, &execution->what.run, &handler, execution);
        if (!execution->run) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this run.");
                execution_free(execution);
                return;
        }
        http_on_disconnect(request, on_gone, execution);
        engine_run_submit(api->engine, execution->run);
}
