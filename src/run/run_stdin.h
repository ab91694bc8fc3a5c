/*
 * Standard input of a snippet: a memory file that nobody can change.
 *
 * Runs in the api process. Each run gets one of its own, also when it is empty: a descriptor that several sandboxes
 * shared would let them talk to each other by its file offset.
 */
#pragma once

#include <stddef.h>

/* A sealed memfd at offset 0, close-on-exec, or a negative errno. */
int run_stdin_new(const char *bytes, size_t length);

/* Makes the next empty one, which most are, while nobody waits for it. */
void run_stdin_prepare(void);
