/* What the service says about itself; see status.h. */
#include "api/status.h"

#include <stdlib.h>
#include <time.h>

#include "api/activity.h"
#include "api/api.h"
#include "api/call.h"
#include "api/engine.h"
#include "api/http.h"
#include "api/metrics.h"
#include "base/config.h"
#include "base/loop.h"
#include "spawn/frames.h"
#include "spawn/proto.h"
#include "store/conversations.h"

/* Alive: the loop turns. */
void status_handle_healthz(struct api *api, struct http_request *request) {
        (void)api;
        http_reply_json(request, 200, json_pack("{s:s}", "status", "ok"));
}

/* Ready: a run would be served. */
void status_handle_readyz(struct api *api, struct http_request *request) {
        if (api->draining)
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service is stopping.");
        else if (!engine_is_ready(api->engine))
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service is starting; no sandbox is ready yet.");
        else
                http_reply_json(request, 200, json_pack("{s:s}", "status", "ready"));
}

void status_handle_metrics(struct api *api, struct http_request *request) {
        size_t length = 0;
        struct store_usage kept;
        engine_update_metrics(api->engine);
        metrics_set(api->metrics, METRIC_INFO, 1, PRODUCT_VERSION);
        if (store_usage_all(api->store, &kept) == 0) {
                metrics_set(api->metrics, METRIC_KEPT_BYTES, (double)kept.bytes);
                metrics_set(api->metrics, METRIC_KEPT_FILES, (double)kept.files);
        }
        char *page = metrics_print(api->metrics, &length);
        http_reply_take(request, 200, "text/plain; version=0.0.4; charset=utf-8", page, length);
}

/* The numbers that are enforced, from where they are enforced. */
static json_t *limits(const struct config *config) {
        return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                         "timeout_s", (json_int_t)config->execute_timeout_s, "timeout_max_s",
                         (json_int_t)config->execute_max_timeout_s, "memory_bytes", (json_int_t)SANDBOX_MEMORY_BYTES,
                         "cpu_percent", (json_int_t)SANDBOX_CPU_PERCENT, "processes", (json_int_t)SANDBOX_PIDS,
                         "open_files", (json_int_t)SANDBOX_OPEN_FILES, "working_directory_bytes",
                         (json_int_t)SANDBOX_WORKDIR_BYTES, "tmp_bytes", (json_int_t)SANDBOX_TMP_BYTES,
                         "shared_memory_bytes", (json_int_t)SANDBOX_SHM_BYTES, "output_keep_bytes",
                         (json_int_t)config->output_keep_bytes, "output_max_bytes",
                         (json_int_t)config->output_max_bytes, "file_bytes", (json_int_t)FILE_BYTES_MAX, "files_bytes",
                         (json_int_t)FILES_BYTES_MAX, "files", (json_int_t)FILES_MAX, "input_files",
                         (json_int_t)INPUTS_MAX, "body_bytes", (json_int_t)config->body_max_bytes);
}

/* Of tool calls: what differs. */
static json_t *call_limits(void) {
        return json_pack("{s:i, s:i, s:I, s:i, s:i, s:i}", "timeout_s", CALL_TIMEOUT_S, "timeout_max_s",
                         CALL_TIMEOUT_MAX_S, "memory_bytes", (json_int_t)CALL_MEMORY_BYTES, "cpu_percent",
                         CALL_CPU_PERCENT, "body_bytes", CALL_REQUEST_BYTES_MAX, "reply_bytes", CALL_REPLY_BYTES_MAX);
}

void status_handle_environment(struct api *api, struct http_request *request) {
        json_t *reply = json_copy(api->environment);
        if (reply)
                json_object_set_new(reply, "limits", limits(api->config));
        if (reply)
                json_object_set_new(reply, "call_limits", call_limits());
        if (reply)
                json_object_set_new(reply, "idempotency_key", json_true()); /* the header is heeded */
        http_reply_json(request, 200, reply);
}

void status_handle_status(struct api *api, struct http_request *request) {
        json_t *reply = engine_status(api->engine);
        if (reply) {
                json_object_set_new(reply, "version", json_string(PRODUCT_VERSION));
                json_object_set_new(reply, "uptime_s",
                                    json_integer((json_int_t)((clock_now_ns() - api->started_ns) / NS_PER_S)));
                json_object_set_new(reply, "stopping", json_boolean(api->draining));
                json_object_set_new(reply, "activity", activity_json(api->activity, (int64_t)time(NULL) * 1000));
        }
        http_reply_json(request, 200, reply);
}
