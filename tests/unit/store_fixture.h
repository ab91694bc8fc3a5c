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

/* Removes a folder with all that is in it. */
void store_fixture_remove(const char *folder);
