/*
 * platformctl: the command line of the Code Sandbox.
 *
 * An ordinary program of the person who calls it: it needs no privilege (doctor alone is better run as root), keeps no
 * state, and talks to the service over HTTP only.
 */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/http_client.h"
#include "cli/output.h"

#define PROGRAM "platformctl"

/* In the order in which they are listed. */
static const struct command *const commands[] = {
        &cmd_run, &cmd_status, &cmd_environment, &cmd_doctor, &cmd_version,
};

static const char introduction[] = "Usage: platformctl [OPTION]... COMMAND [ARGUMENT]...\n"
                                   "\n"
                                   "Runs Python snippets in the Code Sandbox and looks after the service.\n"
                                   "\n"
                                   "Commands:\n";

static const char examples[] = "\nExamples:\n"
                               "  platformctl run -c 'print(6 * 7)'\n"
                               "  platformctl status\n"
                               "  platformctl help run\n";

static void print_overview(FILE *out) {
        fputs(introduction, out);
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                fprintf(out, "  %-14s%s\n", commands[i]->name, commands[i]->summary);
        fprintf(out, "  %-14s%s\n", "help", "explain a command");
        fprintf(out, "\nOptions of every command:\n");
        options_print(command_common_options, command_common_options_count, out);
        fputs(examples, out);
}

static int help(struct cli *cli, int argc, char **argv) {
        if (argc < 2) {
                print_overview(cli->out.file);
                return EXIT_SUCCESS;
        }
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
                if (strcmp(commands[i]->name, argv[1]) == 0) {
                        command_print_help(commands[i], PROGRAM, cli->out.file);
                        return EXIT_SUCCESS;
                }
        }
        return say_error(cli, EX_USAGE, "there is no command \"%s\" to explain (platformctl help lists them)", argv[1]);
}

static int dispatch(struct cli *cli, int argc, char **argv) {
        const struct option_group group = {command_common_options, command_common_options_count, cli};
        struct err e = {0};
        int first = options_parse(&group, 1, true, argc, argv, &e);
        if (first < 0)
                return say_error(cli, EX_USAGE, "%s (platformctl help lists commands and options)", e.message);
        if (cli->help_option)
                return help(cli, 1, NULL);
        if (first == argc) {
                print_overview(cli->err.file);
                return EX_USAGE;
        }
        if (strcmp(argv[first], "help") == 0)
                return help(cli, argc - first, argv + first);
        return command_dispatch(cli, commands, ARRAY_SIZE(commands), PROGRAM, argc - first, argv + first);
}

/*
 * Where a standard stream is closed (`>&-`), the next descriptor that is opened would take its number, and output would
 * go into it. Its place is taken by something that refuses to be written to, as the closed one would.
 */
static void keep_standard_streams(void) {
        for (int fd = 0; fd <= STDERR_FILENO; fd++)
                if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
                        _exit(EX_OSERR);
}

int main(int argc, char **argv) {
        struct cli cli = {0};
        const struct option_group group = {command_common_options, command_common_options_count, &cli};
        keep_standard_streams();
        setlocale(LC_CTYPE, "");
        signal(SIGPIPE, SIG_IGN); /* a reader that goes away ends a run in order: see write_failed() */
        terminal_init(&cli.out, stdout, false);
        terminal_init(&cli.err, stderr, false);
        int code = finish_output(&cli, dispatch(&cli, argc, argv));
        http_client_free(cli.client);
        options_deinit(&group);
        return code;
}
