/* Stands in for the run engine in tests of the HTTP side: nothing runs. */
#include "api/engine.h"
#include "api/execute.h"
#include "api/live_sessions.h"
#include "session/sessions.h"

void execute_handle(struct api *api, struct http_request *request) {
        (void)api, (void)request;
}

bool engine_is_ready(const struct engine *engine) {
        return engine != NULL;
}

json_t *engine_status(const struct engine *engine) {
        (void)engine;
        return NULL;
}

void engine_update_metrics(struct engine *engine) {
        (void)engine;
}

void live_sessions_handle_list(struct api *api, struct http_request *request) {
        (void)api, (void)request;
}

void live_sessions_handle_end(struct api *api, struct http_request *request) {
        (void)api, (void)request;
}

bool sessions_end(struct sessions *sessions, int64_t project_id, const char *conversation, enum session_loss why) {
        (void)sessions, (void)project_id, (void)conversation, (void)why;
        return false;
}
