/*
 * Files and figures that came back from a run: saved, or listed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/run_request.h"

/* Saves (--out) or lists what came back, and names what did not. 0, or EX_CANTCREAT if something could not be saved. */
int run_files_handle(struct cli *cli, const struct run_options *options, const json_t *reply);

/* Whether a result is shown as a picture rather than as text. */
bool run_files_is_figure(const json_t *result);
