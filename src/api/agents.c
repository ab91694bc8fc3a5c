/* Agents; see agents.h. */
#include "api/agents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/agent_tools.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/deploy.h"
#include "api/http.h"
#include "api/images.h"
#include "api/json.h"
#include "api/names.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "store/agents.h"
#include "store/images.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX 200

void answer_no_agent(struct http_request *request, const char *name) {
        http_reply_error(request, HTTP_NOT_FOUND, NULL,
                         "This project has no agent \"%.64s\"; PUT /v1/agents/{name} makes one, and so does "
                         "platformctl agents create.", name);
}

/* ---- what clients see */

/* Of a list: tools may be long, and are shown with their agent. */
static json_t *summary_json(const struct store_agent *agent) {
        return json_pack("{s:s, s:s?, s:o, s:o}", "name", agent->name, "image", agent->image, "created_at",
                         time_json(agent->created_ms), "updated_at", time_json(agent->updated_ms));
}

static void add_image(json_t *whole, const struct store_image *image) {
        json_object_set_new(whole, "image_digest", image ? json_string(image->digest) : json_null());
        json_object_set_new(whole, "image_bytes", image ? json_integer(image->bytes) : json_null());
        json_object_set_new(whole, "python", image ? json_string(image->python) : json_null());
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

/* 0, STORE_E_NOT_FOUND or a negative errno. */
static int read_agent(struct api *api, int64_t project, const char *name, json_t **ret) {
        CLEANUP(store_agent_deinit) struct store_agent agent = {0};
        CLEANUP(store_image_deinit) struct store_image image = {0};
        struct agent_settings settings;
        int r = store_agent_find(api->store, project, name, &agent);
        if (r == 0)
                r = agent_settings_load(api->store, api->config, project, name, &settings);
        if (r != 0)
                return r;
        r = store_image_of_agent(api->store, project, name, &image);
        if (r < 0)
                return r;
        *ret = agent_json(&agent, &settings);
        if (*ret)
                add_image(*ret, r == 0 ? &image : NULL);
        return 0;
}

json_t *agent_full_json(struct api *api, const struct http_request *request, const char *name) {
        json_t *agent = NULL;
        return read_agent(api, request->auth.project_id, name, &agent) == 0 ? agent : NULL;
}

static void answer_agent(struct api *api, struct http_request *request, unsigned status, const char *name) {
        json_t *agent = NULL;
        int r = read_agent(api, request->auth.project_id, name, &agent);
        if (r == STORE_E_NOT_FOUND)
                answer_no_agent(request, name);
        else if (r != 0)
                answer_store_failure(request);
        else
                http_reply_json(request, status, agent);
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
        if (image) {
                CLEANUP_FREE char *reference = strdup(json_string_value(image));
                json_t *declared = json_incref(tools);
                json_decref(body);
                deploy_start(api, request, reference ? reference : "", declared);
                return;
        }
        int r = tools ? agent_tools_take(tools, &tools_text, &e) : 0;
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
        struct store_retired retired;
        int r = store_agent_delete(api->store, request->auth.project_id, name, &retired);
        images_retire_all(api->images, &retired);
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
