/*
 * Names that clients choose: what they may look like.
 *
 * Runs in the api process. Pure.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#define NAME_LENGTH_MAX 63
#define NAME_RULE "1 to 63 characters of a-z, 0-9, \"-\" and \"_\", the first of them a letter or a digit"

/* Names of projects: fit for an address, a file name and a log line. */
static inline bool name_is_valid(const char *name) {
        static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
        static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
        size_t length = strspn(name, others);
        return length > 0 && length <= NAME_LENGTH_MAX && !name[length] && strchr(first, name[0]);
}
