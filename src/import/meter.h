/*
 * How much lies below a folder.
 *
 * Runs in the import's room, also while a tool is still writing there: what vanishes between two looks is passed over.
 * No link is followed.
 */
#pragma once

#include <stdint.h>

struct meter {
        uint64_t bytes; /* of files, as long as they claim to be (holes count), and of folders */
        uint64_t files; /* everything that has a name */
};

/* Stops counting above `max_files`. 0 or negative errno; a folder that is not there holds nothing. */
int meter_tree(const char *folder, uint64_t max_files, struct meter *ret);
