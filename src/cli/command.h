/*
 * Commands as a table: name, help, options and the function that does the work.
 *
 * A new command is one file cmd_NAME.c that defines a `const struct command`, and one row in main.c. A command with
 * commands of its own (`agents env set`) calls command_dispatch with its own table.
 */
#pragma once

#include "cli/cli.h"
#include "cli/options.h"

struct command {
        const char *name;
        const char *summary;     /* one line, for the list of commands */
        const char *usage;       /* what stands after the name: "[OPTION]... [FILE]" */
        const char *description; /* paragraphs, ending in a line break */
        const char *examples;    /* lines */
        const struct option_row *options;
        size_t options_count;
        size_t values_size; /* of the struct that the options fill; zeroed before */
        /* The words that are no options; returns the exit code. */
        int (*run)(struct cli *cli, const void *values, int argc, char **argv);
};

/* Options that every command takes; they fill struct cli. */
extern const struct option_row command_common_options[];
extern const size_t command_common_options_count;

/* Finds argv[0] in the table, reads its options and runs it. `prefix` names the commands above: "platformctl". */
int command_dispatch(struct cli *cli, const struct command *const *table, size_t count, const char *prefix, int argc,
                     char **argv);
void command_print_help(const struct command *command, const char *prefix, FILE *out);
