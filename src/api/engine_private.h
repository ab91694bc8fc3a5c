/*
 * The engine's own state, shared by engine*.c only.
 *
 * Runs in the api process.
 */
#pragma once

#include "api/engine.h"
#include "api/engine_sandbox.h"
#include "base/loop.h"
#include "run/run.h"
#include "sched/admission.h"
#include "sched/pool.h"
#include "spawn/client.h"

#define LIBRARIES_BYTES 256

struct engine {
        struct api *api;
        struct spawn_client *client;
        struct pool pool;
        struct admission admission;
        struct engine_sandbox *sandboxes;
        struct run *finished; /* to be freed */
        uint32_t runs;        /* that are not finished */
        uint64_t next_request;
        struct loop_source *tidy; /* what may not be done within a callback, done right after it */
        struct loop_source *alarm;
        uint64_t alarm_ns; /* when it rings */
        bool ever_ready;
        bool draining;
        void (*drained)(void *data);
        void *drained_data;
        struct spawn_template_news template;
        uint32_t sandboxes_max;
        uint64_t cold_claims, warm_claims;
        char libraries[LIBRARIES_BYTES]; /* "numpy, pandas, …" */
};

extern const struct spawn_handler engine_spawn_handler; /* engine_news.c; its data is the engine */

/* Does whatever can be done now: hands sandboxes out, refuses, makes and retires. Called after every piece of news. */
void engine_pump(struct engine *engine);

struct engine_sandbox *engine_find_sandbox(const struct engine *engine, struct sandbox_id id);
/* Takes it off the list, closes and frees it. */
void engine_drop_sandbox(struct engine *engine, struct engine_sandbox *sandbox);

/* engine_sessions.c: true if the news concerned a sandbox of a session. */
bool engine_sessions_exited(struct engine *engine, struct engine_sandbox *sandbox, const struct spawn_exit *end);
bool engine_sessions_ready(struct engine *engine, uint64_t request, struct sandbox_id id, const int *fds);
bool engine_sessions_failed(struct engine *engine, uint64_t request);
void engine_sessions_rested(void *data, struct sandbox_id id, uint64_t cpu_us, uint64_t memory_peak);
void engine_sessions_call_finished(struct engine *engine, struct run *run);
