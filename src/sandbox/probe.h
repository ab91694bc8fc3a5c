/*
 * What this host offers: a table of checks, each in words that a person can act on.
 *
 * `sandboxd` runs them before anything else and does not start if a required one fails; `platformctl doctor` prints
 * them all. Each check tries the real thing in a child process (a clone, a mount, a filter) rather than reading version
 * numbers. Leaves nothing behind. As root; trusts the host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum probe_state {
        PROBE_OK,
        PROBE_WARN, /* works, but something could be better or is unknown */
        PROBE_FAIL,
};

struct probe_result {
        const char *name; /* "user namespaces" */
        bool required;    /* a promise rests on it */
        enum probe_state state;
        char message[320]; /* what was found */
        char advice[320];  /* what to do; empty if nothing */
};

struct probe_context {
        const char *image;  /* folder, .erofs or .squashfs; NULL: do not look */
        const char *user;   /* name of the api process's user; NULL or empty: a number from the range */
        uint64_t uid_base;  /* first host UID of the range */
        uint64_t uid_count; /* how many: 65538 */
};

typedef void (*probe_fn)(const struct probe_result *result, void *data);

/* Runs every check, in order, and calls for each. Returns how many required ones failed: 0 is fit to serve. */
int probe_run(const struct probe_context *context, probe_fn call, void *data);
