/*
 * platformctl completion: what a shell offers when Tab is pressed.
 *
 * The scripts hold no list of commands: they ask `platformctl __complete`, which answers from the tables. Nothing is
 * ever asked of the service.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"

static const char bash_script[] =
        "_platformctl() {\n"
        "        mapfile -t COMPREPLY < <(platformctl __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | "
        "cut -f1)\n"
        "}\n"
        "complete -o default -F _platformctl platformctl\n";

static const char zsh_script[] =
        "#compdef platformctl\n"
        "_platformctl() {\n"
        "        local -a found\n"
        "        found=(${(f)\"$(platformctl __complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
        "        if (( $#found )); then\n"
        "                found=(\"${(@)found/$'\\t'/:}\")\n"
        "                _describe platformctl found\n"
        "        else\n"
        "                _files\n"
        "        fi\n"
        "}\n"
        "compdef _platformctl platformctl\n";

static const char fish_script[] =
        "function __platformctl_complete\n"
        "        set -l before (commandline -opc)\n"
        "        set -l found (platformctl __complete -- $before[2..-1] (commandline -ct) 2>/dev/null)\n"
        "        if test (count $found) -gt 0\n"
        "                printf '%s\\n' $found\n"
        "        else\n"
        "                __fish_complete_path (commandline -ct)\n"
        "        end\n"
        "end\n"
        "complete -c platformctl -f -a '(__platformctl_complete)'\n";

static const struct {
        const char *shell, *script;
} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

static int completion(struct cli *cli, const void *values, int argc, char **argv) {
        (void)values;
        (void)argc;
        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                if (strcmp(scripts[i].shell, argv[0]) != 0)
                        continue;
                fputs(scripts[i].script, cli->out.file);
                return EXIT_SUCCESS;
        }
        return say_error(cli, EX_USAGE, "there is no completion for \"%s\": bash, zsh and fish have one", argv[0]);
}

const struct command cmd_completion = {
        .name = "completion",
        .summary = "let a shell complete commands and options",
        .usage = "bash|zsh|fish",
        .description = "Prints a script for a shell, which then completes commands and options of\n"
                       "platformctl when Tab is pressed. It belongs into ~/.bashrc, into ~/.zshrc behind\n"
                       "compinit, or into ~/.config/fish/completions/platformctl.fish.\n",
        .examples = "  . <(platformctl completion bash)\n"
                    "  platformctl completion fish >~/.config/fish/completions/platformctl.fish\n",
        COMMAND_WORDS(1),
        .run = completion,
};

/* ---- what the scripts ask */

static const struct option_row *find_option(const struct option_row *rows, size_t count, const char *word) {
        for (size_t i = 0; i < count; i++) {
                if (word[1] == '-' ? strcmp(word + 2, rows[i].name) == 0
                                   : rows[i].letter && word[1] == rows[i].letter && !word[2])
                        return &rows[i];
        }
        return NULL;
}

/* "--out" and "-o", but not "--out=x" nor "--json": the next word belongs to it. */
static bool takes_next_word(const struct command *command, const char *word) {
        const struct option_row *row = find_option(command->options, command->options_count, word);
        if (!row)
                row = find_option(command_common_options, command_common_options_count, word);
        return row && row->kind != OPTION_FLAG;
}

static void offer(struct cli *cli, const char *typed, const char *dashes, const char *name, const char *help) {
        size_t have = strlen(typed), lead = strlen(dashes);
        if (strncmp(typed, dashes, have < lead ? have : lead) != 0 ||
            (have > lead && strncmp(typed + lead, name, have - lead) != 0))
                return;
        fprintf(cli->out.file, "%s%s\t%.*s\n", dashes, name, (int)strcspn(help, "\n"), help);
}

static void offer_options(struct cli *cli, const char *typed, const struct option_row *rows, size_t count) {
        for (size_t i = 0; i < count; i++)
                offer(cli, typed, "--", rows[i].name, rows[i].help);
}

static void offer_all(struct cli *cli, const struct command *command, const char *typed) {
        if (typed[0] == '-') {
                offer_options(cli, typed, command->options, command->options_count);
                offer_options(cli, typed, command_common_options, command_common_options_count);
                return;
        }
        for (size_t i = 0; i < command->children_count; i++)
                if (command->children[i]->summary)
                        offer(cli, typed, "", command->children[i]->name, command->children[i]->summary);
        if (command->children)
                offer(cli, typed, "", "help", "explain a command");
}

/* The words of a command line up to the one that is being typed. Nothing is offered where a value or name belongs. */
static int complete(struct cli *cli, const void *values, int argc, char **argv) {
        const struct command *command = cli->program;
        (void)values;
        for (int i = 0; i + 1 < argc; i++) {
                if (argv[i][0] == '-' && takes_next_word(command, argv[i])) {
                        if (++i + 1 == argc)
                                return EXIT_SUCCESS;
                        continue;
                }
                const struct command *child = argv[i][0] == '-' ? NULL : command_find(command, argv[i]);
                if (child)
                        command = child;
                else if (argv[i][0] != '-' && command->children && strcmp(argv[i], "help") != 0)
                        return EXIT_SUCCESS; /* no such command */
        }
        offer_all(cli, command, argv[argc - 1]);
        return EXIT_SUCCESS;
}

const struct command cmd_complete = {
        .name = "__complete",
        .usage = "-- WORD...",
        .description = "Answers the scripts of `platformctl completion`.\n",
        .words_min = 1,
        .words_max = WORDS_ANY,
        .run = complete,
};
