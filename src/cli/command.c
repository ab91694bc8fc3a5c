/* Commands as a table; see command.h. */
#include "cli/command.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/output.h"

const struct option_row command_common_options[] = {
        {"url", 0, OPTION_TEXT, "URL", offsetof(struct cli, url_option),
         "address of the service; else SANDBOX_URL, else\nwhere SANDBOX_LISTEN says, else\nhttp://127.0.0.1:8080"},
        {"key", 0, OPTION_SECRET, "KEY", offsetof(struct cli, key_option),
         "a project's key or an admin key; else\nSANDBOX_KEY, else the admin key of a service on\nthis machine, if it "
         "can be read"},
        {"help", 'h', OPTION_FLAG, NULL, offsetof(struct cli, help_option), "show this help"},
};
const size_t command_common_options_count = ARRAY_SIZE(command_common_options);

void command_print_help(const struct command *command, const char *prefix, FILE *out) {
        fprintf(out, "Usage: %s %s %s\n\n%s", prefix, command->name, command->usage, command->description);
        if (command->options_count > 0) {
                fprintf(out, "\nOptions:\n");
                options_print(command->options, command->options_count, out);
        }
        fprintf(out, "\nOptions of every command:\n");
        options_print(command_common_options, command_common_options_count, out);
        if (command->examples)
                fprintf(out, "\nExamples:\n%s", command->examples);
}

static int run(struct cli *cli, const struct command *command, const char *prefix, int argc, char **argv) {
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
                code = say_error(cli, EX_USAGE, "%s (%s %s --help shows what there is)", e.message, prefix,
                                 command->name);
        else if (cli->help_option)
                command_print_help(command, prefix, cli->out.file);
        else
                code = command->run(cli, values, argc - first, argv + first);
        options_deinit(&groups[0]);
        return code;
}

int command_dispatch(struct cli *cli, const struct command *const *table, size_t count, const char *prefix, int argc,
                     char **argv) {
        for (size_t i = 0; i < count; i++)
                if (strcmp(table[i]->name, argv[0]) == 0)
                        return run(cli, table[i], prefix, argc, argv);
        return say_error(cli, EX_USAGE, "\"%s\" is not a command (%s help lists them)", argv[0], prefix);
}
