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

#define AGENT_NAME_LENGTH_MAX 64
#define AGENT_NAME_RULE                                                                                                \
        "1 to 64 characters of A-Z, a-z, 0-9, \".\", \"_\" and \"-\", the first of them a letter or a digit"
#define VARIABLE_LENGTH_MAX 128
#define VARIABLE_RULE "1 to 128 characters of A-Z, a-z, 0-9 and \"_\", the first of them not a digit"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NAME_DIGITS "0123456789"

/* Names of projects: fit for an address, a file name and a log line. */
static inline bool name_is_valid(const char *name) {
        static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
        static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
        size_t length = strspn(name, others);
        return length > 0 && length <= NAME_LENGTH_MAX && !name[length] && strchr(first, name[0]);
}

static inline bool name_is_of(const char *name, const char *first, const char *others, size_t max) {
        size_t length = strspn(name, others);
        return length > 0 && length <= max && !name[length] && strchr(first, name[0]);
}

/* Names of agents: what clients of many kinds call theirs. */
static inline bool name_is_agent(const char *name) {
        return name_is_of(name, NAME_LETTERS NAME_DIGITS, NAME_LETTERS NAME_DIGITS "._-", AGENT_NAME_LENGTH_MAX);
}

/* Names of settings: those of environment variables. */
static inline bool name_is_variable(const char *name) {
        return name_is_of(name, NAME_LETTERS "_", NAME_LETTERS NAME_DIGITS "_", VARIABLE_LENGTH_MAX);
}
