/*
 * Tools of the MCP server: run_python, and those of the agent.
 *
 * Runs in the api process. Names and arguments come from the network. What runs, runs by a subrequest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/agents.h"
#include "api/api.h"
#include "api/mcp_private.h"
#include "api/mcp_progress.h"
#include "api/mcp_result.h"
#include "api/schema_check.h"
#include "api/subrequest.h"
#include "api/tool_description.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "run/json_out.h"
#include "run/json_scan.h"

struct mcp_call {
        struct mcp_reply *reply;
        struct subrequest *sub;
        bool of_agent; /* one of its tools, not run_python */
        struct mcp_progress progress;
};

/* ---- descriptions */

/* run_python, as this agent may use it: state needs a conversation to belong to. NULL: the agent is gone, or no memory.
 */
static json_t *describe_run_python(const struct mcp_reply *reply) {
        struct api *api = reply->mcp->api;
        const struct mcp_scope *scope = &reply->scope;
        struct agent_settings settings;
        if (!scope->agent[0])
                agent_settings_init(api->config, &settings);
        else if (agent_settings_load(api->store, api->config, reply->request->auth.project_id, scope->agent,
                                     &settings) != 0)
                return NULL;
        settings.stateful = settings.stateful && scope->conversation[0];
        json_t *tool = tool_run_python(api->config, api->environment, &settings, TOOL_MCP);
        if (tool)
                json_object_set_new(tool, "outputSchema", mcp_run_schema());
        return tool;
}

/* Those of an agent that has an image; without one they cannot be called. A new reference to a list. */
static json_t *tools_of_agent(const struct mcp_reply *reply) {
        const char *agent = reply->scope.agent;
        json_t *all = agent[0] ? agent_full_json(reply->mcp->api, reply->request, agent) : NULL;
        json_t *tools = json_is_string(json_object_get(all, "image_digest")) ? json_object_get(all, "tools") : NULL;
        json_t *list = tools ? json_incref(tools) : json_array();
        json_decref(all);
        return list;
}

static json_t *describe_tool(const json_t *tool) {
        return json_pack("{s:O, s:O, s:O, s:o}", "name", json_object_get(tool, "name"), "description",
                         json_object_get(tool, "description"), "inputSchema", json_object_get(tool, "parameters"),
                         "outputSchema", mcp_call_schema());
}

static void refuse(struct mcp_reply *reply, int code, const char *message, const char *param) {
        struct mcp_error e = {.code = 0};
        mcp_error_set(&e, code, "%s", message);
        if (param)
                e.data = json_pack("{s:s}", "param", param);
        mcp_reply_error(reply, &e);
}

static void refuse_gone(struct mcp_reply *reply) {
        refuse(reply, MCP_INVALID_PARAMS, "The agent that the address names was deleted.", NULL);
}

void mcp_tools_list(struct mcp_reply *reply, json_t *params) {
        json_t *list, *own, *tool;
        size_t i;
        if (json_object_get(params, "cursor")) {
                refuse(reply, MCP_INVALID_PARAMS, "The list of tools has one page: leave cursor out.", "cursor");
                return;
        }
        json_t *python = describe_run_python(reply);
        if (!python) {
                refuse_gone(reply);
                return;
        }
        list = json_pack("[o]", python);
        own = tools_of_agent(reply);
        json_array_foreach(own, i, tool)
                json_array_append_new(list, describe_tool(tool));
        json_decref(own);
        mcp_reply_cacheable(reply, json_pack("{s:o}", "tools", list));
}

/* ---- calls */

static void call_free(struct mcp_call *call) {
        mcp_progress_deinit(&call->progress);
        free(call);
}

static void on_cancel(void *data) {
        struct mcp_call *call = data;
        subrequest_cancel(call->sub);
        call_free(call);
}

static void refuse_by(struct mcp_call *call, unsigned status, const json_t *body) {
        struct mcp_reply *reply = call->reply;
        struct mcp_error e = {.code = 0};
        const char *retry_after = subrequest_reply_header(call->sub, "Retry-After");
        json_t *result = mcp_result_of_refusal(status, body, retry_after, &e);
        call_free(call);
        if (e.code)
                mcp_reply_error(reply, &e);
        else
                mcp_reply_result(reply, result);
}

/* Of run_python, or what stands for it: takes the body. */
static void finish_run(struct mcp_call *call, unsigned status, json_t *body) {
        struct mcp_reply *reply = call->reply;
        if (status == 200 && json_is_object(body)) {
                call_free(call);
                mcp_reply_result(reply, mcp_result_of_run(body));
                return;
        }
        refuse_by(call, status, body);
        json_decref(body);
}

static void on_reply(void *data, unsigned status, const char *content_type, const void *body, size_t length) {
        struct mcp_call *call = data;
        struct mcp_reply *reply = call->reply;
        (void)content_type;
        if (call->of_agent && status == 200) {
                call_free(call);
                mcp_reply_text(reply, mcp_result_of_call(body, length));
        } else {
                finish_run(call, status, json_loadb(body, length, JSON_ALLOW_NUL, NULL));
        }
}

static void on_stream(void *data, const void *bytes, size_t length) {
        struct mcp_call *call = data;
        mcp_progress_take(&call->progress, bytes, length);
}

static void on_stream_end(void *data) {
        struct mcp_call *call = data;
        const char *last = call->progress.last;
        json_t *body = last ? json_loads(last, JSON_ALLOW_NUL, NULL) : NULL;
        finish_run(call, !last ? 0 : call->progress.failed ? 500 : 200, body);
}

static const struct subrequest_sink sink = {
        .on_reply = on_reply, .on_stream = on_stream, .on_stream_end = on_stream_end};

/* A text or a whole number; NULL: no progress is wanted. */
static json_t *progress_token(const json_t *params) {
        json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
        return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

/* The call has its subrequest; what it came with is not needed any more. */
static void started(struct mcp_call *call, struct mcp_reply *reply, json_t *token) {
        call->reply = reply;
        http_release_body(reply->request);
        mcp_reply_later(reply, token != NULL, on_cancel, call);
        if (token)
                mcp_progress_begin(&call->progress, reply, token);
}

/* Steals the body. */
static void start_run(struct mcp_reply *reply, const json_t *params, json_t *body) {
        json_t *token = reply->takes_stream ? progress_token(params) : NULL;
        struct mcp_call *call = calloc(1, sizeof(*call));
        const struct mcp_scope *scope = &reply->scope;
        if (scope->agent[0])
                json_object_set_new(body, "agent", json_string(scope->agent));
        if (scope->conversation[0])
                json_object_set_new(body, "conversation_id", json_string(scope->conversation));
        if (token)
                json_object_set_new(body, "stream", json_true());
        if (call &&
            subrequest_start(reply->request, "POST", "/v1/execute", json_incref(body), &sink, call, &call->sub) == 0) {
                started(call, reply, token);
        } else {
                free(call);
                mcp_reply_result(reply, NULL);
        }
        json_decref(body);
}

/* The arguments as they were sent, as POST /v1/call takes them; written anew if their name is spelled with escapes. */
static void write_arguments(struct json_out *out, const struct http_request *request, const json_t *arguments) {
        struct json_span params = {NULL, 0}, sent = {NULL, 0};
        const struct json_member outer[] = {{"params", &params}}, inner[] = {{"arguments", &sent}};
        const char *wrong;
        bool found = json_scan_object(request->body, request->body_length, outer, 1, &wrong) && params.bytes &&
                     json_scan_object(params.bytes, params.length, inner, 1, &wrong) && sent.bytes;
        CLEANUP_FREE char *anew = found ? NULL : json_dumps(arguments, JSON_COMPACT);
        json_out_key(out, "arguments");
        if (found)
                json_out_raw(out, sent.bytes, sent.length);
        else
                json_out_raw(out, anew ? anew : "{}", anew ? strlen(anew) : 2);
}

static void start_call(struct mcp_reply *reply, const json_t *params, const char *tool, const json_t *arguments) {
        json_t *token = reply->takes_stream ? progress_token(params) : NULL;
        struct mcp_call *call = calloc(1, sizeof(*call));
        const struct mcp_scope *scope = &reply->scope;
        struct json_out out;
        json_out_init(&out, reply->request->body_length + 256);
        json_out_open(&out, '{');
        json_out_member_string(&out, "agent", scope->agent);
        json_out_member_string(&out, "tool", tool);
        json_out_member_string(&out, "conversation_id", scope->conversation[0] ? scope->conversation : NULL);
        write_arguments(&out, reply->request, arguments);
        json_out_close(&out, '}');
        bool good = call && !out.failed;
        if (!good)
                json_out_deinit(&out);
        if (good && subrequest_start_bytes(reply->request, "POST", "/v1/call", out.bytes, out.used, "application/json",
                                           &sink, call, &call->sub) == 0) {
                call->of_agent = true;
                started(call, reply, token);
        } else {
                free(call);
                mcp_reply_result(reply, NULL);
        }
}

static void call_run_python(struct mcp_reply *reply, const json_t *params, json_t *arguments) {
        struct err e = {.code = 0};
        json_t *tool = describe_run_python(reply);
        if (!tool) {
                refuse_gone(reply);
                return;
        }
        int r = schema_check(json_object_get(tool, "inputSchema"), arguments, "arguments", &e);
        json_decref(tool);
        if (r < 0)
                refuse(reply, MCP_INVALID_PARAMS, e.message, *e.field ? e.field : NULL);
        else
                start_run(reply, params, json_copy(arguments));
}

static bool has_tool(const struct mcp_reply *reply, const char *name) {
        json_t *tools = tools_of_agent(reply), *tool;
        bool found = false;
        size_t i;
        json_array_foreach(tools, i, tool)
                found = found || strcmp(json_string_value(json_object_get(tool, "name")), name) == 0;
        json_decref(tools);
        return found;
}

void mcp_tools_call(struct mcp_reply *reply, json_t *params) {
        const char *name = mcp_text(params, "name");
        json_t *given = json_object_get(params, "arguments");
        char message[128];
        if (!name || (given && !json_is_object(given))) {
                refuse(reply, MCP_INVALID_PARAMS,
                       "params must have the name of a tool, and its arguments as an object.",
                       name ? "arguments" : "name");
                return;
        }
        json_t *arguments = given ? json_incref(given) : json_object();
        if (strcmp(name, TOOL_RUN_PYTHON) == 0) {
                call_run_python(reply, params, arguments);
        } else if (has_tool(reply, name)) {
                start_call(reply, params, name, arguments);
        } else {
                snprintf(message, sizeof(message), "There is no tool \"%.64s\"; tools/list names those that are there.",
                         name);
                refuse(reply, MCP_INVALID_PARAMS, message, "name");
        }
        json_decref(arguments);
}
