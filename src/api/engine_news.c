/*
 * What the spawner tells the engine: struct spawn_handler of spawn/client.h.
 *
 * Runs in the api process. Each piece of news is noted in the pool and handed to the run that it concerns; what can be
 * done because of it is then done by engine_pump.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/engine_private.h"
#include "api/images.h"
#include "api/manager.h"
#include "api/metrics.h"
#include "api/settings.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "sandbox/steps.h"

static void on_hello(void *data, uint32_t max_sandboxes) {
        struct engine *engine = data;
        engine->sandboxes_max = engine->pool.settings.total_max = max_sandboxes;
        engine_pump(engine);
}

static void on_ready(void *data, uint64_t request, struct sandbox_id id, const int *fds) {
        struct engine *engine = data;
        engine->told = true;
        if (engine_sessions_ready(engine, request, id, fds) || engine_calls_ready(engine, request, id, fds))
                return;
        struct engine_sandbox *sandbox = engine->pool.creating > 0 ? calloc(1, sizeof(*sandbox)) : NULL;
        if (!sandbox) {
                log_error("a sandbox cannot be taken over", "request", log_num((long long)request));
                for (int i = 0; i < SPAWN_READY_FDS; i++)
                        close_fd(&(int){fds[i]});
                spawn_kill(engine->client, id, SPAWN_END_RETIRED);
                if (engine->pool.creating > 0)
                        pool_failed(&engine->pool, clock_now_ns());
                return;
        }
        sandbox->id = id;
        memcpy(sandbox->fds, fds, sizeof(sandbox->fds));
        sandbox->next = engine->sandboxes;
        engine->sandboxes = sandbox;
        engine->ever_ready = true;
        pool_ready(&engine->pool, &sandbox->member, clock_now_ns());
        metrics_add(engine->api->metrics, METRIC_SANDBOXES_CREATED, 1);
        engine_pump(engine);
        manager_look(engine->api->manager);
}

static void on_failed(void *data, uint64_t request, uint32_t number, int error) {
        struct engine *engine = data;
        if (engine_sessions_failed(engine, request) || engine_calls_failed(engine, request, number, error) ||
            engine->pool.creating == 0)
                return;
        log_warning("a sandbox could not be made", "request", log_num((long long)request), "step",
                    sandbox_step_name(number), "error", strerror(error));
        metrics_add(engine->api->metrics, METRIC_SPAWNER_ERRORS, 1, sandbox_step_name(number));
        pool_failed(&engine->pool, clock_now_ns());
        engine_pump(engine);
}

static void on_exited(void *data, const struct spawn_exit *end) {
        struct engine *engine = data;
        struct engine_sandbox *sandbox = engine_find_sandbox(engine, end->sandbox);
        if (!sandbox)
                return; /* one that could not be taken over */
        if (engine_sessions_exited(engine, sandbox, end) || engine_calls_exited(engine, sandbox, end))
                return;
        uint64_t now_ns = clock_now_ns();
        struct run *run = sandbox->run;
        if (sandbox->admitted)
                admission_release(&engine->admission, now_ns - sandbox->leased_ns);
        else if (sandbox->member.state == POOL_PARKED)
                log_warning("a sandbox died while it was waiting", "reason", log_num(end->reason));
        pool_gone(&engine->pool, &sandbox->member, now_ns);
        engine_drop_sandbox(engine, sandbox);
        if (run)
                run_sandbox_gone(run, end);
        engine_tidy_soon(engine); /* after the reply is on its way */
}

static void on_template(void *data, const struct spawn_template_news *news) {
        struct engine *engine = data;
        static const char *const names[] = {
                [SPAWN_TEMPLATE_STARTING] = "starting",
                [SPAWN_TEMPLATE_SERVING] = "serving",
                [SPAWN_TEMPLATE_FAILED] = "failed",
        };
        if (news->state != engine->template.state || news->generation != engine->template.generation)
                log_info("news of the template", "state", names[news->state], "generation",
                         log_num((long long)news->generation));
        /* A new template deserves a new attempt at once, whatever failed with the old one. */
        if (news->state == SPAWN_TEMPLATE_SERVING && news->generation != engine->template.generation)
                pool_encourage(&engine->pool);
        engine->told = true;
        engine->template = *news;
        pool_set_open(&engine->pool, news->state == SPAWN_TEMPLATE_SERVING);
        engine_pump(engine);
        manager_look(engine->api->manager);
}

static void on_image(void *data, struct sandbox_id image, uint64_t bytes) {
        struct engine *engine = data;
        images_on_disk(engine->api->images, image, bytes);
}

static void on_settings(void *data, uint32_t max_sandboxes, int fd) {
        struct engine *engine = data;
        engine->sandboxes_max = max_sandboxes;
        settings_take(engine->api, fd);
        manager_look(engine->api->manager); /* a pool of 0 needs no proof */
}

static void on_lost(void *data, const char *why) {
        struct engine *engine = data;
        api_quit(engine->api, EXIT_FAILURE, why);
}

const struct spawn_handler engine_spawn_handler = {
        .on_hello = on_hello,
        .on_ready = on_ready,
        .on_failed = on_failed,
        .on_exited = on_exited,
        .on_template = on_template,
        .on_rested = engine_sessions_rested,
        .on_settings = on_settings,
        .on_image = on_image,
        .on_lost = on_lost,
};
