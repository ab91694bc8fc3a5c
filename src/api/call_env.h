/*
 * The environment of a tool call: the image's own variables, without those that could be somebody's secret.
 *
 * Runs in the api process. Pure. An image is the agent author's, and what was put into it while it was built is often more
 * than the author knows. So variables whose names look like credentials are left out, and all that could be the
 * platform's. The settings of an agent (agents env) are for the platform and never get in at all.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define CALL_ENV_COUNT_MAX 1000
#define CALL_ENV_BYTES_MAX (128 << 10) /* of all of them together */

/* `extra`: SANDBOX_ENV_STRIP. */
bool call_env_is_left_out(const char *name, const char *value, const char *extra);

/*
 * `list`: of "NAME=value", as an image has it. Entries that are none, and those that are left out, are passed over; of two
 * of one name the last counts. A new object, or NULL without memory.
 */
json_t *call_env_of(const json_t *list, const char *extra);
