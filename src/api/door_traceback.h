/*
 * The exception that ended a program, found in what it printed: for protocols that have a place of its own for it.
 *
 * Runs in the api process. Pure. The text came from a sandbox, which can print what it likes; nothing but what is shown
 * to the sandbox's own client follows from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct traceback {
        const char *text;         /* from its first line on */
        const char *name, *value; /* "NAME: VALUE" of its end; the value may have more lines, and may be empty */
        size_t name_length, value_length;
};

/* The last one in what was printed to standard error. All that is found points into `text`. */
bool traceback_find(const char *text, struct traceback *ret);
