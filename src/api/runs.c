/* Kept runs; see runs.h. */
#include "api/runs.h"

#include <string.h>

#include "api/api.h"
#include "api/http.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "run/json_out.h"
#include "store/conversations.h"

json_t *run_json(const struct store_run *run) {
        json_t *usage = json_pack("{s:f, s:f, s:I}", "wall_ms", (double)run->wall_us / 1000, "cpu_ms",
                                  (double)run->cpu_us / 1000, "max_memory_bytes", (json_int_t)run->memory_max_bytes);
        return json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:s, s:i, s:b, s:o, s:I, s:I, s:o}", "run_id", run->id,
                         "conversation_id", run->conversation, "agent", *run->agent ? run->agent : NULL, "tool",
                         *run->tool ? run->tool : NULL, "sandbox_id", run->sandbox_id, "outcome", run->outcome, "exit_code", run->exit_code, "stateful",
                         (int)run->stateful, "started_at", time_ms_json(run->started_ms), "result_count",
                         (json_int_t)run->results, "file_count", (json_int_t)run->files, "usage", usage);
}

/*
 * What was called, in place of code. The members that only snippets have are there as well, so that whoever shows runs
 * needs to know nothing of calls.
 */
static void write_call(struct json_out *out, const struct store_run *run, const char *arguments) {
        json_out_key(out, "code");
        json_out_quote_begin(out);
        json_out_quote_part(out, run->tool, strlen(run->tool));
        json_out_quote_part(out, "(", 1);
        json_out_quote_part(out, arguments, strlen(arguments));
        json_out_quote_part(out, ")", 1);
        json_out_quote_end(out);
        json_out_key(out, "arguments");
        json_out_raw(out, arguments, strlen(arguments));
        json_out_text(out, ",\"results\":[],\"files\":[],\"files_skipped\":[],\"files_skipped_unnamed\":0,"
                           "\"files_complete\":true,\"session\":{\"stateful\":false,\"restarted\":false,"
                           "\"message\":null}");
}

/*
 * The reply as it was given, with the code and the time before its members. Both are texts of JSON already: nothing is
 * parsed, as they may have megabytes.
 */
static bool write_run(struct json_out *out, const struct store_run *run, const char *code, const char *reply) {
        json_t *started = time_ms_json(run->started_ms);
        if (reply[0] != '{' || !started)
                out->failed = true;
        json_out_reserve(out, strlen(code) + strlen(reply) + 256);
        json_out_open(out, '{');
        json_out_member_string(out, "started_at", started ? json_string_value(started) : NULL);
        if (run->tool[0])
                write_call(out, run, code);
        else
                json_out_member_string(out, "code", code);
        json_out_text(out, ",");
        json_out_text(out, reply + 1);
        json_decref(started);
        return !out->failed;
}

void runs_handle_get(struct api *api, struct http_request *request) {
        CLEANUP_FREE char *code = NULL, *reply = NULL;
        struct store_run run;
        struct json_out out;

        int r = store_run_get(api->store, request->auth.project_id, request->params[0], &run, &code, &reply);
        if (r == STORE_E_NOT_FOUND) {
                http_reply_error(request, HTTP_NOT_FOUND, NULL,
                                 "There is no run of this id: runs are kept with their conversation, as long as it "
                                 "lives.");
                return;
        }
        if (r != 0) {
                answer_store_failure(request);
                return;
        }
        json_out_init(&out, 0);
        if (!write_run(&out, &run, code, reply)) {
                log_error("a kept run cannot be shown", "run", run.id);
                json_out_deinit(&out);
                answer_store_failure(request);
                return;
        }
        http_reply_take(request, 200, "application/json", TAKE_PTR(out.bytes), out.used);
        json_out_deinit(&out);
}
