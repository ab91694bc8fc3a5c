/*
 * The reply of POST /v1/call.
 *
 * Runs in the api process. The whole of it is at most CALL_REPLY_BYTES_MAX: first less of the output goes into it, and if
 * that is not enough the result does not, and the outcome says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/call.h"
#include "api/call_hint.h"
#include "api/call_private.h"
#include "api/execute_reply.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "run/text.h"
#include "spawn/proto.h"

#define OUTPUT_TAIL_BYTES (32 << 10) /* of each stream, where there is little room */

static void write_tail(struct json_out *out, const char *key, const struct output *output) {
        static char tail[OUTPUT_TAIL_BYTES];
        size_t length = output_tail(output, tail, sizeof(tail));
        size_t skipped = length < output->written ? text_left_over(tail, length) : 0;
        json_out_key(out, key);
        json_out_bytes(out, tail + skipped, length - skipped);
}

static void write_short_output(struct json_out *out, const struct run *run) {
        const struct output *standard = &run->pipes[RUN_STDOUT].output, *errors = &run->pipes[RUN_STDERR].output;
        write_tail(out, "stdout", standard);
        write_tail(out, "stderr", errors);
        json_out_member_bool(out, "stdout_truncated", standard->written > OUTPUT_TAIL_BYTES);
        json_out_member_bool(out, "stderr_truncated", errors->written > OUTPUT_TAIL_BYTES);
}

static void write_egress(struct json_out *out, const struct run *run) {
        const struct rendered_list *records = &run->egress.records;
        json_out_key(out, "egress");
        json_out_open(out, '[');
        for (size_t i = 0; i < records->count; i++)
                json_out_raw(out, records->items[i].json, records->items[i].length);
        json_out_close(out, ']');
        /* False: the list may be cut off, or has come to its bound. */
        json_out_member_bool(out, "egress_complete",
                             run->egress.ended && !run->egress.failed && records->count < EGRESS_RECORDS_MAX);
}

static void write_result(struct json_out *out, const struct call *call, const struct run *run) {
        json_out_key(out, "result");
        if (call->has_result)
                json_out_raw(out, run->call_end.result.bytes, run->call_end.result.length);
        else
                json_out_null(out);
        json_out_key(out, "error");
        if (call->has_result)
                json_out_null(out);
        else
                call_error_write(&call->error, out);
}

static void write_hint(struct json_out *out, const struct call *call, const struct run *run) {
        char hint[CALL_HINT_BYTES];
        const struct call_hint_facts facts = {
                .outcome = call->facts.outcome.outcome,
                .error = call->has_result ? NULL : &call->error,
                .agent = call->agent,
                .reference = call->reference,
                .digest = call->image.digest,
                .timeout_ms = run->setup.request->timeout_ms,
                .timeout_max_ms = CALL_TIMEOUT_MAX_S * 1000,
                .env_strip = call->api->config->env_strip,
                .refused = run->egress.decisions[EGRESS_REFUSED],
                .started = run->started_ns > 0,
        };
        json_out_member_string(out, "hint", call_hint_choose(&facts, hint) ? hint : NULL);
}

static void write_reply(struct json_out *out, const struct call *call, const struct run *run, bool short_output) {
        json_out_init(out, 4096 + (call->has_result ? run->call_end.result.length : 0));
        json_out_open(out, '{');
        json_out_member_string(out, "agent", call->agent);
        json_out_member_string(out, "tool", call->tool);
        json_out_member_string(out, "conversation_id", call->conversation_id);
        json_out_member_string(out, "run_id", run->id);
        json_out_member_string(out, "sandbox_id", run->sandbox_id);
        json_out_member_string(out, "outcome", outcome_name(call->facts.outcome.outcome));
        json_out_member_int(out, "exit_code", call->facts.outcome.exit_code);
        write_result(out, call, run);
        if (short_output)
                write_short_output(out, run);
        else
                reply_write_output(out, run);
        write_egress(out, run);
        reply_write_usage(out, run);
        write_hint(out, call, run);
        json_out_close(out, '}');
}

static bool fits(const struct json_out *out) {
        return out->failed || out->used <= CALL_REPLY_BYTES_MAX;
}

static void judge(struct call *call, const struct run *run) {
        call->facts = (struct call_facts){
                .outcome = run->outcome,
                .wait_status = run->end.wait_status,
                .timeout_ms = run->setup.request->timeout_ms,
                .memory_bytes = CALL_MEMORY_BYTES,
                .output_max_bytes = run->setup.limits.output_max_bytes,
                .started = run->started_ns > 0,
        };
        call->has_result = call_end_judge(&run->call_end, &run->call_end.result, &call->facts, &call->error);
}

static void refuse_result(struct call *call, const struct run *run) {
        struct call_end too_large = {.bytes = NULL};
        call_end_refuse_size(&too_large, run->call_end.result.length);
        call->has_result = call_end_judge(&too_large, &too_large.result, &call->facts, &call->error);
}

void call_reply_make(struct call *call, const struct run *run) {
        struct json_out out;
        judge(call, run);
        write_reply(&out, call, run, false);
        if (!fits(&out)) {
                json_out_deinit(&out);
                write_reply(&out, call, run, true);
        }
        if (!fits(&out)) {
                json_out_deinit(&out);
                refuse_result(call, run);
                write_reply(&out, call, run, true);
        }
        if (out.failed)
                json_out_deinit(&out);
        call->reply.bytes = out.bytes;
        call->reply.length = out.used;
}
