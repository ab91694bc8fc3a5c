/*
 * Commands that list, show or change what the service keeps, as a table.
 *
 * Most of them are one request and a way to show its answer, so a command is a `struct resource` (as the command's
 * `data`) and one of three functions. What the service says is shown through terminal.h, like everywhere.
 */
#pragma once

#include <jansson.h>

#include "cli/command.h"

/* Filled by the options of all these commands; each takes those that mean something to it. */
struct resource_options {
        bool json, all, force;
        size_t limit; /* 0: no limit */
        const char *agent, *label, *out;
};

#define RESOURCE_JSON                                                                                                  \
        { "json", 0, OPTION_FLAG, NULL, offsetof(struct resource_options, json), "print the service's answer as JSON" }
#define RESOURCE_LIMIT                                                                                                 \
        { "limit", 0, OPTION_COUNT, "N", offsetof(struct resource_options, limit), "at most N of them; else all" }

enum column_kind {
        COLUMN_PLAIN,
        COLUMN_TIME, /* shown to the second */
        COLUMN_BYTES,
        COLUMN_SECONDS,
        COLUMN_FLAG,
};

struct resource_column {
        const char *member, *heading;
        enum column_kind kind;
};

/* In texts "{0}" stands for the first word of the command line, "{1}" for the second. */
struct resource {
        const char *method; /* of a change */
        const char *path;   /* the words are percent-encoded in it */

        /* A list: the member that holds it, what is shown of each entry, and the words for an empty one. */
        const char *list, *none;
        const char *many; /* what they are called, if not as the list */
        const struct resource_column *columns;
        size_t columns_count;
        bool is_paged;
        bool has_versions; /* of each name the last one, unless --all */

        /* What is shown: a list that goes with it. */
        const struct resource *part;

        /* A change: its body, what is said when it is done, and the answer as JSON if the service gives none. */
        json_t *(*body)(const struct resource_options *options, char **words);
        const char *said;
        json_t *(*answer)(char **words);
        /* Instead of `said`, where that depends on the answer. 0, or a negative errno of standard output. */
        int (*say)(struct cli *cli, long status, const json_t *answer, char **words);
};

#define RESOURCE_OPTIONS(rows) COMMAND_OPTIONS(rows, struct resource_options)
#define RESOURCE_COLUMNS(table) .columns = (table), .columns_count = ARRAY_SIZE(table)

/* `run` of a command whose data is a struct resource. */
int resource_list(struct cli *cli, const void *values, int argc, char **argv);
int resource_show(struct cli *cli, const void *values, int argc, char **argv);
int resource_change(struct cli *cli, const void *values, int argc, char **argv);

/* Replaces "{0}", "{1}" by words; `encode`: as parts of a path. On the heap, or NULL. */
char *resource_expand(const char *pattern, char **words, bool encode);
/* The same for the path of a request; if it cannot be made, the reason is said and `*code` set. */
char *resource_path(struct cli *cli, const char *pattern, char **words, int *code);

/* The end of a command with an answer: prints it if JSON is wanted. Takes the reference. Returns the exit code. */
int resource_finish(struct cli *cli, bool json, json_t *answer, int result);
