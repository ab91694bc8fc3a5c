/*
 * What the writer does between groups, a little at a time: copies the log into the database, removes rows and contents
 * of deleted conversations, and after a start looks for contents that a crash left without a row. Private to the store;
 * the writer's thread.
 */
#pragma once

#include <stdbool.h>

struct store;

struct chores {
        unsigned next_folder; /* of contents, to look through */
        bool doomed;          /* there may be conversations that are deleted and not removed */
        int log_pages;        /* in the write-ahead log */
        bool log_is_long;     /* has the length that it will keep */
};

void chores_init(struct store *store);
/* One portion. Says whether there is more. */
bool chores_do(struct store *store);
