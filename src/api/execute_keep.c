/*
 * Keeps a run of a conversation beside it: code, reply and files; the client gets its answer when they are on the disk.
 *
 * Runs in the api process; the reply that is kept is composed on the store's thread, from a run that nobody changes any
 * more.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/conversation_events.h"
#include "api/execution.h"
#include "api/http.h"
#include "base/config.h"
#include "base/log.h"

static void copy(char *to, size_t size, const char *from) {
        snprintf(to, size, "%s", from ? from : "");
}

static const char *write_reply(void *data, size_t *ret_length) {
        struct execution *execution = data;
        for (size_t i = 0; i < execution->keep.file_count; i++)
                copy(execution->run->files.kept[i].sha256, SHA256_TEXT_BYTES, execution->files[i].file.sha256);
        execute_compose(execution, execution->run, false);
        *ret_length = execution->reply.used;
        return execution->reply.bytes;
}

void execute_answer_unkept(struct execution *execution) {
        struct run_files *files = &execution->run->files;
        for (size_t i = 0; i < files->kept_count; i++) {
                files->kept[i].is_kept = false;
                files->failed |= run_file_hash(&files->kept[i]) < 0;
        }
        free(execution->files);
        execution->files = NULL;
        json_out_deinit(&execution->reply);
        execution->what.run.inline_files = true;
        execute_answer_held(execution);
}

/* A file that did not fit into the quota exists only in the working directory of the session, if there is one. */
static void note_files_over_quota(const struct execution *execution) {
        for (size_t i = 0; i < execution->keep.file_count; i++)
                if (execution->files[i].fate == STORE_FILE_OVER_QUOTA)
                        sessions_note_not_kept(execution->api->sessions, execution->request->auth.project_id,
                                               execution->what.conversation_id, execution->files[i].file.name);
}

static void on_saved(void *data, int result) {
        struct execution *execution = data;
        execute_note_end(execution);
        if (result != 0) {
                if (result < 0)
                        log_error("a run could not be kept; its files go with the reply", "run", execution->run->id,
                                  "error", log_errno(result));
                execute_answer_unkept(execution);
                return;
        }
        note_files_over_quota(execution);
        conversation_events_publish(execution->api->events, &execution->keep.run);
        execute_answer_held(execution);
}

static void describe_run(struct execution *execution) {
        const struct run *run = execution->run;
        struct store_run *row = &execution->keep.run;
        copy(row->id, sizeof(row->id), run->id);
        copy(row->conversation, sizeof(row->conversation), execution->what.conversation_id);
        copy(row->agent, sizeof(row->agent), execution->what.agent);
        copy(row->sandbox_id, sizeof(row->sandbox_id), run->sandbox_id);
        copy(row->outcome, sizeof(row->outcome), outcome_name(run->outcome.outcome));
        row->project_id = execution->request->auth.project_id;
        row->exit_code = run->outcome.exit_code;
        row->stateful = execution->what.run.session != NULL;
        row->started_ms = run->started_at_ms;
        row->wall_us = run->claimed_ns > 0 ? (int64_t)((run->ended_ns - run->claimed_ns) / 1000) : 0;
        row->cpu_us = (int64_t)run->end.cpu_us;
        row->memory_max_bytes = (int64_t)run->end.memory_peak;
        row->results = (int64_t)run->results.count;
        row->files = (int64_t)run->files.kept_count;
}

static bool describe_files(struct execution *execution) {
        const struct run_files *files = &execution->run->files;
        execution->files = calloc(files->kept_count + 1, sizeof(*execution->files));
        if (!execution->files)
                return false;
        for (size_t i = 0; i < files->kept_count; i++) {
                const struct run_file *from = &files->kept[i];
                struct store_file *to = &execution->files[i].file;
                copy(to->id, sizeof(to->id), from->id);
                copy(to->name, sizeof(to->name), from->name);
                copy(to->media_type, sizeof(to->media_type), from->media_type);
                to->size = (int64_t)from->size;
                execution->files[i].bytes = from->bytes;
        }
        execution->keep.files = execution->files;
        execution->keep.file_count = files->kept_count;
        return true;
}

bool execute_keep(struct execution *execution) {
        const struct config *config = execution->api->config;
        execution->keep = (struct store_new_run){
                .conversation_id = execution->conversation.id,
                .quota = {config->quota_bytes, config->quota_files},
                .code = execution->what.run.code,
                .code_length = execution->what.run.code_length,
                .not_kept = execution->not_kept,
                .write_reply = write_reply,
                .done = on_saved,
                .data = execution,
        };
        describe_run(execution);
        return describe_files(execution) && store_run_save(execution->api->store, &execution->keep) == 0;
}
