/*
 * The reply of POST /v1/execute, composed from a run that has ended.
 *
 * Runs in the api process.
 */
#pragma once

#include "run/json_out.h"

struct config;
struct execute_request;
struct run;

/* Writes the whole reply as one JSON object. Look at out->failed. `libraries`: what is installed, for hints. */
void execute_reply_write(struct json_out *out, const struct run *run, const struct execute_request *execute,
                         const struct config *config, const char *libraries);
