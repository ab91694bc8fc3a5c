/*
 * Runs one of the host's tools and watches it.
 *
 * Runs in the import's room. The tool is trusted; what it prints repeats names of the image and is not. The watcher is
 * asked every moment whether it may go on: a layer of a thousand zeros may unpack to a disk full of them.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define TOOL_SAID_MAX 4096

struct tool {
        const char *const *arguments; /* the first is the program's name, looked for in PATH */
        /* Called while it runs: 0 to go on; else the tool is killed and the result passed on. May be NULL. */
        int (*watch)(void *data, struct err *e);
        void *data;
};

/*
 * 0 if it ended well; what `watch` returned; or a negative errno if it failed: `said` is then its last words in one
 * line of printable text.
 */
int tool_run(const struct tool *tool, char said[TOOL_SAID_MAX], struct err *e);
