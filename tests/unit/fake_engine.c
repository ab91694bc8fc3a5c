/* Stands in for the run engine in tests of the HTTP side: nothing runs. */
#include "api/engine.h"
#include "api/execute.h"

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
