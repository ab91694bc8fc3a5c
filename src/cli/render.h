/*
 * Shows an answer of the service to people: numbers and words as a table, lists of things as tables with headings.
 *
 * It follows the shape of the answer, so that a field which a newer service adds is shown without a new platformctl.
 */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

void render_object(struct cli *cli, const json_t *object);
