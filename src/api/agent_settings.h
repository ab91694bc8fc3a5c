/*
 * What an agent's settings mean for its runs.
 *
 * Runs in the api process. The settings are the agent's environment variables (store/agents.h), which project keys
 * write; those that are known here were checked when they were written, and are read with a default if they are not
 * what they should be. None of them ever reaches a sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct config;
struct store;

/* The names that mean something to the service. */
#define AGENT_SETTING_SESSION "CODE_INTERPRETER_SESSION"
#define AGENT_SETTING_TIMEOUT "CODE_INTERPRETER_TIMEOUT_S"
#define AGENT_TIMEOUT_MIN_S 1
#define AGENT_TIMEOUT_MAX_S 120

struct agent_settings {
        bool stateful;              /* all runs of one conversation share an interpreter */
        uint32_t timeout_ms;        /* of a run that asks for no time limit */
        uint32_t timeout_max_ms;    /* the most that a run may ask for; with an agent it is the same number */
        uint32_t timeout_wanted_ms; /* the agent's own limit, which the platform's may cut */
};

/* The settings of a run without an agent: fresh each time, the platform's default and bound. */
void agent_settings_init(const struct config *config, struct agent_settings *ret);

/* 0, STORE_E_NOT_FOUND for an agent that there is not, or a negative errno after it was logged. */
int agent_settings_load(struct store *store, const struct config *config, int64_t project_id, const char *agent,
                        struct agent_settings *ret);

/* Whether a setting may have this value: 0, or -EINVAL with the reason. Unknown names may have any. */
int agent_setting_check(const char *name, const char *value, struct err *e);

/* What a value that was accepted does not do, although it says so: true with the sentence in `warning`. */
#define AGENT_WARNING_BYTES 256
bool agent_setting_warning(const struct config *config, const char *name, const char *value,
                           char warning[AGENT_WARNING_BYTES]);
