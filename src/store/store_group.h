/*
 * A group of jobs in one transaction. Private to the store; the writer's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/store_writer.h"

struct writer_job {
        struct writer_job *next;
        writer_fn write;
        void *data;
        size_t weight;
        store_done_fn done; /* NULL: somebody waits for `finished` */
        void *done_data;
        int result;
        bool finished;
};

/* Does the jobs, and writes noted times of activity. The results are in the jobs. */
void group_write(struct store *store, struct writer_job *jobs);

/* After the transaction: removes contents that have no row, of those that are in doubt. */
void group_remove_doubtful(struct store *store);
/* In doubt, it has one. */
bool group_has_row(struct store *store, const char *blob_name);
