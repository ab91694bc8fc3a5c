/*
 * platformctl: the command line of the Code Sandbox.
 *
 * An ordinary program of the person who calls it: it needs no privilege (doctor alone is better run as root), keeps
 * nothing but what `login` was told to, and talks to the service over HTTP only.
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
        &cmd_run,      &cmd_call,  &cmd_mcp,      &cmd_agents,     &cmd_conversations, &cmd_files,
        &cmd_sessions, &cmd_projects, &cmd_keys,    &cmd_audit,         &cmd_login,
        &cmd_logout,   &cmd_status, &cmd_environment, &cmd_doctor,      &cmd_backup,
        &cmd_restore,  &cmd_completion, &cmd_version, &cmd_complete,
};

static const struct command program = {
        .name = PROGRAM,
        .usage = "[OPTION]... COMMAND [ARGUMENT]...",
        .description = "Runs Python snippets in the Code Sandbox and looks after the service.\n",
        .examples = "  platformctl run -c 'print(6 * 7)'\n"
                    "  platformctl agents env set my-agent CODE_INTERPRETER_SESSION=true\n"
                    "  platformctl status\n"
                    "  platformctl help agents env set\n",
        COMMAND_CHILDREN(commands),
};

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
        struct cli cli = {.program = &program};
        const struct option_group group = {command_common_options, command_common_options_count, &cli};
        keep_standard_streams();
        if (argc == 2 && strcmp(argv[1], "--version") == 0) /* as every other program has it */
                argv[1] = (char *)cmd_version.name;
        setlocale(LC_CTYPE, "");
        signal(SIGPIPE, SIG_IGN); /* a reader that goes away ends a run in order: see write_failed() */
        terminal_init(&cli.out, stdout, false);
        terminal_init(&cli.err, stderr, false);
        int code = finish_output(&cli, command_run(&cli, &program, PROGRAM, argc, argv));
        http_client_free(cli.client);
        options_deinit(&group);
        return code;
}
