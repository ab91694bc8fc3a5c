/*
 * Shows what came of a run; see run_show.h.
 *
 * Standard output gets what belongs to the snippet: its output and the value of its last expression. Everything that we
 * have to say about it goes to standard error.
 */
#include "cli/run_show.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "cli/run_files.h"
#include "cli/service.h"

static double number(const json_t *object, const char *name) {
        return json_number_value(json_object_get(object, name));
}

/* The text of a value; a figure's text ("<Figure size ...>") says nothing that is worth a line. */
static int show_results(struct cli *cli, const json_t *reply) {
        size_t i;
        json_t *result;
        int r = 0;
        json_array_foreach(json_object_get(reply, "results"), i, result) {
                const json_t *text = json_object_get(result, "text/plain");
                if (!json_is_string(text)) {
                        if (!run_files_is_figure(result))
                                say_note(cli, "result %zu has no text form; --json shows it", i + 1);
                        continue;
                }
                if (run_files_is_figure(result))
                        continue;
                const char *bytes = json_string_value(text);
                size_t length = json_string_length(text);
                r = terminal_write(&cli->out, bytes, length);
                if (r == 0 && (length == 0 || bytes[length - 1] != '\n'))
                        r = terminal_write(&cli->out, "\n", 1);
                if (r < 0)
                        return r;
        }
        return terminal_finish(&cli->out);
}

/* How the service's outcomes end: what is said, and the exit code (-1: the snippet's own). */
static const struct {
        const char *outcome;
        int exit_code;
        const char *text;
} outcomes[] = {
        {"ok", -1, NULL},
        {"error", -1, NULL},
        {"timeout", EXIT_TIME_LIMIT, "time is up: the snippet was stopped (--timeout sets the limit)"},
        {"out_of_memory", EXIT_OTHER_LIMIT,
         "out of memory: the snippet needed more than its sandbox has and was stopped"},
        {"output_limit", EXIT_OTHER_LIMIT, "too much output: the snippet was stopped"},
        {"killed", EXIT_OTHER_LIMIT, "the snippet was stopped by the service"},
        {"internal", EX_SOFTWARE, "the service failed to run the snippet; its log says why"},
};

static int explain_outcome(struct cli *cli, const json_t *reply) {
        const char *outcome = json_text(reply, "outcome");
        long long code = (long long)number(reply, "exit_code");
        for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
                if (strcmp(outcomes[i].outcome, outcome) != 0)
                        continue;
                if (outcomes[i].text)
                        say_note(cli, "%s; it ran for %.1f s", outcomes[i].text,
                                 number(json_object_get(reply, "usage"), "wall_ms") / 1000);
                if (outcomes[i].exit_code >= 0)
                        return outcomes[i].exit_code;
                if (code > EXIT_SIGNAL_BASE)
                        say_note(cli, "the snippet died of signal %lld (%s)", code - EXIT_SIGNAL_BASE,
                                 strsignal((int)(code - EXIT_SIGNAL_BASE)));
                else if (code != 0)
                        say_note(cli, "the snippet ended with exit code %lld", code);
                return (int)(code & 0xff);
        }
        return say_error(cli, EX_PROTOCOL, "the service says \"%s\" of the run, which this version does not know",
                         outcome);
}

static void explain_cut_output(struct cli *cli, const json_t *reply) {
        static const char *const flags[] = {"stdout_truncated", "stderr_truncated"};
        static const char *const names[] = {"standard output", "standard error"};
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                if (json_is_true(json_object_get(reply, flags[i])))
                        say_note(cli, "%s was longer than the service keeps: part of it is missing", names[i]);
}

static void explain_rest(struct cli *cli, const json_t *reply) {
        const char *session = json_text(json_object_get(reply, "session"), "message");
        const char *hint = json_text(reply, "hint");
        if (*session)
                say_note(cli, "session: %s", session);
        if (*hint)
                say_note(cli, "hint: %s", hint);
}

int run_show(struct cli *cli, const struct run_options *options, const json_t *reply, bool live) {
        int saved, r = 0;
        if (!options->json)
                r = show_results(cli, reply);
        if (r < 0)
                return write_failed(cli, r);
        if (!live)
                explain_cut_output(cli, reply);
        saved = run_files_handle(cli, options, reply);
        int exit_code = explain_outcome(cli, reply);
        explain_rest(cli, reply);
        return exit_code != 0 ? exit_code : saved;
}
