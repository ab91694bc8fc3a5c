/*
 * How a run ended, in the words of the reply.
 *
 * Runs in the api process. Pure.
 */
#pragma once

#include <stdbool.h>

#include "spawn/proto.h"

enum outcome {
        OUTCOME_OK,
        OUTCOME_ERROR, /* non-zero exit, or died by a signal of its own */
        OUTCOME_TIMEOUT,
        OUTCOME_OUT_OF_MEMORY,
        OUTCOME_OUTPUT_LIMIT,
        OUTCOME_KILLED,   /* the sandbox was lost while the snippet ran */
        OUTCOME_INTERNAL, /* the snippet never ran */
        OUTCOMES
};

struct outcome_of_run {
        enum outcome outcome;
        int exit_code; /* its own; 128 + signal; -1 on a time-out; 137 when the platform killed it for another limit */
};

struct outcome_of_run outcome_from(enum spawn_end reason, int wait_status, bool started);
const char *outcome_name(enum outcome outcome);
/* The limit that ended it: "time", "memory" or "output"; NULL if none did. */
const char *outcome_limit(enum outcome outcome);
