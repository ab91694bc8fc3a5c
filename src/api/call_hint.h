/*
 * Hints for tool calls: for a failure that is known, one sentence that says what to do about it.
 *
 * Runs in the api process. Pure. Error and output are the agent's own words: the worst that a forged one brings is a
 * sentence from our own table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/call_end.h"

#define CALL_HINT_BYTES 900

struct call_hint_facts {
        enum outcome outcome;
        const struct call_error *error; /* NULL: there is a result */
        const char *agent;
        const char *reference; /* what its image was deployed from; NULL: an archive */
        const char *digest;    /* of the image */
        uint32_t timeout_ms, timeout_max_ms;
        const char *env_strip; /* SANDBOX_ENV_STRIP */
        unsigned refused;      /* connections and lookups */
        bool started;          /* the agent's code ran */
};

/* Writes the sentence and returns true, or returns false if there is nothing to say. */
bool call_hint_choose(const struct call_hint_facts *facts, char hint[CALL_HINT_BYTES]);
