/*
 * The body of POST /v1/call, and what it refers to.
 *
 * Runs in the api process. The body is hostile; see json.h for what has been checked before. Every refusal names the field
 * and says what to do. Nothing is started before all of it is known to be right.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/api.h"
#include "api/call.h"
#include "api/call_env.h"
#include "api/call_private.h"
#include "api/http.h"
#include "api/images.h"
#include "api/json.h"
#include "api/names.h"
#include "api/paging.h"
#include "api/schema_check.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "run/json_scan.h"
#include "store/agents.h"

#define LIST_BYTES 1024
#define TIMEOUT_WORDS "a number of seconds greater than 0 and at most 120"

/* ---- the body */

/*
 * The arguments as they were sent: a number keeps its digits that way. If the name is spelled with escapes they are not
 * found, and written anew.
 */
static char *take_arguments(const struct http_request *request) {
        struct json_span arguments;
        const struct json_member members[] = {{"arguments", &arguments}};
        const char *wrong;
        if (!json_scan_object(request->body, request->body_length, members, 1, &wrong) || !arguments.bytes)
                return NULL;
        return strndup(arguments.bytes, arguments.length);
}

static uint32_t take_timeout(const json_t *value) {
        if (!value)
                return CALL_TIMEOUT_S * 1000;
        double exact = json_number_value(value) * 1000;
        uint32_t ms = (uint32_t)exact;
        return ms + (ms < exact); /* what is left of a millisecond counts as one */
}

static bool check_conversation_name(struct http_request *request, const char *name) {
        if (name_is_of(name, NAME_LETTERS NAME_DIGITS "._:-", NAME_LETTERS NAME_DIGITS "._:-", STORE_CONVERSATION_MAX))
                return true;
        http_reply_error(request, HTTP_INVALID_REQUEST, "conversation_id",
                         "conversation_id must be 1 to %d characters of A-Z, a-z, 0-9 and ._:-.",
                         STORE_CONVERSATION_MAX);
        return false;
}

static bool take_body(struct call *call, json_t **ret_arguments) {
        json_t *agent, *tool, *timeout, *conversation;
        const struct json_field fields[] = {
                {.name = "agent", .want = JSON_WANT_STRING, .required = true, .value = &agent},
                {.name = "tool", .want = JSON_WANT_STRING, .required = true, .value = &tool},
                {.name = "arguments", .want = JSON_WANT_OBJECT, .null_allowed = true, .value = ret_arguments},
                {.name = "timeout_s",
                 .want = JSON_WANT_NUMBER,
                 .above_min = true,
                 .max = CALL_TIMEOUT_MAX_S,
                 .expected = TIMEOUT_WORDS,
                 .value = &timeout},
                {.name = "conversation_id", .want = JSON_WANT_STRING, .null_allowed = true, .value = &conversation},
        };
        call->arguments = take_arguments(call->request);
        if (!json_decode_request_many(call->request, fields, ARRAY_SIZE(fields), &call->body))
                return false;
        call->agent = json_string_value(agent);
        call->tool = json_string_value(tool);
        call->conversation_id = json_string_value(conversation);
        call->what.timeout_ms = take_timeout(timeout);
        if (!*ret_arguments) { /* left out, or null */
                free(call->arguments);
                call->arguments = strdup("{}");
        } else if (!call->arguments)
                call->arguments = json_dumps(*ret_arguments, JSON_COMPACT);
        return !call->conversation_id || check_conversation_name(call->request, call->conversation_id);
}

/* ---- the agent and its tool */

static bool refuse_agent(struct call *call) {
        http_reply_error(call->request, HTTP_NOT_FOUND, "agent",
                         "There is no agent \"%.64s\" in this project. platformctl agents deploy makes one with its "
                         "image.",
                         call->agent);
        return false;
}

static bool refuse_without_image(struct call *call) {
        http_reply_error(call->request, HTTP_CONFLICT, "agent",
                         "The agent \"%.64s\" has no image, which its tools run in. Deploy one: platformctl agents "
                         "deploy %.64s --image oci:FOLDER.",
                         call->agent, call->agent);
        return false;
}

static bool refuse_without_file(struct call *call) {
        http_reply_error(call->request, HTTP_CONFLICT, "agent",
                         "The file of the image of the agent \"%.64s\" is gone from the service's data folder. Deploy "
                         "the agent again (platformctl agents deploy).",
                         call->agent);
        return false;
}

static bool refuse_tool(struct call *call, const json_t *tools) {
        char list[LIST_BYTES] = "";
        size_t i, used = 0;
        const json_t *tool;
        json_array_foreach(tools, i, tool) {
                const char *name = json_string_value(json_object_get(tool, "name"));
                if (name && used + strlen(name) + 8 < sizeof(list))
                        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? ", " : "", name);
        }
        if (used == 0)
                http_reply_error(call->request, HTTP_NOT_FOUND, "tool",
                                 "The agent \"%.64s\" has no tools: none was found in its image when it was deployed.",
                                 call->agent);
        else
                http_reply_error(call->request, HTTP_NOT_FOUND, "tool",
                                 "The agent \"%.64s\" has no tool \"%.64s\". Its tools are: %s.", call->agent,
                                 call->tool, list);
        return false;
}

static bool take_image(struct call *call) {
        struct images *images = call->api->images;
        int r = store_image_of_agent(call->api->store, call->request->auth.project_id, call->agent, &call->image);
        if (r < 0) {
                answer_store_failure(call->request);
                return false;
        }
        if (r != 0)
                return refuse_without_image(call);
        if (!image_parse(call->image.file, &call->what.image) || images_is_lost(images, call->what.image))
                return refuse_without_file(call);
        images_hold(images, call->what.image);
        call->holds_image = true;
        return true;
}

/* ---- what the runner is told */

static bool make_frame(struct call *call, const json_t *tool) {
        CLEANUP_FREE char *environment_text = NULL, *entrypoint = NULL, *folder = NULL;
        json_t *list = json_loads(call->image.env, 0, NULL);
        json_t *environment = call_env_of(list, call->api->config->env_strip);
        json_t *directory = json_string(call->image.working_dir);
        if (call->request->trace[0]) /* what the tool asks in turn belongs to the same trace */
                json_object_set_new(environment, "TRACEPARENT", json_string(call->request->trace));
        environment_text = json_dumps(environment, JSON_COMPACT);
        entrypoint = json_dumps(json_object_get(tool, "entrypoint"), JSON_COMPACT | JSON_ENCODE_ANY);
        folder = json_dumps(directory, JSON_COMPACT | JSON_ENCODE_ANY);
        json_decref(directory);
        json_decref(environment);
        json_decref(list);
        if (!environment_text || !entrypoint || !folder || !call->arguments)
                return false;
        int length = asprintf(&call->frame,
                              "{\"entrypoint\":%s,\"environment\":%s,\"working_dir\":%s,\"deadline_s\":%.3f,"
                              "\"arguments\":%s}",
                              entrypoint, environment_text, folder, call->what.timeout_ms / 1000.0, call->arguments);
        if (length < 0) {
                call->frame = NULL;
                return false;
        }
        call->what.code = call->frame;
        call->what.code_length = (size_t)length;
        return true;
}

static bool finish(struct call *call, const json_t *tool) {
        if (!make_frame(call, tool)) {
                http_reply_error(call->request, HTTP_OVERLOADED, NULL,
                                 "The service has no memory left for this request.");
                return false;
        }
        if (call->what.code_length > CALL_BYTES_MAX) {
                http_reply_error(call->request, HTTP_TOO_LARGE, "arguments",
                                 "The arguments and the environment of the image are %zu bytes together; at most %u "
                                 "are allowed.",
                                 call->what.code_length, CALL_BYTES_MAX);
                return false;
        }
        call->what.kind = RUN_CALL;
        call->what.archive_fd = -1;
        call->what.lane = call->request->auth.project;
        call->what.memory_bytes = 3 * call->what.code_length; /* as it came, decoded, and in the frame */
        return true;
}

/* ---- all of it */

static const json_t *find_tool(const json_t *tools, const char *name) {
        const json_t *tool;
        size_t i;
        json_array_foreach(tools, i, tool) {
                const char *other = json_string_value(json_object_get(tool, "name"));
                if (other && strcmp(other, name) == 0)
                        return tool;
        }
        return NULL;
}

static bool take_tool(struct call *call, const json_t *tools, const json_t *arguments) {
        const json_t *tool = find_tool(tools, call->tool);
        json_t *none = json_object();
        struct err e = {0};
        if (tool)
                schema_check(json_object_get(tool, "parameters"), arguments ? arguments : none, "arguments", &e);
        json_decref(none);
        if (!tool)
                return refuse_tool(call, tools);
        if (e.code) {
                http_reply_error(call->request, HTTP_INVALID_REQUEST, e.field, "%s", e.message);
                return false;
        }
        return finish(call, tool);
}

bool call_request_take(struct call *call) {
        CLEANUP(store_agent_deinit) struct store_agent agent = {0};
        json_t *arguments = NULL;
        if (!take_body(call, &arguments))
                return false;
        int r = store_agent_find(call->api->store, call->request->auth.project_id, call->agent, &agent);
        if (r < 0) {
                answer_store_failure(call->request);
                return false;
        }
        if (r != 0)
                return refuse_agent(call);
        call->reference = TAKE_PTR(agent.image);
        if (!take_image(call))
                return false;
        json_t *tools = json_loads(agent.tools, 0, NULL);
        bool good = take_tool(call, tools, arguments);
        json_decref(tools);
        return good;
}
