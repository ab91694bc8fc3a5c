/*
 * What the runs of the last hour were like: how many in each minute, how they ended, how long they took.
 *
 * Runs in the api process, and only in its memory. Pure: the clock is an argument. Times are counted in classes, each a
 * fifth wider than the one before, so percentiles are right to a tenth.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "run/outcome.h"

#define ACTIVITY_MINUTES 60

struct activity;

/* Of one run, in milliseconds; negative: it did not come that far. */
struct activity_times {
        double queue_ms, start_ms, wall_ms; /* as in the `usage` of its reply */
};

/* 0 or a negative errno. */
int activity_new(struct activity **ret);
void activity_free(struct activity *activity);

/* A run has ended. `now_ms` since 1970; where it goes back, the run counts for the latest minute. */
void activity_record(struct activity *activity, int64_t now_ms, enum outcome outcome,
                     const struct activity_times *times);

/*
 * {"minutes": [{"at", "runs", "outcomes", "start_ms", "wall_ms"}, ...], "outcomes": {...}, "latency": {...}}: minutes
 * from the oldest to the one that runs; outcomes of all runs since the start; percentiles of the whole hour. A new
 * reference, or NULL.
 */
json_t *activity_json(const struct activity *activity, int64_t now_ms);
