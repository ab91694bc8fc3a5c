/* A store in a folder of its own, for tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/conversations.h"

struct loop;

struct store_fixture {
        char folder[64];
        char path[96]; /* of the database */
        struct loop *loop;
        struct store *store;
};

/* Fixtures of cmocka: *state is a struct store_fixture. */
int store_set_up(void **state);
int store_tear_down(void **state);

void store_fixture_close(struct store_fixture *f);
void store_fixture_open(struct store_fixture *f);
void store_fixture_reopen(struct store_fixture *f);

/* Executes SQL in the database, which may be open. */
void store_fixture_sql(const struct store_fixture *f, const char *sql);
/* The one number that a query gives. */
long long store_fixture_number(const struct store_fixture *f, const char *sql);
/* Files below blobs/; those of blobs/tmp are counted apart. */
size_t store_fixture_blobs(const struct store_fixture *f, size_t *ret_temporary);

/* The number of the project "default". */
int64_t store_fixture_project(const struct store_fixture *f);
/* A conversation is used, of no agent; its number. */
int64_t store_fixture_use(const struct store_fixture *f, const char *name);

/*
 * A run of the project "default" to be saved, with places for up to `files` files. What it is about is filled in;
 * store_fixture_run_free frees it.
 */
struct store_new_run *store_fixture_run(const struct store_fixture *f, const char *conversation, const char *id,
                                        size_t files);
/* Adds a file with this text as its content. */
void store_fixture_add(struct store_new_run *run, const char *id, const char *name, const char *text);
void store_fixture_run_free(struct store_new_run *run);
/* Saves, and waits for it in the loop. */
int store_fixture_save(struct store_fixture *f, struct store_new_run *run);
/* All of it at once: a run with one file, whose number is that of the run. */
void store_fixture_save_one(struct store_fixture *f, const char *conversation, int number, const char *name,
                            const char *text);
/* Runs the loop until `done` is true, ten seconds at most. */
void store_fixture_wait(struct store_fixture *f, const bool *done);

/* Removes a folder with all that is in it. */
void store_fixture_remove(const char *folder);
