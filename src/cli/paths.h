/*
 * Saves files that came back from a sandbox.
 *
 * The names are the sandbox's own and taken for hostile: nothing is ever written outside the folder that the caller
 * chose, through a symbolic link, or over a file that is there (unless forced). The folder itself is the caller's word
 * and may be reached through links.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Why a name is not fit to be saved under, or NULL if it is. Slashes make folders. */
const char *paths_refuse_name(const char *name, size_t length);

/* Opens the folder and makes it, and those above it, where they are missing. A descriptor or a negative errno. */
int paths_open_folder(const char *path, struct err *e);

/* Writes a file below the folder, whole or not at all. 0 or a negative errno; -EEXIST if it is there and not `force`.
 */
int paths_save(int folder, const char *name, size_t name_length, const void *bytes, size_t length, bool force,
               struct err *e);

/* Writes a file with a name of our own or the caller's choice into the folder, in the same way. */
int paths_write(int folder, const char *base, const void *bytes, size_t length, unsigned mode, bool force,
                struct err *e);
/* The same for a path that the caller has chosen; its folder must be there. */
int paths_write_path(const char *path, const void *bytes, size_t length, bool force, struct err *e);

/* Reads a file of at most `max` bytes; "-" is standard input. 0 or a negative errno. */
int paths_read(const char *path, size_t max, char **ret, size_t *ret_length, struct err *e);
