/* Commands as a table; see command.h. */
#include "cli/command.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/output.h"

const struct option_row command_common_options[] = {
        {"url", 0, OPTION_TEXT, "URL", offsetof(struct cli, url_option),
         "address of the service; else SANDBOX_URL, else\nwhere SANDBOX_LISTEN says, else that of\n`platformctl "
         "login`, else http://127.0.0.1:8080"},
        {"key", 0, OPTION_SECRET, "KEY", offsetof(struct cli, key_option),
         "a project's key or an admin key; else\nSANDBOX_KEY, else that of `platformctl login` for\nthis address, else "
         "the admin key of a service on\nthis machine, if it can be read"},
        {"project", 0, OPTION_TEXT, "NAME", offsetof(struct cli, project_option),
         "act in this project, with an admin key; else in\n\"default\""},
        {"help", 'h', OPTION_FLAG, NULL, offsetof(struct cli, help_option), "show this help"},
};
const size_t command_common_options_count = ARRAY_SIZE(command_common_options);

#define SUMMARY_COLUMN 15

static void print_child(const char *name, const char *summary, FILE *out) {
        fprintf(out, "  %-*s%s\n", SUMMARY_COLUMN, name, summary);
}

void command_print_help(const struct command *command, const char *path, FILE *out) {
        fprintf(out, "Usage: %s%s%s\n\n%s", path, command->usage[0] ? " " : "", command->usage, command->description);
        if (command->children) {
                fprintf(out, "\nCommands:\n");
                for (size_t i = 0; i < command->children_count; i++)
                        if (command->children[i]->summary)
                                print_child(command->children[i]->name, command->children[i]->summary, out);
                print_child("help", "explain a command", out);
        }
        if (command->options_count > 0) {
                fprintf(out, "\nOptions:\n");
                options_print(command->options, command->options_count, out);
        }
        fprintf(out, "\nOptions of every command:\n");
        options_print(command_common_options, command_common_options_count, out);
        if (command->examples)
                fprintf(out, "\nExamples:\n%s", command->examples);
}

/* ---- commands that do something */

static int check_words(struct cli *cli, const struct command *command, const char *path, int argc, char **argv) {
        unsigned count = (unsigned)argc;
        if (count < command->words_min)
                return say_error(cli, EX_USAGE, "something is missing: %s %s (%s --help explains it)", path,
                                 command->usage, path);
        if (count <= command->words_max)
                return EXIT_SUCCESS;
        if (command->words_max == 0)
                return say_error(cli, EX_USAGE, "%s takes no argument; \"%s\" is one", command->name, argv[0]);
        return say_error(cli, EX_USAGE, "\"%s\" is one too many: %s %s", argv[command->words_max], path,
                         command->usage);
}

static int run_leaf(struct cli *cli, const struct command *command, const char *path, int argc, char **argv) {
        struct err e = {0};
        CLEANUP_FREE void *values = calloc(1, command->values_size + 1);
        if (!values)
                return say_error(cli, EX_SOFTWARE, "out of memory");
        const struct option_group groups[] = {
                {command->options, command->options_count, values},
                {command_common_options, command_common_options_count, cli},
        };
        int code = EXIT_SUCCESS, first = options_parse(groups, ARRAY_SIZE(groups), false, argc, argv, &e);
        if (first < 0)
                code = say_error(cli, EX_USAGE, "%s (%s --help shows what there is)", e.message, path);
        else if (cli->help_option)
                command_print_help(command, path, cli->out.file);
        else
                code = check_words(cli, command, path, argc - first, argv + first);
        if (first >= 0 && !cli->help_option && code == EXIT_SUCCESS) {
                cli->command = command;
                code = command->run(cli, values, argc - first, argv + first);
        }
        options_deinit(&groups[0]);
        return code;
}

/* ---- groups */

const struct command *command_find(const struct command *group, const char *name) {
        for (size_t i = 0; i < group->children_count; i++)
                if (strcmp(group->children[i]->name, name) == 0)
                        return group->children[i];
        return NULL;
}

static void lengthen(char path[COMMAND_PATH_BYTES], const char *above, const char *name) {
        snprintf(path, COMMAND_PATH_BYTES, "%s %s", above, name);
}

/* `help WORD...`: as deep as the words lead. */
static int explain(struct cli *cli, const struct command *command, const char *path, int argc, char **argv) {
        char longer[COMMAND_PATH_BYTES];
        if (argc == 0) {
                command_print_help(command, path, cli->out.file);
                return EXIT_SUCCESS;
        }
        const struct command *child = command_find(command, argv[0]);
        if (!child)
                return say_error(cli, EX_USAGE, "there is no command \"%s\" to explain (%s --help shows what there is)",
                                 argv[0], path);
        lengthen(longer, path, child->name);
        return explain(cli, child, longer, argc - 1, argv + 1);
}

/* Options alone, as in `audit --json`, are of the command that is meant where none is named. */
static bool means_otherwise(const struct command *group, int argc, char **argv) {
        if (!group->otherwise || argc < 2 || argv[1][0] != '-' || strcmp(argv[1], "--help") == 0 ||
            strcmp(argv[1], "-h") == 0)
                return false;
        for (int i = 1; i < argc; i++)
                if (strcmp(argv[i], "help") == 0 || command_find(group, argv[i]))
                        return false;
        return true;
}

static int run_group(struct cli *cli, const struct command *group, const char *path, int argc, char **argv) {
        const struct option_group common = {command_common_options, command_common_options_count, cli};
        struct err e = {0};
        char longer[COMMAND_PATH_BYTES];
        if (means_otherwise(group, argc, argv)) {
                lengthen(longer, path, group->otherwise->name);
                return command_run(cli, group->otherwise, longer, argc, argv);
        }
        int first = options_parse(&common, 1, true, argc, argv, &e);
        if (first < 0)
                return say_error(cli, EX_USAGE, "%s (%s --help shows what there is)", e.message, path);
        if (cli->help_option)
                return explain(cli, group, path, 0, NULL);
        if (first == argc && group->otherwise)
                return command_run(cli, group->otherwise, path, 1, argv);
        if (first == argc) {
                command_print_help(group, path, cli->err.file);
                return EX_USAGE;
        }
        if (strcmp(argv[first], "help") == 0)
                return explain(cli, group, path, argc - first - 1, argv + first + 1);
        const struct command *child = command_find(group, argv[first]);
        if (!child)
                return say_error(cli, EX_USAGE, "\"%s\" is not a command of %s (%s --help lists them)", argv[first],
                                 path, path);
        lengthen(longer, path, child->name);
        return command_run(cli, child, longer, argc - first, argv + first);
}

int command_run(struct cli *cli, const struct command *command, const char *path, int argc, char **argv) {
        return command->children ? run_group(cli, command, path, argc, argv)
                                 : run_leaf(cli, command, path, argc, argv);
}
