/* What requests are told whose Idempotency-Key has been here before; see idempotency_answers.h. */
#include "api/idempotency_answers.h"

#include <stdio.h>

#include "api/api.h"
#include "api/execute_events.h"
#include "api/http.h"
#include "api/idempotency.h"
#include "api/metrics.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"

static void count(const struct api *api, const char *result) {
        metrics_add(api->metrics, METRIC_IDEMPOTENCY, 1, result);
}

void answer_other_request(const struct api *api, struct http_request *request) {
        count(api, "conflict");
        http_reply_error(request, HTTP_CONFLICT, IDEMPOTENCY_HEADER,
                         "This Idempotency-Key was sent with another request within the last 24 hours. Send the same "
                         "path and body as then, byte for byte, or take a new key.");
}

static void answer_unknown(const struct api *api, struct http_request *request, const struct store_idempotency *row) {
        json_t *when = time_json(row->begun_ms);
        count(api, "unknown");
        http_reply_error(request, HTTP_CONFLICT, IDEMPOTENCY_HEADER,
                         "What this Idempotency-Key asked for was begun at %s and may have happened; its result is not "
                         "known, as the service was stopped meanwhile or could not keep it. It is not run again: look "
                         "at what it has done, then take a new key.",
                         when ? json_string_value(when) : "an unknown time");
        json_decref(when);
}

static void answer_not_kept(const struct api *api, struct http_request *request, const struct store_idempotency *row) {
        char why[80];
        count(api, "not_kept");
        if (row->state == STORE_IDEMPOTENCY_DELETED)
                snprintf(why, sizeof(why), "was deleted with its conversation");
        else
                snprintf(why, sizeof(why), "was not kept, as it is larger than %d bytes", IDEMPOTENCY_REPLY_BYTES_MAX);
        http_reply_error(request, HTTP_CONFLICT, IDEMPOTENCY_HEADER,
                         "What this Idempotency-Key asked for has happened (%s); its reply %s. It is not run again: "
                         "take a new key for that.",
                         row->run_id, why);
}

static void repeat(const struct api *api, struct http_request *request, struct store_idempotency *row) {
        count(api, "repeated");
        log_info("a reply is repeated", "request", request->id, "project", request->auth.project, "run", row->run_id);
        http_reply_header(request, "Idempotency-Replayed", "true");
        if (row->is_stream)
                execute_events_repeat(request, row->run_id, row->sandbox_id, row->reply, row->reply_length);
        else
                http_reply_take(request, 200, "application/json", TAKE_PTR(row->reply), row->reply_length);
}

void answer_as_before(const struct api *api, struct http_request *request, struct store_idempotency *row) {
        switch (row->state) {
        case STORE_IDEMPOTENCY_BEGUN:
                answer_unknown(api, request, row);
                break;
        case STORE_IDEMPOTENCY_KEPT:
                repeat(api, request, row);
                break;
        case STORE_IDEMPOTENCY_TOO_LARGE:
        case STORE_IDEMPOTENCY_DELETED:
                answer_not_kept(api, request, row);
                break;
        }
}

void answer_keys_full(const struct api *api, struct http_request *request) {
        count(api, "full");
        http_reply_error(request, HTTP_QUOTA_EXCEEDED, IDEMPOTENCY_HEADER,
                         "This project has used %lld keys within the last 24 hours (SANDBOX_IDEMPOTENCY_KEYS), or "
                         "their replies have %lld bytes (SANDBOX_IDEMPOTENCY_BYTES), which is the most. Send the "
                         "request without an Idempotency-Key, or again when the oldest are gone.",
                         (long long)api->config->idempotency_keys, (long long)api->config->idempotency_bytes);
}
