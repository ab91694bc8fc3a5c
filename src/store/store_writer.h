/*
 * The writer: the one thread that changes the database and the contents of files. Private to the store.
 *
 * Runs in the api process. What is asked for while it works is done together, in one transaction with one
 * synchronisation (a group commit); each job stands in a savepoint, so one that fails is undone alone. Callbacks come
 * on the loop's thread after the commit. Between groups it does its chores (store_chores.h).
 */
#pragma once

#include <stddef.h>

#include "store/conversations.h"

struct loop;
struct store;
struct writer;

/* On the writer's thread, in a transaction. What does not return 0 is undone. */
typedef int (*writer_fn)(struct store *store, void *data);

/* Starts the thread, which takes no job before writer_start. */
int writer_new(struct store *store, struct loop *loop, struct writer **ret);
void writer_start(struct writer *writer);
/* Does what is left to do, ends the thread, calls the callbacks that have not come yet. NULL-safe. */
void writer_free(struct writer *writer);

/* Has it done before everything that can wait, and waits for it. Returns what `write` returned, or a negative errno. */
int writer_call(struct store *store, writer_fn write, void *data);

/* Has it done; `weight` are bytes that it will write, roughly. 0, or a negative errno, and then there is no callback.
 */
int writer_submit(struct store *store, writer_fn write, void *data, size_t weight, store_done_fn done, void *done_data);

/* The same, before all that can wait, and in the order of writer_call. */
int writer_submit_first(struct store *store, writer_fn write, void *data, store_done_fn done, void *done_data);

/* Has the noted times of activity written, with the next group or in one of their own. */
void writer_flush(struct writer *writer);

/* Waits until no job and no chore is left. */
void writer_settle(struct writer *writer);
