/*
 * What every command of platformctl has at hand, and the exit codes.
 *
 * platformctl runs as the person who calls it. It trusts the command line; what the service says, and above all what a
 * sandbox printed or named, may be hostile: such text reaches a terminal only through terminal.h.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sysexits.h>

#include "cli/terminal.h"

/*
 * Exit codes. `run` passes the snippet's own code on; our own failures use the numbers of sysexits.h, and always come
 * with a line on standard error that begins with "platformctl:".
 *
 *   EX_USAGE 64        the command line is wrong          EX_CANTCREAT 73   a file could not be saved
 *   EX_DATAERR 65      the service refused the request    EX_IOERR 74       writing the output failed
 *   EX_NOINPUT 66      an input file cannot be read       EX_TEMPFAIL 75    overloaded or over a rate: try again later
 *   EX_UNAVAILABLE 69  no service there, or it went away  EX_PROTOCOL 76    the answer is not one of this service
 *   EX_SOFTWARE 70     the service failed                 EX_NOPERM 77      no key, or not allowed
 */
#define EXIT_TIME_LIMIT 124  /* as timeout(1) */
#define EXIT_OTHER_LIMIT 137 /* 128 + SIGKILL: memory, output */
#define EXIT_SIGNAL_BASE 128 /* plus the number: 130 for Ctrl-C, 141 when whoever read our output went away */

struct command;
struct http_client;

struct cli {
        /* Options that every command takes; NULL where they were not given. */
        const char *url_option, *project_option;
        char *key_option;
        bool help_option;

        struct terminal_stream out, err; /* standard output and standard error */
        struct http_client *client;      /* made when first used: service.h */
        const struct command *program;   /* the group of all commands: command.h */
        const struct command *command;   /* the one that runs */
};
