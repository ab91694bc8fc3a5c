/*
 * Hints: for a failure that is known, one sentence that tells the model what to do about it.
 *
 * Runs in the api process. Pure. A hint is chosen by how the run ended and by the end of its standard error, which the
 * snippet may have forged: the worst that this brings is a sentence from our own table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/outcome.h"

struct work_input;

#define HINT_BYTES 800
/* So much of the end of standard error is looked at. */
#define HINT_STDERR_BYTES 4096

struct hint_facts {
        enum outcome outcome;
        int exit_code;
        const char *stderr_end; /* need not be NUL-terminated */
        size_t stderr_length;
        uint32_t timeout_ms, max_timeout_ms;
        uint64_t output_max_bytes;
        const char *libraries; /* "numpy, pandas, …": what is installed */
        const struct work_input *inputs; /* that lay in the working directory at the start */
        size_t input_count;
        bool stateful; /* a call of a session: there were others before it */
        bool skipped_for_size; /* a file was too large to be handed over */
        bool on_request;       /* somebody has ended it, and the reply says so elsewhere */
};

/* Writes the sentence and returns true, or returns false if there is nothing to say. */
bool hint_choose(const struct hint_facts *facts, char hint[HINT_BYTES]);
