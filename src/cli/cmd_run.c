/*
 * platformctl run: runs a snippet in a sandbox and shows what it prints while it runs.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_request.h"
#include "cli/run_show.h"
#include "cli/service.h"
#include "cli/sse.h"

#define EVENT_MAX ((size_t)256 << 20)
#define TIMEOUT_MAX_S 120   /* the longest that a service may allow */
#define TIMEOUT_SLACK_S 120 /* waiting for a sandbox, sending files there and back */

static const struct option_row rows[] = {
        {"code", 'c', OPTION_TEXT, "CODE", offsetof(struct run_options, code), "run this text"},
        {"timeout", 't', OPTION_SECONDS, "SECONDS", offsetof(struct run_options, timeout_s),
         "time limit of the snippet; the service's default\nis 20"},
        {"file", 'f', OPTION_LIST, "[NAME=]PATH", offsetof(struct run_options, files),
         "put a file into the working directory, as NAME;\nmay be given several times"},
        {"stdin", 0, OPTION_TEXT, "PATH", offsetof(struct run_options, input),
         "what the snippet reads from its standard input;\n- passes our own on"},
        {"out", 'o', OPTION_TEXT, "DIR", offsetof(struct run_options, out),
         "save the files and figures that come back"},
        {"force", 0, OPTION_FLAG, NULL, offsetof(struct run_options, force), "let --out overwrite files"},
        {"agent", 0, OPTION_TEXT, "NAME", offsetof(struct run_options, agent), "run on behalf of this agent"},
        {"conversation", 0, OPTION_TEXT, "ID", offsetof(struct run_options, conversation),
         "keep run and files with this conversation"},
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct run_options, json), "print the service's whole reply as JSON"},
        {"raw", 0, OPTION_FLAG, NULL, offsetof(struct run_options, raw),
         "pass the snippet's escape sequences on to the\nterminal"},
};

static const char description[] = "Runs a Python snippet in a sandbox of its own. What it prints appears while it\n"
                                  "runs; after that comes the value of a last expression, as in a notebook. Files\n"
                                  "and figures that it makes are named, and saved with --out. Without FILE and -c\n"
                                  "the code is read from standard input, as with -.\n"
                                  "\n"
                                  "Exit code: the snippet's own; 124 if its time was up, 137 if it broke another\n"
                                  "limit (memory, output). If it could not be run at all, a line on standard error\n"
                                  "says why, and the code is 64 (command line), 65 (request refused), 66 (input\n"
                                  "file), 69 (no service), 70 (service failed), 73 (file not saved), 74 (output\n"
                                  "not written), 75 (busy, try again), 76 (not a Code Sandbox) or 77 (no\n"
                                  "permission). A snippet may end with these codes too; --json tells them apart.\n"
                                  "\n"
                                  "On a terminal, control characters that the snippet prints are made visible,\n"
                                  "colours excepted; --raw turns that off. Ctrl-C ends the snippet.\n";

static const char examples[] = "  platformctl run -c 'print(6 * 7)'\n"
                               "  platformctl run analysis.py --file data.csv --out results\n"
                               "  echo 'import sys; sys.exit(3)' | platformctl run -; echo $?\n";

/* A run whose events arrive. */
struct live {
        struct cli *cli;
        struct progress progress;
        struct sse_parser parser;
        bool printed[2]; /* something came on standard output, on standard error */
        int write_error;
        json_t *reply, *error;
};

static int print_piece(struct live *live, bool is_stderr, const json_t *data) {
        const json_t *text = json_is_string(data) ? data : json_object_get(data, "text");
        struct terminal_stream *stream = is_stderr ? &live->cli->err : &live->cli->out;
        if (!json_is_string(text))
                return 0;
        live->printed[is_stderr] = true;
        progress_end(&live->progress);
        live->write_error = terminal_write(stream, json_string_value(text), json_string_length(text));
        return live->write_error;
}

static int on_event(void *user, const char *name, const char *text, size_t length) {
        struct live *live = user;
        json_t *data = json_loadb(text, length, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
        int r = 0;
        if (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) {
                r = print_piece(live, strcmp(name, "stderr") == 0, data);
        } else if (strcmp(name, "done") == 0 && !live->reply) {
                live->reply = json_incref(data);
        } else if (strcmp(name, "error") == 0 && !live->error) {
                live->error = json_incref(data);
        }
        json_decref(data);
        return r;
}

static int on_data(void *user, const char *bytes, size_t length) {
        struct live *live = user;
        return sse_feed(&live->parser, bytes, length);
}

static void on_sent(void *user, uint64_t sent, uint64_t total) {
        struct live *live = user;
        progress_transfer(&live->progress, "sending the files", (double)sent, (double)total);
}

static void live_deinit(struct live *live) {
        sse_deinit(&live->parser);
        json_decref(live->reply);
        json_decref(live->error);
}

/* What did not come as an event, because the answer was no stream, stands in the reply. */
static int print_rest(struct live *live) {
        static const char *const names[] = {"stdout", "stderr"};
        for (int i = 0; i < 2; i++) {
                int r = live->printed[i] ? 0 : print_piece(live, i == 1, json_object_get(live->reply, names[i]));
                if (r == 0)
                        r = terminal_finish(i == 1 ? &live->cli->err : &live->cli->out);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int explain_failure(struct live *live, int result, const struct err *e) {
        terminal_finish(&live->cli->out);
        terminal_finish(&live->cli->err);
        if (result == HTTP_CLIENT_E_INTERRUPTED)
                return say_error(live->cli, EXIT_SIGNAL_BASE + interrupt_caught(),
                                 "interrupted; the run was cancelled");
        if (result == HTTP_CLIENT_E_STOPPED && live->write_error < 0)
                return write_failed(live->cli, live->write_error);
        if (result == HTTP_CLIENT_E_STOPPED)
                return say_error(live->cli, EX_PROTOCOL, "the service sent an event that is too large");
        return service_explain_call(live->cli, result, e);
}

/* The answer is complete; whatever it is. */
static int conclude(struct live *live, const struct run_options *options, const struct http_reply *reply) {
        struct cli *cli = live->cli;
        if (!reply->is_stream)
                live->reply = service_parse(reply->body, reply->body_length);
        if (reply->status != 200) {
                if (options->json && live->reply)
                        print_json(cli, live->reply);
                return service_explain_status(cli, reply->status, live->reply);
        }
        if (live->error)
                return service_explain_status(cli, 500, live->error);
        if (!json_is_object(live->reply) || !json_object_get(live->reply, "outcome"))
                return reply->is_stream ? say_error(cli, EX_UNAVAILABLE, "the connection ended before the run did")
                                        : say_error(cli, EX_PROTOCOL,
                                                    "no sense in what %s answers. Is this the address "
                                                    "of a Code Sandbox?",
                                                    http_client_url(cli->client));
        int r = options->json ? print_json(cli, live->reply) : print_rest(live);
        return r < 0 ? write_failed(cli, r) : run_show(cli, options, live->reply, reply->is_stream);
}

static int send_request(struct cli *cli, const struct run_options *options, const char *body) {
        CLEANUP(live_deinit) struct live live = {.cli = cli};
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        struct err e = {0};
        const struct http_call call = {
                .method = "POST",
                .path = "/v1/execute",
                .body = body,
                .body_length = strlen(body),
                .timeout_s = (options->timeout_s > 0 ? options->timeout_s : TIMEOUT_MAX_S) + TIMEOUT_SLACK_S,
                .on_data = on_data,
                .on_sent = on_sent,
                .user = &live,
        };
        sse_init(&live.parser, EVENT_MAX, on_event, &live);
        progress_init(&live.progress, cli, options->json);
        int r = http_client_call(cli->client, &call, &reply, &e);
        progress_end(&live.progress);
        return r != 0 ? explain_failure(&live, r, &e) : conclude(&live, options, &reply);
}

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct run_options *options = values;
        CLEANUP_FREE char *body = NULL;
        struct err e = {0};
        int code = EX_SOFTWARE;
        if (argc > 1)
                return say_error(cli, EX_USAGE, "one FILE at a time; \"%s\" is one too many (inputs go with --file)",
                                 argv[1]);
        json_t *request = run_request(options, argc > 0 ? argv[0] : NULL, &code, &e);
        if (!request)
                return say_error(cli, code, "%s", e.message[0] ? e.message : "out of memory");
        body = json_dumps(request, JSON_COMPACT);
        json_decref(request);
        if (!body)
                return say_error(cli, EX_SOFTWARE, "out of memory");
        if (options->raw)
                cli->out.filter = cli->err.filter = false;
        code = service_open(cli);
        return code != 0 ? code : send_request(cli, options, body);
}

const struct command cmd_run = {
        .name = "run",
        .summary = "run a snippet in a sandbox",
        .usage = "[OPTION]... [FILE | -c CODE | -]",
        .description = description,
        .examples = examples,
        .options = rows,
        .options_count = ARRAY_SIZE(rows),
        .values_size = sizeof(struct run_options),
        .words_max = WORDS_ANY, /* it has more to say about one too many */
        .run = run,
};
