/* Deploying; see deploy.h. */
#include "api/deploy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/agent_tools.h"
#include "api/agents.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/deploy_events.h"
#include "api/deploy_image.h"
#include "api/egress_audit.h"
#include "api/engine.h"
#include "api/http.h"
#include "api/images.h"
#include "api/metrics.h"
#include "api/names.h"
#include "api/run_refusal.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "run/run.h"
#include "store/agents.h"
#include "store/images.h"

#define FETCHES_MAX 2 /* from registries, at a time; uploads are counted apart */
#define DISCOVERY_MS 60000
#define KNOWN_MAX 1000

struct deploy {
        struct api *api;
        struct http_request *request;
        struct deploy_events events;
        char *reference;      /* "docker://…", or the kind of the archive */
        char *declared_tools; /* JSON; NULL: those that are found */
        int archive_fd;       /* -1: none */
        bool is_fetch;
        char *frame; /* what the sandbox at work is told */
        struct run_request what;
        struct run *run; /* NULL between two, and after the last */
        bool importing;

        struct store_image image;
        struct sandbox_id file;
        bool holds_file;
};

static void deploy_free(struct deploy *deploy) {
        deploy_events_deinit(&deploy->events);
        if (deploy->holds_file)
                images_release(deploy->api->images, deploy->file); /* dropped, unless it is an agent's by now */
        deploy->api->deploys -= deploy->is_fetch;
        store_image_deinit(&deploy->image);
        close_fd(&deploy->archive_fd);
        free(deploy->reference);
        free(deploy->declared_tools);
        free(deploy->frame);
        free(deploy);
}

/* ---- the end */

static void count(const struct deploy *deploy, const char *outcome) {
        metrics_add(deploy->api->metrics, METRIC_IMPORTS, 1, outcome);
}

static void fail(struct deploy *deploy, enum http_error kind, const char *message, const char *traceback) {
        log_info("an image could not be deployed", "agent", deploy->request->params[0], "project",
                 deploy->request->auth.project, "request", deploy->request->id, "why", message);
        count(deploy, "error");
        deploy_events_error(&deploy->events, kind, "image", message, traceback);
        deploy_free(deploy);
}

static void fail_for(struct deploy *deploy, int r, const struct err *e) {
        if (r == -ENOMEM)
                fail(deploy, HTTP_OVERLOADED, "The service has no memory left for this image.", NULL);
        else
                fail(deploy, HTTP_INVALID_REQUEST, e->message, NULL);
}

static void fail_for_store(struct deploy *deploy, int r) {
        char message[128];
        snprintf(message, sizeof(message),
                 "This project has %d agents, which is the most: delete one that is no longer needed.",
                 STORE_AGENTS_PER_PROJECT_MAX);
        if (r == STORE_E_FULL)
                fail(deploy, HTTP_CONFLICT, message, NULL);
        else
                fail(deploy, HTTP_INTERNAL, "The service could not store this; its log says why.", NULL);
}

/* The one moment at which the agent changes. */
static void commit(struct deploy *deploy, const char *found_tools) {
        struct api *api = deploy->api;
        struct http_request *request = deploy->request;
        const char *tools = deploy->declared_tools ? deploy->declared_tools : found_tools;
        struct store_retired retired;
        bool created;
        int r = store_agent_deploy(api->store, request->auth.project_id, request->params[0], deploy->reference, tools,
                                   &deploy->image, &created, &retired);
        if (r != 0) {
                fail_for_store(deploy, r);
                return;
        }
        images_keep(api->images, deploy->file);
        images_retire_all(api->images, &retired);
        count(deploy, "ok");
        log_info("an image was deployed", "agent", request->params[0], "project", request->auth.project, "request",
                 request->id, "image", deploy->reference, "digest", deploy->image.digest, "python",
                 deploy->image.python);
        audit_add(api, request, AUDIT_AGENT_IMAGE, request->params[0],
                  json_pack("{s:s, s:s}", "image", deploy->reference, "digest", deploy->image.digest));
        deploy_events_done(&deploy->events, created ? 201 : 200, agent_full_json(api, request, request->params[0]));
        deploy_free(deploy);
}

/* ---- sandboxes at work */

static bool judge(const struct run *run, const struct json_span *wanted, struct call_error *error) {
        struct call_facts facts = {
                .outcome = run->outcome,
                .wait_status = run->end.wait_status,
                .timeout_ms = run->setup.request->timeout_ms,
                .memory_bytes = CALL_MEMORY_BYTES,
                .output_max_bytes = run->setup.limits.output_max_bytes,
                .started = run->started_ns > 0,
        };
        return call_end_judge(&run->call_end, wanted, &facts, error);
}

static const struct run_handler import_handler, discovery_handler;

/* Begins the next sandbox, which is told `frame`; takes that over. */
static void work(struct deploy *deploy, char *frame, const struct run_request *what,
                 const struct run_handler *handler) {
        free(deploy->frame);
        deploy->frame = frame;
        deploy->what = *what;
        deploy->what.code = frame;
        deploy->what.code_length = frame ? strlen(frame) : 0;
        deploy->what.lane = deploy->request->auth.project;
        deploy->run = frame ? engine_run_new(deploy->api->engine, &deploy->what, handler, deploy) : NULL;
        if (deploy->run)
                engine_run_submit(deploy->api->engine, deploy->run);
        else
                fail(deploy, HTTP_OVERLOADED, "The service has no memory left for this image.", NULL);
}

static void on_refused(struct run *run, void *data, enum run_refusal why) {
        struct deploy *deploy = data;
        if (deploy->events.begun) {
                fail(deploy, HTTP_OVERLOADED, "No sandbox could be had for this image. Try again later.", NULL);
                return;
        }
        count(deploy, "error");
        answer_refused_run(deploy->api, deploy->request, run, why);
        deploy_free(deploy);
}

/* What the agent's code says while it is imported, in the words of the client that deploys it. */
static void fail_discovery(struct deploy *deploy, const struct run *run, const struct call_error *error) {
        CLEANUP_FREE char *message = NULL;
        char tail[2001];
        size_t length = output_tail(&run->pipes[RUN_STDERR].output, tail, sizeof(tail) - 1);
        tail[length] = '\0';
        const char *before = length > 0 && !error->traceback ? ". Standard error ends with: " : "";
        int r = asprintf(&message, "The tools of the image could not be found: %s: %.2000s%s%s", error->type,
                         error->message ? error->message : "", before, *before ? tail : "");
        fail(deploy, HTTP_INVALID_REQUEST, r < 0 ? "The tools of the image could not be found." : message,
             error->traceback);
        if (r < 0)
                message = NULL;
}

static void on_discovered(struct run *run, void *data) {
        struct deploy *deploy = data;
        struct call_error error;
        CLEANUP_FREE char *tools = NULL;
        struct err e = {0};
        deploy->run = NULL;
        audit_egress(deploy->api, deploy->request, run);
        if (!judge(run, &run->call_end.tools, &error)) {
                fail_discovery(deploy, run, &error);
                call_error_deinit(&error);
                return;
        }
        int r = deploy_take_tools(&run->call_end, &tools, deploy->image.python, &e);
        if (r < 0)
                fail_for(deploy, r, &e);
        else
                commit(deploy, tools);
}

static void discover(struct deploy *deploy) {
        const struct run_request what = {
                .kind = RUN_DISCOVERY, .image = deploy->file, .archive_fd = -1, .timeout_ms = DISCOVERY_MS};
        close_fd(&deploy->archive_fd);
        deploy->importing = false;
        deploy_events_progress(&deploy->events, json_pack("{s:s, s:n, s:n, s:s}", "step", "discover", "done", "total",
                                                          "message", "finding tools"));
        work(deploy, deploy_discovery_frame(deploy->api->config, &deploy->image), &what, &discovery_handler);
}

/* The import found out that its work had been done before. */
static void take_known(struct deploy *deploy) {
        struct store_image known;
        int r = store_image_find(deploy->api->store, deploy->request->auth.project_id, deploy->image.digest, &known);
        if (r != 0) {
                fail(deploy, HTTP_CONFLICT, "The image was removed while it was deployed. Deploy it again.", NULL);
                return;
        }
        store_image_deinit(&deploy->image);
        deploy->image = known;
        if (!image_parse(known.file, &deploy->file) || !images_has(deploy->api->images, deploy->file)) {
                fail(deploy, HTTP_CONFLICT, "The image was removed while it was deployed. Deploy it again.", NULL);
                return;
        }
        images_hold(deploy->api->images, deploy->file);
        deploy->holds_file = true;
        discover(deploy);
}

static void take_new(struct deploy *deploy, const struct run *run) {
        deploy->file = run->sandbox;
        image_text(deploy->file, deploy->image.file);
        deploy->image.bytes = (int64_t)run->end.image_bytes;
        if (images_made(deploy->api->images, deploy->file, run->end.image_bytes) < 0) {
                fail(deploy, HTTP_OVERLOADED, "The service has no memory left for this image.", NULL);
                return;
        }
        deploy->holds_file = true;
        discover(deploy);
}

static void fail_import(struct deploy *deploy, const struct run *run) {
        CLEANUP_FREE char *message = NULL;
        char reason[DEPLOY_REASON_BYTES];
        struct call_error error;
        judge(run, &run->call_end.image, &error);
        deploy_network_reason(&run->egress.records, reason);
        bool too_large = strcmp(error.type, "too_large") == 0 || strcmp(error.type, "too_many_files") == 0;
        int r = asprintf(&message, "The image cannot be taken: %.3000s%s%s", error.message ? error.message : error.type,
                         *reason ? ". " : "", reason);
        fail(deploy, too_large ? HTTP_TOO_LARGE : HTTP_INVALID_REQUEST, r < 0 ? "The image cannot be taken." : message,
             NULL);
        if (r < 0)
                message = NULL;
        call_error_deinit(&error);
}

static void on_imported(struct run *run, void *data) {
        struct deploy *deploy = data;
        const struct call_end *end = &run->call_end;
        struct err e = {0};
        bool known = false, kept = run->end.image_kept;
        deploy->run = NULL;
        audit_egress(deploy->api, deploy->request, run);
        if (!end->image.bytes || end->problem[0] || run->end.reason != SPAWN_END_EXIT) {
                if (kept)
                        engine_image_drop(deploy->api->engine, run->sandbox);
                fail_import(deploy, run);
                return;
        }
        int r = deploy_take_image(&end->image, deploy->api->config, &deploy->image, &known, &e);
        if (kept && (r < 0 || known))
                engine_image_drop(deploy->api->engine, run->sandbox);
        if (r < 0)
                fail_for(deploy, r, &e);
        else if (known)
                take_known(deploy);
        else if (kept)
                take_new(deploy, run);
        else
                fail(deploy, HTTP_INTERNAL, "The image was unpacked, but could not be kept; the service's log says why.",
                     NULL);
}

static void on_progress(struct run *run, void *data, const char *json, size_t length) {
        struct deploy *deploy = data;
        json_t *progress = deploy_progress(json, length);
        (void)run;
        if (progress)
                deploy_events_progress(&deploy->events, progress);
}

static const struct run_handler import_handler = {
        .on_done = on_imported, .on_refused = on_refused, .on_progress = on_progress};
static const struct run_handler discovery_handler = {.on_done = on_discovered, .on_refused = on_refused};

/* ---- the beginning */

static void on_gone(struct http_request *request, void *data) {
        struct deploy *deploy = data;
        log_info("the client is gone; its deployment is ended", "request", request->id);
        if (deploy->run)
                run_cancel(deploy->run);
        count(deploy, "error");
        http_drop(request);
        deploy_free(deploy);
}

/* Digests of images that need not be unpacked again. A new reference, or NULL. */
static json_t *known_digests(const struct deploy *deploy) {
        CLEANUP_FREE struct store_image_name *names = calloc(KNOWN_MAX, sizeof(*names));
        json_t *list = json_array();
        int count = names ? store_image_list(deploy->api->store, deploy->request->auth.project_id, names, KNOWN_MAX)
                          : 0;
        for (int i = 0; i < count; i++) {
                struct sandbox_id file;
                if (image_parse(names[i].file, &file) && images_has(deploy->api->images, file))
                        json_array_append_new(list, json_string(names[i].digest));
        }
        return list;
}

static void begin(struct deploy *deploy) {
        const struct run_request what = {
                .kind = RUN_IMPORT,
                .archive_fd = deploy->archive_fd,
                .timeout_ms = (uint32_t)deploy->api->config->image_timeout_s * 1000,
        };
        deploy->importing = true;
        http_on_disconnect(deploy->request, on_gone, deploy);
        work(deploy, deploy_import_frame(deploy->api->config, deploy->reference, known_digests(deploy)), &what,
             &import_handler);
}

static struct deploy *deploy_new(struct api *api, struct http_request *request, const char *reference,
                                 bool with_events) {
        struct deploy *deploy = calloc(1, sizeof(*deploy));
        char *copy = strdup(reference);
        if (!deploy || !copy) {
                free(deploy);
                free(copy);
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                return NULL;
        }
        *deploy = (struct deploy){.api = api, .request = request, .reference = copy, .archive_fd = -1};
        deploy_events_init(&deploy->events, api->loop, request, with_events);
        return deploy;
}

static bool accepts(const struct http_request *request, const char *type) {
        const char *accept = http_header(request, "Accept");
        return accept && strstr(accept, type);
}

/* "oci-archive" or "docker-archive"; NULL: the request was refused. */
static const char *read_kind(struct http_request *request) {
        static const char *const kinds[] = {"oci-archive", "docker-archive"};
        const char *kind = http_query(request, "kind");
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (!kind || strcmp(kind, kinds[i]) == 0)
                        return kinds[i];
        http_reply_error(request, HTTP_INVALID_REQUEST, "kind", "kind must be oci-archive or docker-archive.");
        return NULL;
}

void deploy_handle_archive(struct api *api, struct http_request *request) {
        const char *kind;
        if (!name_is_agent(request->params[0])) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "name", "The name of an agent must be " AGENT_NAME_RULE
                                                                        ".");
                return;
        }
        if (!(kind = read_kind(request)))
                return;
        if (request->body_fd < 0 || lseek(request->body_fd, 0, SEEK_END) <= 0) {
                http_reply_error(request, HTTP_INVALID_REQUEST, NULL,
                                 "The body is empty; send the image as an archive (platformctl agents deploy does).");
                return;
        }
        /* Events, unless one reply is asked for: unpacking takes its time. */
        bool plain = accepts(request, "application/json") && !accepts(request, "text/event-stream");
        struct deploy *deploy = deploy_new(api, request, kind, !plain);
        if (!deploy)
                return;
        deploy->archive_fd = take_fd(&request->body_fd);
        begin(deploy);
}

void deploy_start(struct api *api, struct http_request *request, const char *reference, json_t *tools) {
        struct err e = {0};
        CLEANUP_FREE char *declared = NULL;
        int r = deploy_check_reference(reference, api->config->registries, &e);
        if (r == 0 && tools)
                r = agent_tools_take(tools, &declared, &e);
        json_decref(tools);
        if (r < 0) {
                http_reply_error(request, HTTP_INVALID_REQUEST, e.field, "%s", e.message);
                return;
        }
        if (api->deploys == FETCHES_MAX) {
                http_reply_header(request, "Retry-After", "30");
                http_reply_error(request, HTTP_OVERLOADED, NULL,
                                 "%d images are being fetched already, which is the most. Try again in 30 s.",
                                 FETCHES_MAX);
                return;
        }
        struct deploy *deploy = deploy_new(api, request, reference, accepts(request, "text/event-stream"));
        if (!deploy)
                return;
        deploy->is_fetch = true;
        api->deploys++;
        deploy->declared_tools = TAKE_PTR(declared);
        begin(deploy);
}
