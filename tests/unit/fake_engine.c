/* Stands in for the run engine in tests of the HTTP side: nothing runs. */
#include "api/call.h"
#include "api/deploy.h"
#include "api/engine.h"
#include "api/execute.h"
#include "api/live_sessions.h"
#include "session/sessions.h"

/* A test may have one of its own. */
__attribute__((weak)) void execute_handle(struct api *api, struct http_request *request) {
        (void)api, (void)request;
}

void call_handle(struct api *api, struct http_request *request) {
        (void)api, (void)request;
}

void deploy_handle_archive(struct api *api, struct http_request *request) {
        (void)api, (void)request;
}

void deploy_start(struct api *api, struct http_request *request, const char *reference, json_t *tools) {
        (void)api, (void)request, (void)reference, (void)tools;
}

bool engine_knows_images(const struct engine *engine) {
        (void)engine;
        return true;
}

void engine_image_drop(struct engine *engine, struct sandbox_id image) {
        (void)engine, (void)image;
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
