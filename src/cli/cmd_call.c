/*
 * platformctl call: calls a tool of an agent, in a sandbox made from the agent's image.
 *
 * Standard output gets what the function returned, and nothing else, so that it can be piped on. What the function prints,
 * and what we have to say, goes to standard error.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/resource.h"
#include "cli/service.h"

#define TIMEOUT_MAX_S 120
#define TIMEOUT_SLACK_S 120 /* waiting for a sandbox */
#define VALUE_FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL)

struct call_options {
        struct option_list args, json_args;
        double timeout_s;
        const char *conversation;
        bool json;
};

static const struct option_row rows[] = {
        {"arg", 'a', OPTION_LIST, "NAME=VALUE", offsetof(struct call_options, args),
         "an argument; VALUE is text, or what the tool's\ndescription says it is; may be given several\ntimes"},
        {"arg-json", 0, OPTION_LIST, "NAME=JSON", offsetof(struct call_options, json_args),
         "an argument as JSON, such as 'ids=[1, 2]'"},
        {"timeout", 't', OPTION_SECONDS, "SECONDS", offsetof(struct call_options, timeout_s),
         "time limit of the call: 30 if not given, 120 at\nmost"},
        {"conversation", 0, OPTION_TEXT, "ID", offsetof(struct call_options, conversation),
         "keep the call with this conversation"},
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct call_options, json), "print the service's whole reply as JSON"},
};

static const char description[] =
        "Calls a tool of an agent, in a sandbox made from the agent's image. What the\n"
        "function returns is printed on standard output: text as it is, anything else as\n"
        "JSON. What the function prints goes to standard error.\n"
        "\n"
        "Exit code: 0 if the function returned; else that of its process, 124 if its time\n"
        "was up, 137 if it broke another limit (memory, output). If it could not be\n"
        "called at all, a line on standard error says why, and the code is one of those\n"
        "that `platformctl run --help` lists.\n";

static const char examples[] = "  platformctl call shop find_order --arg number=4711\n"
                               "  platformctl call shop total --arg-json 'prices=[1.5, 2]' --json\n";

/* ---- arguments */

static bool allows_text(const json_t *property) {
        const json_t *type = json_object_get(property, "type"), *part;
        size_t i;
        json_array_foreach(type, i, part)
                if (json_is_string(part) && strcmp(json_string_value(part), "string") == 0)
                        return true;
        json_array_foreach(json_object_get(property, "anyOf"), i, part)
                if (allows_text(part))
                        return true;
        if (json_is_array(type) || json_object_get(property, "anyOf"))
                return false;
        return !json_is_string(type) || strcmp(json_string_value(type), "string") == 0;
}

/* The properties of a tool, by what the service says of the agent; NULL: it does not know the tool. */
static const json_t *properties_of(const json_t *agent, const char *tool) {
        const json_t *one;
        size_t i;
        json_array_foreach(json_object_get(agent, "tools"), i, one)
                if (strcmp(json_text(one, "name"), tool) == 0)
                        return json_object_get(json_object_get(one, "parameters"), "properties");
        return NULL;
}

/* A number where the tool wants a number; whatever makes no sense as such stays text, and the service says what it is. */
static json_t *value_of(const json_t *properties, const char *name, const char *text) {
        const json_t *property = json_object_get(properties, name);
        json_t *value = property && !allows_text(property) ? json_loads(text, VALUE_FLAGS, NULL) : NULL;
        return value ? value : json_string(text);
}

static int add_argument(struct cli *cli, json_t *arguments, const json_t *properties, const char *given, bool is_json) {
        const char *equals = strchr(given, '='), *option = is_json ? "arg-json" : "arg";
        if (!equals || equals == given)
                return say_error(cli, EX_USAGE, "--%s takes NAME=%s, not \"%s\"", option, is_json ? "JSON" : "VALUE",
                                 given);
        CLEANUP_FREE char *name = strndup(given, (size_t)(equals - given));
        if (!name)
                return say_error(cli, EX_SOFTWARE, "out of memory");
        if (json_object_get(arguments, name))
                return say_error(cli, EX_USAGE, "the argument \"%s\" is given twice", name);
        json_t *value = is_json ? json_loads(equals + 1, VALUE_FLAGS, NULL) : value_of(properties, name, equals + 1);
        if (!value && is_json)
                return say_error(cli, EX_USAGE, "the argument \"%s\" is no JSON: %s (text has quotes there: '%s=\"…\"')",
                                 name, equals + 1, name);
        if (json_object_set_new(arguments, name, value) < 0)
                return say_error(cli, EX_USAGE, "the argument \"%s\" is not UTF-8", name);
        return EXIT_SUCCESS;
}

static int read_arguments(struct cli *cli, const struct call_options *options, const json_t *properties,
                          json_t *arguments) {
        int code = EXIT_SUCCESS;
        for (size_t i = 0; code == EXIT_SUCCESS && i < options->args.count; i++)
                code = add_argument(cli, arguments, properties, options->args.items[i], false);
        for (size_t i = 0; code == EXIT_SUCCESS && i < options->json_args.count; i++)
                code = add_argument(cli, arguments, NULL, options->json_args.items[i], true);
        return code;
}

/* Only what is given as text needs to be looked up. An agent that is not there is the call's to tell. */
static int make_arguments(struct cli *cli, const struct call_options *options, char **words, json_t **ret) {
        json_t *agent = NULL;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, "/v1/agents/{0}", words, &code);
        if (!path)
                return code;
        if (options->args.count > 0) {
                long status;
                code = service_call(cli, "GET", path, NULL, 404, &status, &agent);
                if (code != EXIT_SUCCESS)
                        return code;
        }
        *ret = json_object();
        code = read_arguments(cli, options, properties_of(agent, words[1]), *ret);
        json_decref(agent);
        return code;
}

/* ---- what came of it */

static const struct {
        const char *outcome;
        int exit_code; /* -1: the process's own */
        const char *text;
} outcomes[] = {
        {"ok", -1, NULL},
        {"error", -1, NULL},
        {"timeout", EXIT_TIME_LIMIT, "time is up: the call was stopped (--timeout sets the limit)"},
        {"out_of_memory", EXIT_OTHER_LIMIT, "out of memory: the call needed more than its sandbox has and was stopped"},
        {"output_limit", EXIT_OTHER_LIMIT, "too much output: the call was stopped"},
        {"killed", EXIT_OTHER_LIMIT, "the call was stopped by the service"},
        {"internal", EX_SOFTWARE, "the service failed to make the call; its log says why"},
};

static int explain_outcome(struct cli *cli, const json_t *reply) {
        const char *outcome = json_text(reply, "outcome");
        long long code = (long long)json_integer_value(json_object_get(reply, "exit_code"));
        for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
                if (strcmp(outcomes[i].outcome, outcome) != 0)
                        continue;
                if (outcomes[i].text)
                        say_note(cli, "%s", outcomes[i].text);
                if (outcomes[i].exit_code >= 0)
                        return outcomes[i].exit_code;
                /* A process that ended well without having returned is no success. */
                return strcmp(outcome, "error") == 0 && (code & 0xff) == 0 ? 1 : (int)(code & 0xff);
        }
        return say_error(cli, EX_PROTOCOL, "the service says \"%s\" of the call, which this version does not know",
                         outcome);
}

static int write_text(struct terminal_stream *stream, const char *text, size_t length) {
        int r = length > 0 ? terminal_write(stream, text, length) : 0;
        if (r == 0 && length > 0 && text[length - 1] != '\n')
                r = terminal_write(stream, "\n", 1);
        return r == 0 ? terminal_finish(stream) : r;
}

static int show_printed(struct cli *cli, const json_t *reply) {
        static const char *const names[] = {"stdout", "stderr"};
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const json_t *text = json_object_get(reply, names[i]);
                int r = write_text(&cli->err, json_string_value(text), json_string_length(text));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int show_result(struct cli *cli, const json_t *result) {
        if (!json_is_string(result))
                return print_json(cli, result);
        const char *text = json_string_value(result);
        size_t length = json_string_length(result);
        return length > 0 ? write_text(&cli->out, text, length) : terminal_write(&cli->out, "\n", 1);
}

static void show_error(struct cli *cli, const json_t *error) {
        const char *traceback = json_text(error, "traceback");
        if (*traceback)
                write_text(&cli->err, traceback, strlen(traceback));
        else
                say_note(cli, "%s: %s", json_text(error, "type"), json_text(error, "message"));
}

/* Connections that came to nothing: why the tool failed is often that. */
static void show_network(struct cli *cli, const json_t *egress) {
        size_t i;
        json_t *record;
        json_array_foreach(egress, i, record) {
                const char *host = json_text(record, "host"), *address = json_text(record, "address");
                if (strcmp(json_text(record, "decision"), "allowed") != 0)
                        say_note(cli, "network: %s%s%s%s, port %lld: %s (%s)", host,
                                 *host && *address ? " (" : "", address, *host && *address ? ")" : "",
                                 (long long)json_integer_value(json_object_get(record, "port")),
                                 json_text(record, "decision"), json_text(record, "rule"));
        }
}

static int show(struct cli *cli, const struct call_options *options, const json_t *reply) {
        const json_t *error = json_object_get(reply, "error");
        const char *hint = json_text(reply, "hint");
        int r = options->json ? print_json(cli, reply) : show_printed(cli, reply);
        if (r == 0 && !options->json && !json_is_object(error))
                r = show_result(cli, json_object_get(reply, "result"));
        if (r < 0)
                return write_failed(cli, r);
        if (json_is_object(error) && !options->json)
                show_error(cli, error);
        if (!options->json)
                show_network(cli, json_object_get(reply, "egress"));
        int code = explain_outcome(cli, reply);
        if (*hint)
                say_note(cli, "hint: %s", hint);
        return code;
}

/* ---- the request */

static int conclude(struct cli *cli, const struct call_options *options, const struct http_reply *reply) {
        json_t *body = service_parse(reply->body, reply->body_length);
        int code;
        if (reply->status != 200) {
                if (options->json && body)
                        print_json(cli, body);
                code = service_explain_status(cli, reply->status, body);
        } else if (!json_is_object(body) || !json_object_get(body, "outcome"))
                code = say_error(cli, EX_PROTOCOL,
                                 "no sense in what %s answers. Is this the address of a Code Sandbox?",
                                 http_client_url(cli->client));
        else
                code = show(cli, options, body);
        json_decref(body);
        return code;
}

static int send_request(struct cli *cli, const struct call_options *options, const char *body) {
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        struct err e = {0};
        const struct http_call call = {
                .method = "POST",
                .path = "/v1/call",
                .body = body,
                .body_length = strlen(body),
                .timeout_s = (options->timeout_s > 0 ? options->timeout_s : TIMEOUT_MAX_S) + TIMEOUT_SLACK_S,
        };
        int r = http_client_call(cli->client, &call, &reply, &e);
        if (r == HTTP_CLIENT_E_INTERRUPTED)
                return say_error(cli, EXIT_SIGNAL_BASE + interrupt_caught(), "interrupted; the call was cancelled");
        return r != 0 ? service_explain_call(cli, r, &e) : conclude(cli, options, &reply);
}

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct call_options *options = values;
        json_t *arguments = NULL;
        (void)argc;
        int code = service_open(cli);
        if (code == EXIT_SUCCESS)
                code = make_arguments(cli, options, argv, &arguments);
        if (code != EXIT_SUCCESS) {
                json_decref(arguments);
                return code;
        }
        json_t *request = json_pack("{s:s, s:s, s:o}", "agent", argv[0], "tool", argv[1], "arguments", arguments);
        if (options->timeout_s > 0)
                json_object_set_new(request, "timeout_s", json_real(options->timeout_s));
        if (options->conversation)
                json_object_set_new(request, "conversation_id", json_string(options->conversation));
        CLEANUP_FREE char *body = json_dumps(request, JSON_COMPACT);
        json_decref(request);
        return body ? send_request(cli, options, body)
                    : say_error(cli, EX_USAGE, "the names of agent and tool must be UTF-8");
}

const struct command cmd_call = {
        .name = "call",
        .summary = "call a tool of an agent",
        .usage = "[OPTION]... AGENT TOOL",
        .description = description,
        .examples = examples,
        COMMAND_OPTIONS(rows, struct call_options),
        COMMAND_WORDS(2),
        .run = run,
};
