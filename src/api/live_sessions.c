/* Live sessions; see live_sessions.h. */
#include "api/live_sessions.h"

#include "api/api.h"
#include "api/audit.h"
#include "api/http.h"
#include "api/paging.h"
#include "base/config.h"
#include "session/sessions.h"
#include "store/conversations.h"

/* Never so many that pages were needed: their number is what the caps are for. */
void live_sessions_handle_list(struct api *api, struct http_request *request) {
        const struct config *config = api->config;
        json_t *list = sessions_list(api->sessions, request->auth.project_id);
        http_reply_json(request, 200,
                        json_pack("{s:o, s:{s:I, s:I, s:i}, s:I}", "sessions", list, "limits", "per_project",
                                  (json_int_t)config->sessions_per_project, "platform",
                                  (json_int_t)config->max_sessions, "platform_live",
                                  (int)sessions_count(api->sessions), "idle_seconds",
                                  (json_int_t)config->session_idle_s));
}

void live_sessions_handle_end(struct api *api, struct http_request *request) {
        const char *name = request->params[0];
        int64_t project_id = request->auth.project_id;
        struct store_conversation conversation;
        int r = store_conversation_find(api->store, project_id, name, &conversation);
        if (r < 0) {
                answer_store_failure(request);
                return;
        }
        bool ended = sessions_end(api->sessions, project_id, name, SESSION_LOSS_ENDED);
        if (ended)
                audit_add(api, request, AUDIT_SESSION_END, name, NULL);
        if (r == 0 || ended) {
                http_reply_json(request, 200, json_pack("{s:s, s:b}", "conversation_id", name, "ended", ended));
                return;
        }
        http_reply_error(request, HTTP_NOT_FOUND, NULL,
                         "There is no conversation \"%s\" in this project. GET /v1/conversations (platformctl "
                         "conversations list) lists those there are.",
                         name);
}
