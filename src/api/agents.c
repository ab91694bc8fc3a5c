/* Agents; see agents.h. */
#include "api/agents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/agent_tools.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/http.h"
#include "api/json.h"
#include "api/names.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "store/agents.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX 200

void answer_no_agent(struct http_request *request, const char *name) {
        http_reply_error(request, HTTP_NOT_FOUND, NULL,
                         "This project has no agent \"%.64s\"; PUT /v1/agents/{name} makes one.", name);
}

/* ---- what clients see */

/* Of a list: tools may be long, and are shown with their agent. */
static json_t *summary_json(const struct store_agent *agent) {
        return json_pack("{s:s, s:s?, s:o, s:o}", "name", agent->name, "image", agent->image, "created_at",
                         time_json(agent->created_ms), "updated_at", time_json(agent->updated_ms));
}

static json_t *agent_json(const struct store_agent *agent, const struct agent_settings *settings) {
        json_t *whole = summary_json(agent);
        if (!whole)
                return NULL;
        json_t *tools = json_loads(agent->tools, 0, NULL);
        json_object_set_new(whole, "tools", tools ? tools : json_array());
        json_object_set_new(whole, "stateful", json_boolean(settings->stateful));
        json_object_set_new(whole, "timeout_s", json_real(settings->timeout_ms / 1000.0));
        return whole;
}

static void answer_agent(struct api *api, struct http_request *request, unsigned status, const char *name) {
        CLEANUP(store_agent_deinit) struct store_agent agent = {0};
        struct agent_settings settings;
        int64_t project = request->auth.project_id;
        int r = store_agent_find(api->store, project, name, &agent);
        if (r == 0)
                r = agent_settings_load(api->store, api->config, project, name, &settings);
        if (r == STORE_E_NOT_FOUND)
                answer_no_agent(request, name);
        else if (r != 0)
                answer_store_failure(request);
        else
                http_reply_json(request, status, agent_json(&agent, &settings));
}

/* ---- reading */

void agents_handle_list(struct api *api, struct http_request *request) {
        struct page page;
        if (!page_read(request, PAGE_DEFAULT, PAGE_MAX, &page))
                return;
        CLEANUP_FREE struct store_agent *agents = calloc(page.limit + 1, sizeof(*agents));
        int count = agents ? store_agent_list(api->store, request->auth.project_id, page.after, agents, page.limit + 1)
                           : -ENOMEM;
        if (count < 0) {
                answer_store_failure(request);
                return;
        }
        bool more = (size_t)count > page.limit;
        json_t *list = json_array();
        for (size_t i = 0; i < (more ? page.limit : (size_t)count); i++)
                json_array_append_new(list, summary_json(&agents[i]));
        page_answer(request, "agents", list, more ? agents[page.limit - 1].name : NULL);
        for (int i = 0; i < count; i++)
                store_agent_deinit(&agents[i]);
}

void agents_handle_get(struct api *api, struct http_request *request) {
        answer_agent(api, request, 200, request->params[0]);
}

/* ---- writing */

/*
 * Where an agent's tools will run from. Only a reference is ever taken: the path of a file of the host would let any
 * client read it. Until a service can fetch such an image, it says so instead of keeping a name that means nothing.
 */
static int check_image(const char *image, struct err *e) {
        static const char scheme[] = "docker://";
        if (strncmp(image, scheme, strlen(scheme)) != 0 || !image[strlen(scheme)])
                return err_set_field(e, -EINVAL, "image",
                                     "image must be a reference such as \"docker://registry.example/name:tag\".");
        return err_set_field(e, -EINVAL, "image",
                             "This service cannot deploy an agent's image yet: leave image out. Code that a model "
                             "writes runs without one.");
}

static int take_members(const json_t *image, json_t *tools, char **ret_tools, struct err *e) {
        if (image) {
                int r = check_image(json_string_value(image), e);
                if (r < 0)
                        return r;
        }
        return tools ? agent_tools_take(tools, ret_tools, e) : 0;
}

void agents_handle_put(struct api *api, struct http_request *request) {
        const char *name = request->params[0];
        json_t *body, *image, *tools;
        const struct json_field fields[] = {
                {.name = "image", .want = JSON_WANT_STRING, .max = STORE_IMAGE_MAX, .value = &image},
                {.name = "tools", .want = JSON_WANT_ARRAY, .max = AGENT_TOOLS_MAX, .value = &tools},
        };
        CLEANUP_FREE char *tools_text = NULL;
        struct err e = {0};
        bool created = false;

        if (!name_is_agent(name)) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "name", "The name of an agent must be " AGENT_NAME_RULE
                                                                        ".");
                return;
        }
        if (!json_decode_request(request, fields, ARRAY_SIZE(fields), &body))
                return;
        int r = take_members(image, tools, &tools_text, &e);
        if (r == 0)
                r = store_agent_put(api->store, request->auth.project_id, name, NULL, tools_text, &created);
        json_decref(body);
        if (e.code) {
                http_reply_error(request, HTTP_INVALID_REQUEST, e.field, "%s", e.message);
        } else if (r == STORE_E_FULL) {
                http_reply_error(request, HTTP_CONFLICT, "name",
                                 "This project has %d agents, which is the most: delete one that is no longer needed.",
                                 STORE_AGENTS_PER_PROJECT_MAX);
        } else if (r != 0) {
                answer_store_failure(request);
        } else {
                log_info(created ? "an agent was made" : "an agent was changed", "agent", name, "project",
                         request->auth.project, "request", request->id);
                audit_add(api, request, created ? AUDIT_AGENT_CREATE : AUDIT_AGENT_CHANGE, name, NULL);
                answer_agent(api, request, created ? 201 : 200, name);
        }
}

void agents_handle_delete(struct api *api, struct http_request *request) {
        const char *name = request->params[0];
        int r = store_agent_delete(api->store, request->auth.project_id, name);
        if (r == STORE_E_NOT_FOUND) {
                answer_no_agent(request, name);
        } else if (r != 0) {
                answer_store_failure(request);
        } else {
                log_info("an agent was deleted", "agent", name, "project", request->auth.project, "request",
                         request->id);
                audit_add(api, request, AUDIT_AGENT_DELETE, name, NULL);
                http_reply_empty(request, 204);
        }
}
