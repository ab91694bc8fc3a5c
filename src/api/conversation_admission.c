/* Admission to conversations; see conversation_admission.h. */
#include "api/conversation_admission.h"

#include <string.h>

#include "api/api.h"
#include "api/http.h"
#include "api/paging.h"
#include "base/config.h"
#include "store/conversations.h"

static bool refuse_internal(struct http_request *request) {
        answer_store_failure(request);
        return false;
}

void answer_conversation_of_other(struct http_request *request, const char *conversation, const char *owner) {
        http_reply_error(request, HTTP_CONFLICT, "agent",
                         "The conversation \"%s\" belongs to the agent \"%s\". Use that agent, or another "
                         "conversation_id.",
                         conversation, owner);
}

static bool check_owner(const struct api *api, struct http_request *request, const char *conversation,
                        const char *agent) {
        struct store_conversation found;
        int r = store_conversation_find(api->store, request->auth.project_id, conversation, &found);
        if (r < 0)
                return refuse_internal(request);
        if (r != 0 || !agent || !found.agent[0] || strcmp(found.agent, agent) == 0)
                return true;
        answer_conversation_of_other(request, conversation, found.agent);
        return false;
}

static bool check_quota(const struct api *api, struct http_request *request) {
        const struct config *config = api->config;
        struct store_usage usage;
        if (store_usage_get(api->store, request->auth.project_id, &usage) < 0)
                return refuse_internal(request);
        bool bytes = config->quota_bytes > 0 && usage.bytes >= config->quota_bytes;
        bool files = config->quota_files > 0 && usage.files >= config->quota_files;
        if (!bytes && !files)
                return true;
        http_reply_error(request, HTTP_QUOTA_EXCEEDED, NULL,
                         "This project keeps %lld %s, and its quota is %lld (%s). Delete conversations that are not "
                         "needed any more (DELETE /v1/conversations/{id}), or run without conversation_id.",
                         (long long)(bytes ? usage.bytes : usage.files), bytes ? "bytes" : "files",
                         (long long)(bytes ? config->quota_bytes : config->quota_files),
                         bytes ? "SANDBOX_QUOTA_BYTES" : "SANDBOX_QUOTA_FILES");
        return false;
}

bool conversation_admits(const struct api *api, struct http_request *request, const char *conversation,
                         const char *agent) {
        return check_owner(api, request, conversation, agent) && check_quota(api, request);
}
