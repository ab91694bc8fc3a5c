/*
 * The files of a conversation on their way back into a working directory that is new.
 *
 * Runs in the api process. What comes back are the newest versions of the files that the store has kept, as far as they
 * fit; the contents are mapped, not read, as they may be large.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "run/work_channel.h"
#include "spawn/proto.h"

struct store;

struct restore {
        struct work_batch batch;
        struct work_input *inputs;
        char **names;
        size_t count;
        size_t left_out; /* kept files that do not fit together */
};

/* NULL in *ret: there is nothing to restore. 0 or a negative errno. */
int restore_new(struct store *store, int64_t project_id, const char *conversation, struct restore **ret);
void restore_free(struct restore *restore);
