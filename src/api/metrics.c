/* Counters, gauges, histograms; see metrics.h. */
#include "api/metrics.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SERIES_MAX 512 /* of one metric; our own tables have far fewer label values */

enum type { COUNTER, GAUGE, HISTOGRAM };
static const char *const type_names[] = {"counter", "gauge", "histogram"};

static const struct description {
        const char *name;
        enum type type;
        const char *help;
        const char *labels[METRIC_LABELS_MAX];
} descriptions[METRICS] = {
        [METRIC_REQUESTS] = {"sandbox_http_requests_total",
                             COUNTER,
                             "Requests that were answered or broken off.",
                             {"route", "method", "status"}},
        [METRIC_REQUESTS_REFUSED] = {"sandbox_http_refused_total",
                                     COUNTER,
                                     "Connections and requests that reached no route.",
                                     {"reason"}},
        [METRIC_REQUEST_SECONDS] = {"sandbox_http_request_seconds",
                                    HISTOGRAM,
                                    "First byte of a request to the end of its reply.",
                                    {NULL}},
        [METRIC_CONNECTIONS] = {"sandbox_http_connections", GAUGE, "Open client connections.", {NULL}},
        [METRIC_BODY_BYTES] = {"sandbox_http_body_bytes", GAUGE, "Memory that holds request bodies.", {NULL}},
        [METRIC_RUNS] = {"sandbox_runs_total", COUNTER, "Snippets that have ended.", {"outcome"}},
        [METRIC_RUNS_ACTIVE] = {"sandbox_runs_active", GAUGE, "Runs that have a sandbox.", {NULL}},
        [METRIC_QUEUE_LENGTH] = {"sandbox_queue_length", GAUGE, "Runs that wait for a sandbox.", {NULL}},
        [METRIC_QUEUE_REFUSED] = {"sandbox_queue_refused_total", COUNTER, "Runs that were turned away.", {"reason"}},
        [METRIC_QUEUE_SECONDS] = {"sandbox_queue_seconds", HISTOGRAM, "Waiting for a sandbox.", {NULL}},
        [METRIC_START_SECONDS] = {"sandbox_start_seconds", HISTOGRAM, "Claim to first instruction.", {NULL}},
        [METRIC_RUN_SECONDS] = {"sandbox_run_seconds", HISTOGRAM, "Claim to the end of the run.", {NULL}},
        [METRIC_CALLS] = {"sandbox_calls_total", COUNTER, "Tool calls that have ended.", {"outcome"}},
        [METRIC_CALL_START_SECONDS] = {"sandbox_call_start_seconds",
                                       HISTOGRAM,
                                       "Turn of a tool call to its first instruction.",
                                       {NULL}},
        [METRIC_CALL_SECONDS] = {"sandbox_call_seconds", HISTOGRAM, "Claim to the end of a tool call.", {NULL}},
        [METRIC_CALL_CONNECTIONS] = {"sandbox_call_connections_total",
                                     COUNTER,
                                     "Connections and lookups of tool calls.",
                                     {"decision"}},
        [METRIC_LIMIT_KILLS] = {"sandbox_limit_kills_total",
                                COUNTER,
                                "Runs and tool calls that a limit has ended.",
                                {"limit"}},
        [METRIC_IDEMPOTENCY] = {"sandbox_idempotency_total",
                                COUNTER,
                                "Requests that were answered by their Idempotency-Key, without a run.",
                                {"result"}},
        [METRIC_IMPORTS] = {"sandbox_imports_total", COUNTER, "Images of agents that were deployed.", {"outcome"}},
        [METRIC_IMAGES] = {"sandbox_images", GAUGE, "Images of agents on the disk.", {NULL}},
        [METRIC_IMAGE_BYTES] = {"sandbox_image_bytes", GAUGE, "What they take there.", {NULL}},
        [METRIC_POOL_SANDBOXES] = {"sandbox_pool_sandboxes", GAUGE, "Sandboxes that serve no run yet.", {"state"}},
        [METRIC_POOL_TARGET] = {"sandbox_pool_target", GAUGE, "Parked sandboxes that are wanted.", {NULL}},
        [METRIC_POOL_CLAIMS] = {"sandbox_pool_claims_total", COUNTER, "Sandboxes that were given to a run.", {"kind"}},
        [METRIC_SANDBOXES_CREATED] = {"sandbox_created_total", COUNTER, "Sandboxes that became ready.", {NULL}},
        [METRIC_SPAWNER_ERRORS] = {"sandbox_spawner_errors_total",
                                   COUNTER,
                                   "Sandboxes that could not be made.",
                                   {"step"}},
        [METRIC_TEMPLATE_GENERATION] = {"sandbox_template_generation", GAUGE, "Number of the template in use.", {NULL}},
        [METRIC_TEMPLATE_SERVING] = {"sandbox_template_serving",
                                     GAUGE,
                                     "1 while the template makes sandboxes.",
                                     {NULL}},
        [METRIC_SESSIONS] = {"sandbox_sessions", GAUGE, "Stateful sessions that live.", {NULL}},
        [METRIC_SESSIONS_MAX] = {"sandbox_sessions_max", GAUGE, "How many may live at a time.", {NULL}},
        [METRIC_INFO] = {"sandbox_info", GAUGE, "Which version runs; always 1.", {"version"}},
        [METRIC_KEPT_BYTES] = {"sandbox_kept_bytes", GAUGE, "Kept code, replies and files of conversations.", {NULL}},
        [METRIC_KEPT_FILES] = {"sandbox_kept_files", GAUGE, "Kept files of conversations.", {NULL}},
        [METRIC_AUDIT_LINES] = {"sandbox_audit_lines_total", COUNTER, "Lines added to the audit log.", {NULL}},
        [METRIC_AUDIT_FAILURES] = {"sandbox_audit_failures_total",
                                   COUNTER,
                                   "Lines that could not be added to the audit log.",
                                   {NULL}},
};

static const double bucket_seconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                        0.5,    1,     2.5,    5,     10,   25,    60,   120};
#define BUCKETS ARRAY_SIZE(bucket_seconds)

struct series {
        char *labels[METRIC_LABELS_MAX]; /* owned */
        double value;
};

struct histogram {
        uint64_t buckets[BUCKETS];
        uint64_t count;
        double sum;
};

struct metrics {
        struct {
                struct series *series;
                size_t count;
                struct histogram histogram;
        } of[METRICS];
};

int metrics_new(struct metrics **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

static size_t label_count(enum metric metric) {
        size_t count = 0;
        while (count < METRIC_LABELS_MAX && descriptions[metric].labels[count])
                count++;
        return count;
}

void metrics_free(struct metrics *metrics) {
        if (!metrics)
                return;
        for (size_t m = 0; m < METRICS; m++) {
                for (size_t i = 0; i < metrics->of[m].count; i++)
                        for (size_t l = 0; l < label_count((enum metric)m); l++)
                                free(metrics->of[m].series[i].labels[l]);
                free(metrics->of[m].series);
        }
        free(metrics);
}

/* ---- series */

static bool same_labels(const struct series *series, const char *const *labels, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (strcmp(series->labels[i], labels[i]) != 0)
                        return false;
        return true;
}

static struct series *add_series(struct metrics *metrics, enum metric metric, const char *const *labels, size_t count) {
        if (metrics->of[metric].count == SERIES_MAX)
                return NULL;
        struct series *all = reallocarray(metrics->of[metric].series, metrics->of[metric].count + 1, sizeof(*all));
        if (!all)
                return NULL;
        metrics->of[metric].series = all;
        struct series *series = &all[metrics->of[metric].count];
        *series = (struct series){.value = 0};
        for (size_t i = 0; i < count; i++)
                if (!(series->labels[i] = strdup(labels[i]))) {
                        while (i--)
                                free(series->labels[i]);
                        return NULL;
                }
        metrics->of[metric].count++;
        return series;
}

static struct series *find_series(struct metrics *metrics, enum metric metric, va_list arguments) {
        const char *labels[METRIC_LABELS_MAX];
        size_t count = label_count(metric);
        for (size_t i = 0; i < count; i++)
                labels[i] = va_arg(arguments, const char *);
        for (size_t i = 0; i < metrics->of[metric].count; i++)
                if (same_labels(&metrics->of[metric].series[i], labels, count))
                        return &metrics->of[metric].series[i];
        return add_series(metrics, metric, labels, count);
}

void metrics_add(struct metrics *metrics, enum metric metric, uint64_t amount, ...) {
        va_list arguments;
        assert(descriptions[metric].type == COUNTER);
        va_start(arguments, amount);
        struct series *series = find_series(metrics, metric, arguments);
        va_end(arguments);
        if (series)
                series->value += (double)amount;
}

void metrics_set(struct metrics *metrics, enum metric metric, double value, ...) {
        va_list arguments;
        assert(descriptions[metric].type == GAUGE);
        va_start(arguments, value);
        struct series *series = find_series(metrics, metric, arguments);
        va_end(arguments);
        if (series)
                series->value = value;
}

void metrics_observe_ns(struct metrics *metrics, enum metric metric, uint64_t nanoseconds) {
        struct histogram *histogram = &metrics->of[metric].histogram;
        double seconds = (double)nanoseconds / 1e9;
        assert(descriptions[metric].type == HISTOGRAM);
        for (size_t i = 0; i < BUCKETS; i++)
                if (seconds <= bucket_seconds[i]) {
                        histogram->buckets[i]++;
                        break;
                }
        histogram->count++;
        histogram->sum += seconds;
}

/* ---- the page */

static void print_series(FILE *out, const struct description *description, const struct series *series, size_t labels) {
        fputs(description->name, out);
        for (size_t i = 0; i < labels; i++)
                fprintf(out, "%s%s=\"%s\"", i ? "," : "{", description->labels[i], series->labels[i]);
        fprintf(out, "%s %.17g\n", labels ? "}" : "", series->value);
}

static void print_histogram(FILE *out, const char *name, const struct histogram *histogram) {
        uint64_t so_far = 0;
        for (size_t i = 0; i < BUCKETS; i++) {
                so_far += histogram->buckets[i];
                fprintf(out, "%s_bucket{le=\"%g\"} %llu\n", name, bucket_seconds[i], (unsigned long long)so_far);
        }
        fprintf(out, "%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)histogram->count);
        fprintf(out, "%s_sum %.9g\n", name, histogram->sum);
        fprintf(out, "%s_count %llu\n", name, (unsigned long long)histogram->count);
}

char *metrics_print(const struct metrics *metrics, size_t *length) {
        char *page = NULL;
        FILE *out = open_memstream(&page, length);
        if (!out)
                return NULL;
        for (size_t m = 0; m < METRICS; m++) {
                const struct description *description = &descriptions[m];
                size_t labels = label_count((enum metric)m);
                static const struct series zero;
                fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", description->name, description->help, description->name,
                        type_names[description->type]);
                if (description->type == HISTOGRAM)
                        print_histogram(out, description->name, &metrics->of[m].histogram);
                else if (metrics->of[m].count == 0 && labels == 0)
                        print_series(out, description, &zero, 0);
                for (size_t i = 0; i < metrics->of[m].count; i++)
                        print_series(out, description, &metrics->of[m].series[i], labels);
        }
        if (fclose(out) != 0) {
                free(page);
                return NULL;
        }
        return page;
}
