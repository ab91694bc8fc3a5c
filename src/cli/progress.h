/*
 * How far long work has come: on a terminal one line that is written anew. Elsewhere there is one line for each step of
 * work in several steps, and nothing of a mere transfer.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "cli/cli.h"

struct progress {
        struct cli *cli;
        bool quiet, on_terminal, drawn;
        char step[64]; /* that was told last */
        struct timespec began, drawn_at;
};

/* `quiet`: shows nothing at all, for who wants JSON. */
void progress_init(struct progress *progress, struct cli *cli, bool quiet);
/* `done` and `total` in bytes; 0: not known. The step's name may be somebody else's words. */
void progress_show(struct progress *progress, const char *step, double done, double total);
/* The same for bytes that are sent or fetched: only on a terminal, once that takes long, and gone when all is there. */
void progress_transfer(struct progress *progress, const char *step, double done, double total);
/* Takes the line away, before anything else is said. */
void progress_end(struct progress *progress);
