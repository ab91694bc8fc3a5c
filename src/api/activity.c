/* What the runs of the last hour were like; see activity.h. */
#include "api/activity.h"

#include <errno.h>
#include <stdlib.h>

#include "api/paging.h"
#include "base/cleanup.h"

#define MINUTE_MS 60000
#define CLASSES 84 /* the last one begins at 300 s, over any time limit */
#define CLASS_FIRST_MS 0.1
#define CLASS_GROWTH 1.2

struct histogram {
        uint32_t classes[CLASSES];
        uint32_t count;
};

enum span { SPAN_QUEUE, SPAN_START, SPAN_WALL, SPANS };
static const char *const span_names[SPANS] = {"queue_ms", "start_ms", "wall_ms"};

struct minute {
        int64_t number; /* since 1970 */
        uint32_t outcomes[OUTCOMES];
        struct histogram spans[SPANS];
};

struct activity {
        int64_t latest; /* number of the minute that was recorded last */
        uint64_t outcomes[OUTCOMES];
        struct minute minutes[ACTIVITY_MINUTES]; /* number modulo ACTIVITY_MINUTES */
};

int activity_new(struct activity **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

void activity_free(struct activity *activity) {
        free(activity);
}

/* ---- classes of times */

static void count_time(struct histogram *histogram, double milliseconds) {
        size_t class = 0;
        if (milliseconds < 0)
                return;
        for (double end = CLASS_FIRST_MS; milliseconds > end && class < CLASSES - 1; end *= CLASS_GROWTH)
                class ++;
        histogram->classes[class]++;
        histogram->count++;
}

static void add_up(struct histogram *to, const struct histogram *from) {
        for (size_t i = 0; i < CLASSES; i++)
                to->classes[i] += from->classes[i];
        to->count += from->count;
}

/* The time that so many hundredths of the runs did not exceed; within its class by proportion. */
static double percentile(const struct histogram *histogram, unsigned hundredths) {
        double wanted = (double)histogram->count * hundredths / 100, before = 0;
        double start = 0, end = CLASS_FIRST_MS;
        for (size_t i = 0; i < CLASSES; i++) {
                double here = histogram->classes[i];
                if (here > 0 && before + here >= wanted)
                        return start + (end - start) * (wanted - before) / here;
                before += here;
                start = end;
                end *= CLASS_GROWTH;
        }
        return start;
}

/* Microseconds are more than the classes know. */
static double rounded(double milliseconds) {
        return (double)(int64_t)(milliseconds * 1000 + 0.5) / 1000;
}

static json_t *histogram_json(const struct histogram *histogram) {
        if (histogram->count == 0)
                return json_null();
        return json_pack("{s:f, s:f, s:f}", "p50", rounded(percentile(histogram, 50)), "p95",
                         rounded(percentile(histogram, 95)), "p99", rounded(percentile(histogram, 99)));
}

/* ---- minutes */

void activity_record(struct activity *activity, int64_t now_ms, enum outcome outcome,
                     const struct activity_times *times) {
        int64_t number = now_ms / MINUTE_MS;
        if (number < activity->latest)
                number = activity->latest;
        activity->latest = number;
        struct minute *minute = &activity->minutes[number % ACTIVITY_MINUTES];
        if (minute->number != number)
                *minute = (struct minute){.number = number};
        minute->outcomes[outcome]++;
        activity->outcomes[outcome]++;
        count_time(&minute->spans[SPAN_QUEUE], times->queue_ms);
        count_time(&minute->spans[SPAN_START], times->start_ms);
        count_time(&minute->spans[SPAN_WALL], times->wall_ms);
}

static json_t *minute_json(const struct minute *minute, int64_t number) {
        json_t *outcomes = json_object();
        uint64_t runs = 0;
        for (size_t i = 0; i < OUTCOMES; i++) {
                runs += minute->outcomes[i];
                if (minute->outcomes[i])
                        json_object_set_new(outcomes, outcome_name((enum outcome)i), json_integer(minute->outcomes[i]));
        }
        return json_pack("{s:o, s:I, s:o, s:o, s:o}", "at", time_json(number * MINUTE_MS), "runs", (json_int_t)runs,
                         "outcomes", outcomes, "start_ms", histogram_json(&minute->spans[SPAN_START]), "wall_ms",
                         histogram_json(&minute->spans[SPAN_WALL]));
}

static json_t *outcomes_json(const struct activity *activity) {
        json_t *outcomes = json_object();
        for (size_t i = 0; i < OUTCOMES; i++)
                json_object_set_new(outcomes, outcome_name((enum outcome)i),
                                    json_integer((json_int_t)activity->outcomes[i]));
        return outcomes;
}

json_t *activity_json(const struct activity *activity, int64_t now_ms) {
        static const struct minute nothing;
        int64_t last = now_ms / MINUTE_MS > activity->latest ? now_ms / MINUTE_MS : activity->latest;
        CLEANUP_FREE struct histogram *hour = calloc(SPANS, sizeof(*hour));
        json_t *minutes = json_array(), *latency = json_object();
        for (int64_t number = last - ACTIVITY_MINUTES + 1; hour && number <= last; number++) {
                const struct minute *minute = &activity->minutes[number % ACTIVITY_MINUTES];
                if (minute->number != number)
                        minute = &nothing;
                json_array_append_new(minutes, minute_json(minute, number));
                for (size_t i = 0; i < SPANS; i++)
                        add_up(&hour[i], &minute->spans[i]);
        }
        for (size_t i = 0; hour && i < SPANS; i++)
                json_object_set_new(latency, span_names[i], histogram_json(&hour[i]));
        return json_pack("{s:o, s:o, s:o}", "minutes", minutes, "outcomes", outcomes_json(activity), "latency",
                         latency);
}
