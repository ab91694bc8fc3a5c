/* Settings of agents; see agents.h, and agent_settings.h for what they mean. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/agents.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/http.h"
#include "api/json.h"
#include "api/names.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "store/agents.h"

static void add_warning(const struct config *config, json_t *warnings, const char *name, const char *value) {
        char warning[AGENT_WARNING_BYTES];
        if (agent_setting_warning(config, name, value, warning))
                json_array_append_new(warnings, json_string(warning));
}

static json_t *effective_json(const struct agent_settings *settings) {
        return json_pack("{s:b, s:f}", "stateful", settings->stateful, "timeout_s", settings->timeout_ms / 1000.0);
}

/* ---- reading */

static json_t *env_json(const struct config *config, const struct store_env *env, size_t count,
                        const struct agent_settings *settings) {
        json_t *values = json_object(), *warnings = json_array();
        for (size_t i = 0; i < count; i++) {
                json_object_set_new(values, env[i].name, json_string(env[i].value));
                add_warning(config, warnings, env[i].name, env[i].value);
        }
        return json_pack("{s:o, s:o, s:o}", "env", values, "effective", effective_json(settings), "warnings", warnings);
}

void agents_handle_env_list(struct api *api, struct http_request *request) {
        const char *agent = request->params[0];
        int64_t project = request->auth.project_id;
        struct agent_settings settings;
        struct store_env *env = NULL;
        size_t count = 0;

        int r = store_env_list(api->store, project, agent, &env, &count);
        if (r == 0)
                r = agent_settings_load(api->store, api->config, project, agent, &settings);
        if (r == STORE_E_NOT_FOUND)
                answer_no_agent(request, agent);
        else if (r != 0)
                answer_store_failure(request);
        else
                http_reply_json(request, 200, env_json(api->config, env, count, &settings));
        store_env_free(env, count);
}

/* ---- writing */

static void answer_stored(struct api *api, struct http_request *request, const char *value) {
        const char *agent = request->params[0], *name = request->params[1];
        struct agent_settings settings;
        if (agent_settings_load(api->store, api->config, request->auth.project_id, agent, &settings) != 0) {
                answer_store_failure(request);
                return;
        }
        json_t *warnings = json_array();
        add_warning(api->config, warnings, name, value);
        log_info("a setting of an agent was changed", "agent", agent, "setting", name, "project",
                 request->auth.project, "request", request->id);
        audit_add(api, request, AUDIT_AGENT_ENV_SET, agent, json_pack("{s:s}", "setting", name));
        http_reply_json(request, 200,
                        json_pack("{s:s, s:s, s:o, s:o}", "name", name, "value", value, "effective",
                                  effective_json(&settings), "warnings", warnings));
}

static void store_setting(struct api *api, struct http_request *request, const char *value) {
        const char *agent = request->params[0], *name = request->params[1];
        struct err e;
        if (agent_setting_check(name, value, &e) < 0) {
                http_reply_error(request, HTTP_INVALID_REQUEST, e.field, "%s", e.message);
                return;
        }
        int r = store_env_set(api->store, request->auth.project_id, agent, name, value);
        if (r == STORE_E_NOT_FOUND)
                answer_no_agent(request, agent);
        else if (r == STORE_E_FULL)
                http_reply_error(request, HTTP_CONFLICT, "name",
                                 "The agent \"%s\" has %d settings, which is the most: delete one that is no longer "
                                 "needed.",
                                 agent, STORE_ENV_PER_AGENT_MAX);
        else if (r != 0)
                answer_store_failure(request);
        else
                answer_stored(api, request, value);
}

void agents_handle_env_put(struct api *api, struct http_request *request) {
        json_t *body, *value;
        const struct json_field fields[] = {
                {.name = "value",
                 .want = JSON_WANT_STRING,
                 .required = true,
                 .max = STORE_ENV_VALUE_MAX,
                 .value = &value},
        };
        if (!name_is_variable(request->params[1])) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "name",
                                 "The name of a setting must be " VARIABLE_RULE ".");
                return;
        }
        if (!json_decode_request(request, fields, ARRAY_SIZE(fields), &body))
                return;
        store_setting(api, request, json_string_value(value));
        json_decref(body);
}

void agents_handle_env_delete(struct api *api, struct http_request *request) {
        const char *agent = request->params[0], *name = request->params[1];
        int r = store_env_unset(api->store, request->auth.project_id, agent, name);
        if (r == STORE_E_NOT_FOUND) {
                http_reply_error(request, HTTP_NOT_FOUND, NULL,
                                 "There is no agent \"%.64s\" with a setting \"%.128s\".", agent, name);
        } else if (r != 0) {
                answer_store_failure(request);
        } else {
                log_info("a setting of an agent was deleted", "agent", agent, "setting", name, "project",
                         request->auth.project, "request", request->id);
                audit_add(api, request, AUDIT_AGENT_ENV_UNSET, agent, json_pack("{s:s}", "setting", name));
                http_reply_empty(request, 204);
        }
}
