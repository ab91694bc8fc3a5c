/*
 * The run engine as the rest of the api process sees it: pool, queue, running sandboxes, the talk with the spawner.
 *
 * Runs in the api process. `spawner_fd` is the socket pair of spawn/proto.h.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"

struct api;
struct engine;

/*
 * Takes over `spawner_fd` and starts to fill the pool. When the spawner is gone or breaks the protocol, the engine
 * calls api_quit. 0 or a negative errno. Called after the process has jailed itself.
 */
int engine_new(struct api *api, int spawner_fd, struct engine **ret);
void engine_free(struct engine *engine);

/* True from the first sandbox that was ready, as long as the template serves or a sandbox is parked: /readyz. */
bool engine_is_ready(const struct engine *engine);

/* Pool, queue, running sandboxes, template: the body of GET /v1/status. A new reference, or NULL. */
json_t *engine_status(const struct engine *engine);

/* Sets the gauges of metrics.h to what is true now; called before /metrics is written. */
void engine_update_metrics(struct engine *engine);

/* Counts by the settings as they are now: pool, places, queue. */
void engine_set_limits(struct engine *engine);

/* No new runs from now on (they get 503); retires what is parked; calls `done` once when no run is left. */
void engine_drain(struct engine *engine, void (*done)(void *data), void *data);

/* Runs. */

/* A run that is not yet queued. Request, handler and data as in run/run.h. NULL without memory. */
struct run *engine_run_new(struct engine *engine, const struct run_request *request, const struct run_handler *handler,
                           void *data);
/* Queues it; it may start or be refused within this call. The engine frees it once it is answered or cancelled. */
void engine_run_submit(struct engine *engine, struct run *run);

/* The spawner has named all images of agents that are on the disk. */
bool engine_knows_images(const struct engine *engine);
/* Nobody needs this one any more. */
void engine_image_drop(struct engine *engine, struct sandbox_id image);

/* Called in on_done: the run stays as it is, to be read, until it is released, when its caller has the answer. */
void engine_run_hold(struct engine *engine, struct run *run);
void engine_run_release(struct engine *engine, struct run *run);

/* Seconds after which one that was refused may try again. */
uint32_t engine_retry_after_s(const struct engine *engine);
/* What the image has installed, for messages: "numpy, pandas". */
const char *engine_libraries(const struct engine *engine);
