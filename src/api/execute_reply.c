/* The reply of POST /v1/execute; see execute_reply.h and openapi for its fields. */
#include "api/execute_reply.h"

#include "api/execute_request.h"
#include "run/hints.h"
#include "run/run.h"
#include "session/sessions.h"
#include "store/conversations.h"

static void write_items(struct json_out *out, const struct rendered_list *list) {
        for (size_t i = 0; i < list->count; i++)
                json_out_raw(out, list->items[i].json, list->items[i].length);
}

static void write_list(struct json_out *out, const char *key, const struct rendered_list *list) {
        json_out_key(out, key);
        json_out_open(out, '[');
        write_items(out, list);
        json_out_close(out, ']');
}

static bool was_kept(const struct reply_view *view, size_t i) {
        return !view->files || view->files[i].fate == STORE_FILE_KEPT;
}

static void write_files(struct json_out *out, const struct run_files *files, const struct reply_view *view) {
        json_out_key(out, "files");
        json_out_open(out, '[');
        write_items(out, &files->files);
        for (size_t i = 0; i < files->kept_count; i++)
                if (was_kept(view, i))
                        run_file_write(&files->kept[i], view->inline_files, out);
        json_out_close(out, ']');
        json_out_key(out, "files_skipped");
        json_out_open(out, '[');
        write_items(out, &files->skipped);
        for (size_t i = 0; i < files->kept_count; i++)
                if (!was_kept(view, i))
                        run_file_write_skipped(&files->kept[i], "quota", out);
        json_out_close(out, ']');
}

void reply_write_output(struct json_out *out, const struct run *run) {
        const struct output *standard = &run->pipes[RUN_STDOUT].output, *errors = &run->pipes[RUN_STDERR].output;
        json_out_key(out, "stdout");
        output_write_json(standard, out);
        json_out_key(out, "stderr");
        output_write_json(errors, out);
        json_out_member_bool(out, "stdout_truncated", output_truncated(standard));
        json_out_member_bool(out, "stderr_truncated", output_truncated(errors));
}

static void write_session(struct json_out *out, bool stateful, const struct session_note *note) {
        json_out_key(out, "session");
        json_out_open(out, '{');
        json_out_member_bool(out, "stateful", stateful);
        json_out_member_bool(out, "restarted", note->restarted);
        json_out_member_string(out, "message", note->message[0] ? note->message : NULL);
        json_out_close(out, '}');
}

/* Microseconds between two points in time; 0 if either never came. */
static uint64_t between_us(uint64_t from_ns, uint64_t to_ns) {
        return from_ns > 0 && to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;
}

void reply_write_usage(struct json_out *out, const struct run *run) {
        json_out_key(out, "usage");
        json_out_open(out, '{');
        json_out_member_milli(out, "start_ms", between_us(run->claimed_ns, run->started_ns));
        json_out_member_milli(out, "wall_ms", between_us(run->claimed_ns, run->ended_ns));
        json_out_member_milli(out, "cpu_ms", run->end.cpu_us);
        json_out_member_int(out, "max_memory_bytes", (int64_t)run->end.memory_peak);
        json_out_member_milli(out, "queue_ms", between_us(run->queued_ns, run->making_ns ? run->making_ns : run->claimed_ns));
        if (run->kind != RUN_SNIPPET)
                json_out_member_milli(out, "create_ms", between_us(run->making_ns, run->claimed_ns));
        json_out_close(out, '}');
}

static void write_hint(struct json_out *out, const struct run *run, const struct execute_request *execute,
                       const char *libraries, const struct session_note *note) {
        char tail[HINT_STDERR_BYTES], hint[HINT_BYTES];
        struct hint_facts facts = {
                .outcome = run->outcome.outcome,
                .exit_code = run->outcome.exit_code,
                .stderr_end = tail,
                .stderr_length = output_tail(&run->pipes[RUN_STDERR].output, tail, sizeof(tail)),
                .timeout_ms = run->setup.request->timeout_ms,
                .max_timeout_ms = execute->timeout_max_ms,
                .output_max_bytes = run->setup.limits.output_max_bytes,
                .libraries = libraries,
                .inputs = run->setup.request->inputs,
                .input_count = run->setup.request->input_count,
                .stateful = run->session != NULL,
                .skipped_for_size = run->files.skipped_for_size,
                .on_request = note->on_request,
        };
        json_out_member_string(out, "hint", hint_choose(&facts, hint) ? hint : NULL);
}

/* All but what has to be escaped: for the first allocation, which then is nearly always the only one. */
static size_t expected_size(const struct run *run) {
        uint64_t size = 2048 + run->results.bytes + run->files.files.bytes + run->files.skipped.bytes;
        for (int i = 0; i < RUN_STREAMS; i++) {
                const struct output *output = &run->pipes[i].output;
                size += output->written < output->keep ? output->written : output->keep;
        }
        return (size_t)(size + size / 16);
}

void execute_reply_write(struct json_out *out, const struct run *run, const struct execute_request *execute,
                         const char *libraries, const struct reply_view *view) {
        const struct run_files *files = &run->files;
        json_out_reserve(out, expected_size(run));
        json_out_open(out, '{');
        json_out_member_string(out, "agent", execute->agent);
        json_out_member_string(out, "conversation_id", execute->conversation_id);
        json_out_member_string(out, "run_id", run->id);
        json_out_member_string(out, "sandbox_id", run->sandbox_id);
        json_out_member_string(out, "outcome", outcome_name(run->outcome.outcome));
        json_out_member_int(out, "exit_code", run->outcome.exit_code);
        reply_write_output(out, run);
        write_list(out, "results", &run->results);
        write_files(out, files, view);
        /* Files beyond those that are named above; false: the sandbox ended before it could hand all of them over. */
        json_out_member_int(out, "files_skipped_unnamed", files->skipped_unnamed);
        json_out_member_bool(out, "files_complete", run->files_complete && !files->failed);
        write_session(out, execute->run.session != NULL, view->note);
        reply_write_usage(out, run);
        write_hint(out, run, execute, libraries, view->note);
        json_out_close(out, '}');
        if (files->failed)
                out->failed = true; /* a file that would be missing without a word */
}
