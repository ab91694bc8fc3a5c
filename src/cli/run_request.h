/*
 * What `platformctl run` was asked to do, and the request that says so.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "cli/options.h"

/* Filled by the options of `run`. */
struct run_options {
        const char *code, *agent, *conversation, *input, *out;
        double timeout_s; /* 0: the service's default */
        struct option_list files;
        bool json, raw, force;
};

/*
 * Reads the code and the input files and composes the body of POST /v1/execute. `source` is the FILE of the command
 * line, "-", or NULL. A new reference, or NULL; `exit_code` then says what kind of mistake it was.
 */
json_t *run_request(const struct run_options *options, const char *source, int *exit_code, struct err *e);
