/* Runs that were never started; see run_refusal.h. */
#include "api/run_refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/engine.h"
#include "api/http.h"
#include "base/config.h"
#include "run/input_names.h"

static void refuse_input(const struct run *run, struct http_request *request) {
        char why[160];
        switch (run->input_error.error) {
        case ENOSPC:
                snprintf(why, sizeof(why),
                         "does not fit: the working directory holds 128 MiB and 16384 files and folders. Send fewer "
                         "or smaller files");
                break;
        case ENOMEM:
                snprintf(why, sizeof(why),
                         "does not fit into the sandbox's memory of 512 MiB. Send fewer or smaller files");
                break;
        default:
                snprintf(why, sizeof(why), "could not be written into the working directory (%s)",
                         strerror(run->input_error.error));
        }
        http_reply_error(request, HTTP_INVALID_REQUEST, "files", "The input file \"%.*s\" %s.",
                         (int)input_name_shown(run->input_error.name), run->input_error.name, why);
}

static void refuse_overloaded(const struct api *api, struct http_request *request, const char *why) {
        char seconds[16];
        unsigned wait = engine_retry_after_s(api->engine);
        snprintf(seconds, sizeof(seconds), "%u", wait);
        http_reply_header(request, "Retry-After", seconds);
        http_reply_error(request, HTTP_OVERLOADED, NULL, "%s Try again in %u s.", why, wait);
}

static void refuse_for_queue(const struct api *api, struct http_request *request) {
        char text[200];
        snprintf(text, sizeof(text),
                 "All %lld places for running code are taken, and %lld requests wait already, which is the most.",
                 (long long)api->config->max_concurrent, (long long)api->config->queue_max);
        refuse_overloaded(api, request, text);
}

static void refuse_for_wait(const struct api *api, struct http_request *request) {
        char text[80];
        snprintf(text, sizeof(text), "No sandbox became free within %lld s.", (long long)api->config->queue_timeout_s);
        refuse_overloaded(api, request, text);
}

void answer_refused_run(const struct api *api, struct http_request *request, const struct run *run,
                        enum run_refusal why) {
        switch (why) {
        case RUN_REFUSED_INPUT:
                refuse_input(run, request);
                break;
        case RUN_REFUSED_QUEUE_FULL:
                refuse_for_queue(api, request);
                break;
        case RUN_REFUSED_WAITED:
                refuse_for_wait(api, request);
                break;
        case RUN_REFUSED_STOPPING:
                refuse_overloaded(api, request, "The service is being stopped.");
                break;
        case RUN_REFUSED_DELETED:
                http_reply_error(request, HTTP_CONFLICT, "conversation_id",
                                 "The conversation was deleted while this call waited for its turn.");
                break;
        case RUN_REFUSED_MEMORY:
                refuse_overloaded(api, request, "The service has no memory left for this run.");
                break;
        case RUN_REFUSED_IMAGE:
                http_reply_error(request, HTTP_CONFLICT, "agent",
                                 "The file of the agent's image is gone. Deploy the agent again (platformctl agents "
                                 "deploy).");
                break;
        case RUN_REFUSED_ROOM:
                refuse_overloaded(api, request, "No sandbox could be made; the service's log says why.");
                break;
        }
}
