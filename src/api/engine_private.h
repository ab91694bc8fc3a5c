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
        struct loop_source *preparing;
        struct loop_source *alarm;
        uint64_t alarm_ns; /* when it rings */
        bool ever_ready;
        bool draining;
        void (*drained)(void *data);
        void *drained_data;
        struct spawn_template_news template;
        uint32_t sandboxes_max;
        uint64_t cold_claims, warm_claims;
        uint32_t calls, imports;  /* sandboxes of these two kinds, also those being made */
        uint64_t calls_total;     /* that became ready */
        bool told;                /* the spawner has said more than its greeting, and so named all images */
        char libraries[LIBRARIES_BYTES]; /* "numpy, pandas, …" */
};

extern const struct spawn_handler engine_spawn_handler; /* engine_news.c; its data is the engine */

/* Does whatever can be done now: hands sandboxes out, refuses, makes and retires. Called after every piece of news. */
void engine_pump(struct engine *engine);

struct engine_sandbox *engine_find_sandbox(const struct engine *engine, struct sandbox_id id);
/* Takes it off the list, closes and frees it. */
void engine_drop_sandbox(struct engine *engine, struct engine_sandbox *sandbox);
/* Its descriptors go over to the run, which begins. */
void engine_lease(struct engine_sandbox *sandbox, struct run *run);

/*
 * engine_calls.c: sandboxes for one run alone. True: the news concerned one of them. The first two may be for none that
 * is wanted any more.
 */
bool engine_calls_ready(struct engine *engine, uint64_t request, struct sandbox_id id, const int *fds);
bool engine_calls_failed(struct engine *engine, uint64_t request, uint32_t step, int error);
bool engine_calls_exited(struct engine *engine, struct engine_sandbox *sandbox, const struct spawn_exit *end);
/* Begins to make one; admission has let the run through, or it needs none. */
void engine_calls_make(struct engine *engine, struct run *run, bool admitted);
/* The run is over or cancelled: whatever is being made for it is not wanted. */
void engine_calls_forget(struct engine *engine, const struct run *run);

/* engine_sessions.c: true if the news concerned a sandbox of a session. */
bool engine_sessions_exited(struct engine *engine, struct engine_sandbox *sandbox, const struct spawn_exit *end);
bool engine_sessions_ready(struct engine *engine, uint64_t request, struct sandbox_id id, const int *fds);
bool engine_sessions_failed(struct engine *engine, uint64_t request);
void engine_sessions_rested(void *data, struct sandbox_id id, uint64_t cpu_us, uint64_t memory_peak);
void engine_sessions_call_finished(struct engine *engine, struct run *run);
