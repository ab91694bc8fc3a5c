/*
 * The body of POST /v1/execute, decoded and checked.
 *
 * Runs in the api process. The body is hostile; see json.h for what has been checked before. Every refusal names the
 * field, the limit and what to do.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "run/run.h"

struct config;
struct http_request;

struct execute_request {
        json_t *body; /* owns most of what is borrowed below */
        struct run_request run;
        const char *agent, *conversation_id; /* NULL: not given */
        bool stream;
        struct work_input *inputs;
        unsigned char **decoded; /* contents that were sent as base64, one for each input; NULL where not */
        const char **file_ids;   /* earlier files, whose contents are still to be found; NULL where not */
        void **mapped;           /* their contents; NULL where not */
        bool inline_given;       /* the client has said what it wants */
        uint32_t timeout_max_ms; /* the most that the run might have asked for */
};

/*
 * Fills `execute` from the body of a request; a time limit of 0 was not given. False: the request was refused and has been answered. In both cases call
 * execute_request_deinit, not before the run has been answered.
 */
bool execute_request_take(struct execute_request *execute, const struct config *config, struct http_request *request);
void execute_request_deinit(struct execute_request *execute);

/* The same from an object that is there already. 0, -EINVAL or -ENOMEM. Borrows `body`. */
int execute_request_decode(struct execute_request *execute, const struct config *config, json_t *body, struct err *e);

/* Whether all inputs fit, once the contents of earlier files are there too. 0 or -EINVAL. */
int execute_request_check_inputs(const struct execute_request *execute, struct err *e);

/* The greatest time limit, in milliseconds. */
uint32_t execute_max_timeout_ms(const struct config *config);
