/*
 * Commands as a table: name, help, options and the function that does the work.
 *
 * A new command is a `const struct command` and one row in the table of the group above it; those at the top stand in
 * main.c. A group (`agents`, `agents env`) is a command with children in place of a function. Help of every level
 * follows from the tables.
 */
#pragma once

#include <limits.h>

#include "cli/cli.h"
#include "cli/options.h"

#define WORDS_ANY UINT_MAX
#define COMMAND_PATH_BYTES 96 /* "platformctl agents env set" */

struct command {
        const char *name;
        const char *summary;     /* one line, for the list of commands; NULL: it is not listed */
        const char *usage;       /* what stands after the name: "[OPTION]... [FILE]" */
        const char *description; /* paragraphs, ending in a line break */
        const char *examples;    /* lines */

        /* A group: its commands, in the order in which they are listed. */
        const struct command *const *children;
        size_t children_count;
        const struct command *otherwise; /* what it does if none is named, or NULL: it explains itself */

        /* A command that does something. */
        const struct option_row *options;
        size_t options_count;
        size_t values_size;            /* of the struct that the options fill; zeroed before */
        unsigned words_min, words_max; /* how many words that are no options it takes */
        /* The words that are no options; returns the exit code. The row of the table is cli->command. */
        int (*run)(struct cli *cli, const void *values, int argc, char **argv);
        const void *data; /* for `run`, where several commands share it */
};

/* Parts of a row. */
#define COMMAND_OPTIONS(rows, type)                                                                                    \
        .options = (rows), .options_count = ARRAY_SIZE(rows), .values_size = sizeof(type)
#define COMMAND_CHILDREN(table) .children = (table), .children_count = ARRAY_SIZE(table)
#define COMMAND_WORDS(count) .words_min = (count), .words_max = (count)

/* Options that every command takes; they fill struct cli. */
extern const struct option_row command_common_options[];
extern const size_t command_common_options_count;

/*
 * Reads options, finds its way down to the command that the words name, and runs it. `path` is the name with all those
 * above it ("platformctl agents"); argv[0] stands for it. Every group also has a command `help`.
 */
int command_run(struct cli *cli, const struct command *command, const char *path, int argc, char **argv);
/* The command of that name in a group, or NULL. */
const struct command *command_find(const struct command *group, const char *name);
void command_print_help(const struct command *command, const char *path, FILE *out);
