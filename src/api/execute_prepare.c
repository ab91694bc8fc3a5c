/*
 * What a run needs to know before it can be queued: who its agent is, which conversation it belongs to, what earlier
 * files it is given, whether its project may keep more, and whether there is a session for it.
 *
 * Runs in the api process. Reads the store; the one thing that it writes is a conversation's first row, and that last.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "api/agent_settings.h"
#include "api/api.h"
#include "api/conversation_admission.h"
#include "api/execution.h"
#include "api/http.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "run/input_names.h"

static bool refuse_internal(struct execution *execution) {
        answer_store_failure(execution->request);
        return false;
}

/* ---- the agent */

static bool refuse_agent(struct execution *execution) {
        const char *agent = execution->what.agent;
        http_reply_error(execution->request, HTTP_NOT_FOUND, "agent",
                         "There is no agent \"%s\" in this project. Create it with PUT /v1/agents/%s (platformctl agents create "
                         "%s), or leave `agent` out.",
                         agent, agent, agent);
        return false;
}

static bool take_agent(struct execution *execution, struct agent_settings *settings) {
        const char *agent = execution->what.agent;
        struct http_request *request = execution->request;
        if (!agent) {
                agent_settings_init(execution->api->config, settings);
                return true;
        }
        int r = agent_settings_load(execution->api->store, execution->api->config, request->auth.project_id, agent,
                                    settings);
        if (r < 0)
                return refuse_internal(execution);
        return r == 0 || refuse_agent(execution);
}

static bool take_timeout(struct execution *execution, const struct agent_settings *settings) {
        struct run_request *run = &execution->what.run;
        execution->what.timeout_max_ms = settings->timeout_max_ms;
        if (run->timeout_ms == 0)
                run->timeout_ms = settings->timeout_ms;
        if (run->timeout_ms <= settings->timeout_max_ms)
                return true;
        http_reply_error(execution->request, HTTP_INVALID_REQUEST, "timeout_s",
                         "timeout_s must be a number of seconds greater than 0 and at most %g, the limit of the agent "
                         "\"%s\" (%s).",
                         settings->timeout_max_ms / 1000.0, execution->what.agent, AGENT_SETTING_TIMEOUT);
        return false;
}

/* ---- earlier files */

static bool refuse_file(struct execution *execution, size_t index, const char *why) {
        char field[48];
        const struct work_input *input = &execution->what.inputs[index];
        snprintf(field, sizeof(field), "files[%zu].file_id", index);
        http_reply_error(execution->request, HTTP_NOT_FOUND, field, "The input file \"%.*s\" %s.",
                         (int)input_name_shown(input->name), input->name, why);
        return false;
}

static bool take_file(struct execution *execution, size_t index) {
        struct work_input *input = &execution->what.inputs[index];
        struct store_file file;
        int r = store_file_get(execution->api->store, execution->request->auth.project_id,
                               execution->what.file_ids[index], &file);
        CLEANUP_CLOSE int fd = r == 0 ? store_file_open(execution->api->store, &file) : -1;
        if (r < 0 || (r == 0 && fd < 0 && fd != -ENOENT))
                return refuse_internal(execution);
        if (r != 0 || fd < 0)
                return refuse_file(execution, index,
                                   "is not there: no file of that file_id is kept. It may have expired with its "
                                   "conversation; send it as `content` or `content_base64`");
        input->size = (size_t)file.size;
        input->bytes = "";
        if (file.size == 0)
                return true;
        void *bytes = mmap(NULL, input->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return refuse_internal(execution);
        input->bytes = execution->what.mapped[index] = bytes;
        return true;
}

static bool take_files(struct execution *execution) {
        struct execute_request *what = &execution->what;
        struct err e;
        for (size_t i = 0; i < what->run.input_count; i++)
                if (what->file_ids[i] && !take_file(execution, i))
                        return false;
        if (execute_request_check_inputs(what, &e) == 0)
                return true;
        http_reply_error(execution->request, HTTP_INVALID_REQUEST, e.field, "%s", e.message);
        return false;
}

/* ---- the session */

static bool take_session(struct execution *execution) {
        const struct session_key key = {
                .project_id = execution->request->auth.project_id,
                .project = execution->request->auth.project,
                .conversation = execution->what.conversation_id,
                .agent = execution->what.agent,
        };
        struct err e;
        int r = sessions_admit(execution->api->sessions, &key, &execution->what.run.session, &e);
        if (r == 0)
                return true;
        if (r == -EDQUOT)
                http_reply_error(execution->request, HTTP_SESSION_LIMIT, NULL, "%s", e.message);
        else
                http_reply_error(execution->request, HTTP_OVERLOADED, NULL, "%s Try again later.", e.message);
        return false;
}

/* ---- all of it */

static bool look_up(struct execution *execution) {
        struct execute_request *what = &execution->what;
        struct agent_settings settings;
        bool kept = what->conversation_id != NULL;
        if (!take_agent(execution, &settings) || !take_timeout(execution, &settings))
                return false;
        if (kept && !conversation_admits(execution->api, execution->request, what->conversation_id, what->agent))
                return false;
        if (!take_files(execution))
                return false;
        what->run.keep_files = kept;
        if (!what->inline_given)
                what->run.inline_files = !kept;
        return !kept || !what->agent || !settings.stateful || take_session(execution);
}

static void on_used(void *data, int result) {
        struct execution *execution = data;
        if (result == 0) {
                execution->ready(execution);
                return;
        }
        if (execution->what.run.session)
                sessions_give_up(execution->what.run.session);
        if (result == STORE_E_CONFLICT)
                answer_conversation_of_other(execution->request, execution->what.conversation_id,
                                             execution->conversation.agent);
        else if (result == STORE_E_NOT_FOUND)
                refuse_agent(execution);
        else
                refuse_internal(execution);
        execution_free(execution);
}

void execute_prepare(struct execution *execution, void (*ready)(struct execution *execution)) {
        const struct execute_request *what = &execution->what;
        execution->ready = ready;
        if (!look_up(execution)) {
                execution_free(execution);
                return;
        }
        if (!what->conversation_id) {
                ready(execution);
                return;
        }
        execution->use = (struct store_use){
                .project_id = execution->request->auth.project_id,
                .name = what->conversation_id,
                .agent = what->agent ? what->agent : "",
                .ret = &execution->conversation,
                .done = on_used,
                .data = execution,
        };
        /* The conversation is made now, if there is none: everything else about the request is right. */
        int r = store_conversation_use_soon(execution->api->store, &execution->use);
        if (r != STORE_E_LATER)
                on_used(execution, r);
}
