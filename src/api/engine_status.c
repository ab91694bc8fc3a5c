/* What the engine tells about itself; see engine.h. Runs in the api process. */
#include "api/api.h"
#include "api/engine_private.h"
#include "api/images.h"
#include "api/metrics.h"
#include "base/config.h"
#include "session/sessions.h"

static const char *template_state_name(enum spawn_template_state state) {
        switch (state) {
        case SPAWN_TEMPLATE_SERVING:
                return "serving";
        case SPAWN_TEMPLATE_FAILED:
                return "failed";
        default:
                return "starting";
        }
}

/* Without a pool nothing is made before somebody asks, and nobody may ask a service that is not ready. */
bool engine_is_ready(const struct engine *engine) {
        bool serves = engine->template.state == SPAWN_TEMPLATE_SERVING;
        bool proven = engine->ever_ready || engine->pool.settings.target == 0;
        return proven && !engine->draining && (serves || engine->pool.parked > 0);
}

static json_t *pool_status(const struct engine *engine) {
        const struct pool *pool = &engine->pool;
        return json_pack("{s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "target", (int)pool->settings.target, "parked",
                         (int)pool->parked, "creating", (int)pool->creating, "retiring", (int)pool->retiring,
                         "created_total", (json_int_t)pool->created_total, "failed_total",
                         (json_int_t)pool->failed_total, "warm_claims_total", (json_int_t)engine->warm_claims,
                         "cold_claims_total", (json_int_t)engine->cold_claims);
}

static json_t *runs_status(const struct engine *engine) {
        const struct admission *admission = &engine->admission;
        return json_pack("{s:i, s:i, s:i, s:i, s:I, s:I}", "running", (int)admission->running, "max_concurrent",
                         (int)admission->settings.running_max, "queued", (int)admission->waiting, "queue_max",
                         (int)admission->settings.queue_max, "refused_total", (json_int_t)admission->refused_total,
                         "expired_total", (json_int_t)admission->expired_total);
}

static json_t *template_status(const struct engine *engine) {
        const struct spawn_template_news *template = &engine->template;
        return json_pack("{s:s, s:I, s:I}", "state", template_state_name(template->state), "generation",
                         (json_int_t) template->generation, "forks", (json_int_t) template->forks);
}

static json_t *sessions_status(const struct engine *engine) {
        const struct config *config = engine->api->config;
        return json_pack("{s:i, s:I, s:I, s:o}", "live", (int)sessions_count(engine->api->sessions), "max",
                         (json_int_t)config->max_sessions, "per_project_max",
                         (json_int_t)config->sessions_per_project, "list", sessions_list(engine->api->sessions, 0));
}

static json_t *calls_status(const struct engine *engine) {
        uint64_t bytes;
        unsigned images = images_count(engine->api->images, &bytes);
        return json_pack("{s:i, s:I, s:i, s:i, s:I}", "running", (int)engine->calls, "started_total",
                         (json_int_t)engine->calls_total, "imports", (int)engine->imports, "images", (int)images,
                         "image_bytes", (json_int_t)bytes);
}

json_t *engine_status(const struct engine *engine) {
        const struct pool *pool = &engine->pool;
        int alive = (int)(pool->parked + pool->leased + pool->retiring + engine->calls + engine->imports);
        return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:{s:i, s:i}}", "ready", engine_is_ready(engine), "pool",
                         pool_status(engine), "runs", runs_status(engine), "template", template_status(engine),
                         "sessions", sessions_status(engine), "calls", calls_status(engine),
                         "sandboxes", "alive", alive, "max", (int)engine->sandboxes_max);
}

void engine_update_metrics(struct engine *engine) {
        struct metrics *metrics = engine->api->metrics;
        metrics_set(metrics, METRIC_RUNS_ACTIVE, engine->admission.running);
        metrics_set(metrics, METRIC_QUEUE_LENGTH, engine->admission.waiting);
        metrics_set(metrics, METRIC_POOL_SANDBOXES, engine->pool.parked, "parked");
        metrics_set(metrics, METRIC_POOL_SANDBOXES, engine->pool.creating, "creating");
        metrics_set(metrics, METRIC_SESSIONS, sessions_count(engine->api->sessions));
        metrics_set(metrics, METRIC_SESSIONS_MAX, (double)engine->api->config->max_sessions);
        uint64_t image_bytes;
        metrics_set(metrics, METRIC_IMAGES, images_count(engine->api->images, &image_bytes));
        metrics_set(metrics, METRIC_IMAGE_BYTES, (double)image_bytes);
        metrics_set(metrics, METRIC_POOL_TARGET, engine->pool.settings.target);
        metrics_set(metrics, METRIC_TEMPLATE_GENERATION, (double)engine->template.generation);
        metrics_set(metrics, METRIC_TEMPLATE_SERVING, engine->template.state == SPAWN_TEMPLATE_SERVING);
}
