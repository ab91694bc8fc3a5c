/*
 * Shows what came of a run: results, files, what went wrong; and finds the exit code.
 */
#pragma once

#include <jansson.h>

#include "cli/cli.h"
#include "cli/run_request.h"

/*
 * `reply` is the reply of POST /v1/execute; its output was shown already, `live` if that was while it ran and so in
 * full. Saves files if the options say where. Returns the exit code of the command.
 */
int run_show(struct cli *cli, const struct run_options *options, const json_t *reply, bool live);
