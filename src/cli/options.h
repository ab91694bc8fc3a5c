/*
 * Options of the command line as tables.
 *
 * A command lists its options as rows; each row says where in the command's own struct the value goes. Parsing, the
 * refusals and the help text follow from the rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum option_kind {
        OPTION_FLAG,    /* bool */
        OPTION_TEXT,    /* const char *, borrowed from argv */
        OPTION_SECRET,  /* char *, a copy on the heap; wiped from argv, so that `ps` shows it no longer */
        OPTION_LIST,    /* struct option_list: may be given again and again */
        OPTION_SECONDS, /* double, greater than 0 */
        OPTION_COUNT,   /* size_t, greater than 0 */
};

struct option_row {
        const char *name; /* long form without dashes */
        char letter;      /* short form, or 0 */
        enum option_kind kind;
        const char *argument; /* what stands for the value in the help text, or NULL for a flag */
        size_t offset;        /* in the struct of values */
        const char *help;
};

struct option_list {
        const char **items; /* borrowed from argv */
        size_t count;
};

/* A table of rows and the struct that they fill. */
struct option_group {
        const struct option_row *rows;
        size_t count;
        void *values;
};

/*
 * Reads the options of all groups from argv (argv[0] is passed over). `stop_at_word` ends at the first word that is no
 * option, else words and options may mix. Returns the index of the first word, or -EINVAL or -ENOMEM.
 */
int options_parse(const struct option_group *groups, size_t count, bool stop_at_word, int argc, char **argv,
                  struct err *e);

/* Frees what OPTION_LIST and OPTION_SECRET took. */
void options_deinit(const struct option_group *group);

/* Prints the rows as they stand in a help text. */
void options_print(const struct option_row *rows, size_t count, FILE *out);
