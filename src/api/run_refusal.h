/*
 * What a client is told whose run was never started.
 *
 * Runs in the api process.
 */
#pragma once

#include "run/run.h"

struct api;
struct http_request;

/* TERMINAL. */
void answer_refused_run(const struct api *api, struct http_request *request, const struct run *run,
                        enum run_refusal why);
