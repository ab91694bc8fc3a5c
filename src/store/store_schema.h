/*
 * The tables of the SQLite store and their history. Private to the store.
 *
 * Runs in the api process.
 */
#pragma once

#include <sqlite3.h>

#include "base/err.h"

/* Brings the database to the newest schema, step by step, each in a transaction. Refuses one that is newer. */
int schema_migrate(sqlite3 *database, struct err *e);
