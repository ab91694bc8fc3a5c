/*
 * Calls that no sandbox may make, each so chosen that the kernel would answer otherwise than the filter: with success,
 * or with another error. Running the table without a filter shows that, call by call: the positive control.
 */
#pragma once

#include <stddef.h>

struct refused {
        const char *name;
        long (*call)(const void *data); /* 0 or more, or -errno */
        const void *data;
        int error; /* what the filter answers */
};

extern const struct refused refused_calls[];
extern const size_t refused_count;
