/*
 * platformctl login and logout: keep an address and a key for later calls, and forget them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/http_client.h"
#include "cli/interrupt.h"
#include "cli/login_file.h"
#include "cli/output.h"
#include "cli/service.h"

static const char *variable(const char *name) {
        const char *value = getenv(name);
        return value && *value ? value : NULL;
}

/* ---- what a person is asked, or a program pipes in */

/* A line without the space around it; on the heap, or NULL at the end of the input or after a signal. */
static char *read_line(void) {
        char *line = NULL;
        size_t size = 0;
        ssize_t length = getline(&line, &size, stdin);
        if (length < 0) {
                free(line);
                return NULL;
        }
        while (length > 0 && strchr(" \t\r\n", line[length - 1]))
                line[--length] = '\0';
        size_t space = strspn(line, " \t");
        memmove(line, line + space, (size_t)length - space + 1);
        return line;
}

static void ask(struct cli *cli, const char *question) {
        fputs(question, cli->err.file);
        fflush(cli->err.file);
}

/* What is typed does not appear. Ctrl-C must not leave the terminal like that. */
static char *read_secret(struct cli *cli) {
        struct termios before, silent;
        if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0 || interrupt_watch() < 0)
                return read_line();
        silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        ask(cli, "Key (it does not appear): ");
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        char *line = read_line();
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        interrupt_unwatch();
        ask(cli, "\n");
        return line;
}

static char *find_url(struct cli *cli) {
        const char *given = cli->url_option ? cli->url_option : variable("SANDBOX_URL");
        bool asks_key = !cli->key_option && !variable("SANDBOX_KEY");
        if (given)
                return strdup(given);
        char *proposed = service_default_url();
        if (!proposed || !asks_key || !isatty(STDIN_FILENO))
                return proposed;
        CLEANUP_FREE char *shown = terminal_line(proposed, strlen(proposed));
        fprintf(cli->err.file, "Address of the service [%s]: ", shown ? shown : "");
        ask(cli, "");
        char *line = read_line();
        if (line && *line) {
                free(proposed);
                return line;
        }
        free(line);
        return proposed;
}

/* Into cli->key_option, as if it had been given there. */
static int find_key(struct cli *cli) {
        const char *given = variable("SANDBOX_KEY");
        if (!cli->key_option && given)
                say_note(cli, "the key is that of SANDBOX_KEY, and what standard input may hold is not read");
        if (!cli->key_option)
                cli->key_option = given ? strdup(given) : read_secret(cli);
        if (interrupt_caught())
                return EXIT_SIGNAL_BASE + interrupt_caught();
        if (!cli->key_option || !*cli->key_option)
                return say_error(cli, EX_NOINPUT,
                                 "no key: give it with --key or SANDBOX_KEY, or on standard input");
        return EXIT_SUCCESS;
}

/* ---- login */

/* Any key may ask; the list itself is for admins. That tells what kind of key it is, and that it is one. */
static int try_key(struct cli *cli, bool *is_admin) {
        json_t *answer = NULL;
        long status = 0;
        int code = service_call(cli, "GET", "/v1/projects?limit=1", NULL, 403, &status, &answer);
        const char *member = status == 403 ? "error" : "projects";
        if (code == 0 && !json_object_get(answer, member))
                code = service_explain_status(cli, status, NULL);
        json_decref(answer);
        *is_admin = status != 403;
        return code;
}

static int keep(struct cli *cli, bool is_admin) {
        CLEANUP_FREE char *path = login_file_path(NULL);
        const char *url = http_client_url(cli->client);
        struct err e = {0};
        if (login_file_save(url, cli->key_option, &e) < 0)
                return say_error(cli, EX_CANTCREAT, "%s", e.message);
        say_note(cli, "logged in at %s with %s key; it is kept in %s", url, is_admin ? "an admin" : "a project's",
                 path ? path : "?");
        if (variable("SANDBOX_URL") || variable("SANDBOX_KEY"))
                say_note(cli, "SANDBOX_URL and SANDBOX_KEY go before it as long as they are set");
        if (strncasecmp(url, "https:", strlen("https:")) != 0 && !http_url_is_loopback(url))
                say_note(cli, "warning: this address is not encrypted (https): others in the network can read the key");
        return EXIT_SUCCESS;
}

static int login(struct cli *cli, const void *values, int argc, char **argv) {
        CLEANUP_FREE char *url = find_url(cli);
        bool is_admin = false;
        (void)values;
        (void)argc;
        (void)argv;
        if (!url)
                return say_error(cli, EX_SOFTWARE, "out of memory");
        int code = find_key(cli);
        if (code != 0)
                return code;
        cli->url_option = url;
        code = service_open(cli);
        cli->url_option = NULL;
        if (code == 0)
                code = try_key(cli, &is_admin);
        return code != 0 ? code : keep(cli, is_admin);
}

const struct command cmd_login = {
        .name = "login",
        .summary = "keep an address and a key for later calls",
        .usage = "[--url URL] [--key KEY]",
        .description = "Tries the key at the address, and keeps both in a file that nobody else may\n"
                       "read: code-sandbox/login.json in $XDG_CONFIG_HOME, else in ~/.config. The key\n"
                       "comes from --key, SANDBOX_KEY or standard input, where a person is asked. It is\n"
                       "sent to this address only. Options and variables go before what is kept.\n",
        .examples = "  platformctl login --url https://sandbox.example.org\n"
                    "  platformctl login --url https://sandbox.example.org <key.txt\n"
                    "  platformctl keys create reports | platformctl login\n",
        .run = login,
};

/* ---- logout */

static int logout(struct cli *cli, const void *values, int argc, char **argv) {
        CLEANUP_FREE char *path = login_file_path(NULL);
        struct err e = {0};
        (void)values;
        (void)argc;
        (void)argv;
        int r = login_file_remove(&e);
        if (r < 0 && r != -ENOENT)
                return say_error(cli, EX_CANTCREAT, "%s", e.message);
        if (r == 0)
                say_note(cli, "logged out: removed %s. The key itself is valid until it is revoked", path ? path : "?");
        else
                say_note(cli, "nobody was logged in");
        return EXIT_SUCCESS;
}

const struct command cmd_logout = {
        .name = "logout",
        .summary = "forget what login has kept",
        .usage = "",
        .description = "Removes the file that `platformctl login` has made. The key stays valid:\n"
                       "`platformctl keys revoke` ends that.\n",
        .examples = "  platformctl logout\n",
        .run = logout,
};
