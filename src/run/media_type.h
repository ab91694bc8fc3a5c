/*
 * Media types by the ending of a file's name, from a small table; never from its content, which is hostile.
 *
 * Runs in the api process. Pure.
 */
#pragma once

#include <stddef.h>

/* A literal; "application/octet-stream" for what is not in the table. */
const char *media_type_of(const char *name, size_t length);
