/* Tool descriptions; see tools.h. */
#include "api/tools.h"

#include "api/agent_settings.h"
#include "api/agents.h"
#include "api/api.h"
#include "api/http.h"
#include "api/paging.h"
#include "api/tool_description.h"
#include "base/config.h"
#include "store/store.h"

static int read_format(struct http_request *request) {
        const char *name = http_query(request, "format");
        int format = name ? tool_format_of(name) : -1;
        if (format < 0)
                http_reply_error(request, HTTP_INVALID_REQUEST, "format",
                                 "format must be one of openai (chat completions), openai-responses, anthropic, gemini "
                                 "and mcp.");
        return format;
}

/* Of the agent that ?agent= names, or of runs without one. */
static bool read_settings(struct api *api, struct http_request *request, struct agent_settings *settings) {
        const char *agent = http_query(request, "agent");
        if (!agent) {
                agent_settings_init(api->config, settings);
                return true;
        }
        int r = agent_settings_load(api->store, api->config, request->auth.project_id, agent, settings);
        if (r == STORE_E_NOT_FOUND)
                answer_no_agent(request, agent);
        else if (r != 0)
                answer_store_failure(request);
        return r == 0;
}

void tools_handle_run_python(struct api *api, struct http_request *request) {
        struct agent_settings settings;
        int format = read_format(request);
        if (format >= 0 && read_settings(api, request, &settings))
                http_reply_json(request, 200,
                                tool_run_python(api->config, api->environment, &settings, (enum tool_format)format));
}
