/*
 * The tool functions that an agent declares: checked, and made the text that is stored.
 *
 * Runs in the api process. Pure. The list comes from the network.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"

#define AGENT_TOOLS_MAX 128

/*
 * A list of {name, entrypoint, description, parameters}, to its compact JSON text (malloc()ed), with what was left out
 * filled in. 0, -EINVAL with the field named, or -ENOMEM.
 */
int agent_tools_take(json_t *tools, char **ret, struct err *e);
