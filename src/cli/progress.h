/*
 * How far long work has come: on a terminal one line that is written anew, elsewhere one line for each step.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "cli/cli.h"

struct progress {
        struct cli *cli;
        bool on_terminal, drawn;
        char step[64]; /* that was told last */
        struct timespec drawn_at;
};

void progress_init(struct progress *progress, struct cli *cli);
/* `done` and `total` in bytes; 0: not known. The step's name may be somebody else's words. */
void progress_show(struct progress *progress, const char *step, double done, double total);
/* Takes the line away, before anything else is said. */
void progress_end(struct progress *progress);
