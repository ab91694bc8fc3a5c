/*
 * Counters, gauges and histograms, and their page in Prometheus' text format.
 *
 * Runs in the api process, which is the only writer. Everything is in one table (metrics.c); label values come from our
 * own tables (routes, outcomes), never from a client, so that the page stays small.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct metrics;

enum metric {
        METRIC_REQUESTS,            /* counter: route, method, status */
        METRIC_REQUESTS_REFUSED,    /* counter: reason; connections and requests that reached no route */
        METRIC_REQUEST_SECONDS,     /* histogram: first byte to end of the reply */
        METRIC_CONNECTIONS,         /* gauge */
        METRIC_BODY_BYTES,          /* gauge: request bodies in memory */
        METRIC_RUNS,                /* counter: outcome */
        METRIC_RUNS_ACTIVE,         /* gauge */
        METRIC_QUEUE_LENGTH,        /* gauge */
        METRIC_QUEUE_REFUSED,       /* counter: reason */
        METRIC_QUEUE_SECONDS,       /* histogram: waiting for a sandbox */
        METRIC_START_SECONDS,       /* histogram: claim to first instruction */
        METRIC_RUN_SECONDS,         /* histogram: claim to end */
        METRIC_CALLS,               /* counter: outcome */
        METRIC_CALL_START_SECONDS,  /* histogram: turn to first instruction, the sandbox's making included */
        METRIC_CALL_SECONDS,        /* histogram: claim to end */
        METRIC_CALL_CONNECTIONS,    /* counter: decision */
        METRIC_LIMIT_KILLS,         /* counter: limit = time, memory, output; of runs and calls */
        METRIC_IDEMPOTENCY,         /* counter: result = repeated, conflict, unknown, not_kept, full */
        METRIC_IMPORTS,             /* counter: outcome = ok, error */
        METRIC_IMAGES,              /* gauge */
        METRIC_IMAGE_BYTES,         /* gauge */
        METRIC_POOL_SANDBOXES,      /* gauge: state = parked, creating */
        METRIC_POOL_TARGET,         /* gauge */
        METRIC_POOL_CLAIMS,         /* counter: kind = warm, cold */
        METRIC_SANDBOXES_CREATED,   /* counter */
        METRIC_SPAWNER_ERRORS,      /* counter: step */
        METRIC_TEMPLATE_GENERATION, /* gauge */
        METRIC_TEMPLATE_SERVING,    /* gauge: 1 or 0 */
        METRIC_SESSIONS,            /* gauge */
        METRIC_SESSIONS_MAX,        /* gauge */
        METRIC_INFO,                /* gauge: version; always 1 */
        METRIC_KEPT_BYTES,          /* gauge */
        METRIC_KEPT_FILES,          /* gauge */
        METRIC_AUDIT_LINES,         /* counter */
        METRIC_AUDIT_FAILURES,      /* counter */
        METRICS
};

#define METRIC_LABELS_MAX 3

int metrics_new(struct metrics **ret);
void metrics_free(struct metrics *metrics);

/* Adds to a counter. `labels` has one value for each label in the table's order, in this call's trailing arguments. */
void metrics_add(struct metrics *metrics, enum metric metric, uint64_t amount, ...);
/* Sets a gauge; labels as above. */
void metrics_set(struct metrics *metrics, enum metric metric, double value, ...);
/* Adds one observation to a histogram (no labels). */
void metrics_observe_ns(struct metrics *metrics, enum metric metric, uint64_t nanoseconds);

/* The page. Returned as a malloc()ed string of *length bytes, or NULL. */
char *metrics_print(const struct metrics *metrics, size_t *length);
