/*
 * Sandboxes that are made for one run alone: of tool calls, from an agent's image, and of imports, which make such images.
 *
 * Runs in the api process. They are made when it is their run's turn, are never parked, and the pool knows nothing of them.
 * A call counts among the running from the moment at which its sandbox begins to be made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/engine_private.h"
#include "api/metrics.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "sandbox/steps.h"

#define ROOMS_FAILED_MAX 2 /* then the run is given up */

static uint32_t *count_of(struct engine *engine, const struct engine_sandbox *sandbox) {
        return sandbox->is_import ? &engine->imports : &engine->calls;
}

static void forget(struct engine *engine, struct engine_sandbox *sandbox) {
        if (sandbox->admitted)
                admission_release(&engine->admission, clock_now_ns() - sandbox->leased_ns);
        --*count_of(engine, sandbox);
        engine_drop_sandbox(engine, sandbox);
}

void engine_calls_make(struct engine *engine, struct run *run, bool admitted) {
        struct engine_sandbox *sandbox = calloc(1, sizeof(*sandbox));
        if (!sandbox) {
                if (admitted)
                        admission_release(&engine->admission, 0);
                run_refuse(run, RUN_REFUSED_MEMORY);
                return;
        }
        *sandbox = (struct engine_sandbox){
                .run = run,
                .own = true,
                .is_import = run->kind == RUN_IMPORT,
                .admitted = admitted,
                .making = ++engine->next_request,
                .leased_ns = clock_now_ns(),
                .next = engine->sandboxes,
        };
        for (int i = 0; i < SPAWN_READY_FDS; i++)
                sandbox->fds[i] = -1;
        engine->sandboxes = sandbox;
        ++*count_of(engine, sandbox);
        run->making_ns = sandbox->leased_ns;
        if (sandbox->is_import)
                spawn_create(engine->client, sandbox->making, SPAWN_PROFILE_IMPORT);
        else
                spawn_create_call(engine->client, sandbox->making,
                                  run->kind == RUN_DISCOVERY ? SPAWN_PROFILE_DISCOVERY : SPAWN_PROFILE_CALL,
                                  run->setup.request->image);
}

static struct engine_sandbox *find_making(const struct engine *engine, uint64_t request) {
        struct engine_sandbox *sandbox = engine->sandboxes;
        while (sandbox && (!sandbox->own || sandbox->making != request))
                sandbox = sandbox->next;
        return sandbox;
}

bool engine_calls_ready(struct engine *engine, uint64_t request, struct sandbox_id id, const int *fds) {
        struct engine_sandbox *sandbox = find_making(engine, request);
        if (!sandbox)
                return false;
        sandbox->making = 0;
        sandbox->id = id;
        memcpy(sandbox->fds, fds, sizeof(sandbox->fds));
        metrics_add(engine->api->metrics, METRIC_SANDBOXES_CREATED, 1);
        if (!sandbox->is_import)
                engine->calls_total++;
        if (sandbox->run)
                engine_lease(sandbox, sandbox->run);
        else
                spawn_kill(engine->client, id, SPAWN_END_CANCELLED);
        return true;
}

/* The run that is without a sandbox now: once more, or never. */
static void try_again(struct engine *engine, struct run *run, int error) {
        if (error == ENOENT)
                run_refuse(run, RUN_REFUSED_IMAGE);
        else if (++run->rooms_failed >= ROOMS_FAILED_MAX || engine->draining)
                run_refuse(run, RUN_REFUSED_ROOM);
        else if (run->kind == RUN_IMPORT)
                engine_calls_make(engine, run, false);
        else if (admission_return(&engine->admission, &run->ticket, run->setup.request->lane) < 0)
                run_refuse(run, RUN_REFUSED_MEMORY);
}

bool engine_calls_failed(struct engine *engine, uint64_t request, uint32_t step, int error) {
        struct engine_sandbox *sandbox = find_making(engine, request);
        if (!sandbox)
                return false;
        struct run *run = sandbox->run;
        log_warning(sandbox->is_import ? "a sandbox for an import could not be made"
                                       : "a sandbox for a call could not be made",
                    "run", run ? run->id : "", "step", sandbox_step_name(step), "error", strerror(error));
        metrics_add(engine->api->metrics, METRIC_SPAWNER_ERRORS, 1, sandbox_step_name(step));
        forget(engine, sandbox);
        if (run)
                try_again(engine, run, error);
        engine_pump(engine);
        return true;
}

bool engine_calls_exited(struct engine *engine, struct engine_sandbox *sandbox, const struct spawn_exit *end) {
        if (!sandbox->own)
                return false;
        struct run *run = sandbox->run;
        forget(engine, sandbox);
        if (run)
                run_sandbox_gone(run, end);
        engine_tidy_soon(engine);
        return true;
}

void engine_calls_forget(struct engine *engine, const struct run *run) {
        for (struct engine_sandbox *sandbox = engine->sandboxes; sandbox; sandbox = sandbox->next)
                if (sandbox->making && sandbox->own && sandbox->run == run)
                        sandbox->run = NULL;
}

bool engine_knows_images(const struct engine *engine) {
        return engine->told;
}

void engine_image_drop(struct engine *engine, struct sandbox_id image) {
        spawn_image_drop(engine->client, image);
}
