/*
 * platformctl mcp: the service's tools for programs that speak MCP over standard input and output.
 *
 * One process is one conversation: it ends, with its interpreter, when the input does. Standard output has messages of
 * the protocol and nothing else; what we have to say ourselves goes to standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/mcp_bridge.h"
#include "cli/output.h"
#include "cli/resource.h"
#include "cli/service.h"

#define READ_BYTES 65536
#define CONVERSATION_BYTES 64

struct mcp_options {
        const char *agent, *conversation;
};

static const struct option_row rows[] = {
        {"agent", 0, OPTION_TEXT, "NAME", offsetof(struct mcp_options, agent),
         "with this agent's settings and tools; it must\nexist"},
        {"conversation", 0, OPTION_TEXT, "ID", offsetof(struct mcp_options, conversation),
         "the conversation to run in; one of its own if\nnot given"},
};

struct input {
        char *bytes;
        size_t length, size;
        size_t looked; /* so many bytes have no line break */
        bool ended;
};

/* Reads what is there. 0 or a negative errno. */
static int read_more(struct input *input) {
        if (input->length + READ_BYTES > input->size) {
                size_t size = 2 * (input->length + READ_BYTES);
                char *grown = realloc(input->bytes, size);
                if (!grown)
                        return -ENOMEM;
                input->bytes = grown;
                input->size = size;
        }
        ssize_t got = read(STDIN_FILENO, input->bytes + input->length, READ_BYTES);
        if (got < 0)
                return errno == EINTR || errno == EAGAIN ? 0 : -errno;
        input->ended = got == 0;
        input->length += (size_t)got;
        return 0;
}

static bool is_blank(const char *line, size_t length) {
        for (size_t i = 0; i < length; i++)
                if (!strchr(" \t\r", line[i]) || !line[i])
                        return false;
        return true;
}

/* Sends one line, if a whole one is there: what it brings about may have to come before the next. */
static int send_line(struct mcp_bridge *bridge, struct input *input, bool *ret_sent) {
        size_t left = input->length - input->looked;
        char *end = left ? memchr(input->bytes + input->looked, '\n', left) : NULL;
        size_t length = end ? (size_t)(end - input->bytes) : input->length;
        size_t whole = end ? length + 1 : length;
        *ret_sent = whole > 0 && (end || input->ended);
        input->looked = *ret_sent ? 0 : input->length;
        if (length > MCP_MESSAGE_MAX)
                return -EMSGSIZE;
        if (!*ret_sent)
                return 0;
        int r = is_blank(input->bytes, length) ? 0 : mcp_bridge_send(bridge, input->bytes, length);
        input->length -= whole;
        memmove(input->bytes, input->bytes + whole, input->length);
        return r;
}

/* Until the input has ended and all is answered, or a signal comes. */
static int pass_on(struct mcp_bridge *bridge, struct input *input, int notice_fd) {
        bool sent = false;
        int r = 0;
        while (r >= 0 && !interrupt_caught()) {
                r = send_line(bridge, input, &sent);
                if (r < 0)
                        break;
                if (sent)
                        r = mcp_bridge_settle(bridge, notice_fd);
                else if (input->ended)
                        return mcp_bridge_work(bridge, -1, notice_fd);
                else
                        r = mcp_bridge_work(bridge, STDIN_FILENO, notice_fd);
                if (r == 1)
                        r = read_more(input);
        }
        return r;
}

/* An interpreter that nobody will come back to takes one of the project's places. */
static void end_conversation(struct cli *cli, char *conversation) {
        char *words[] = {conversation};
        json_t *answer = NULL;
        long status;
        int code;
        CLEANUP_FREE char *path = resource_path(cli, "/v1/conversations/{0}/session", words, &code);
        if (path && service_call(cli, "DELETE", path, NULL, 404, &status, &answer) == 0)
                json_decref(answer);
}

static int serve(struct cli *cli, const char *path) {
        struct input input = {.bytes = NULL};
        struct mcp_bridge *bridge = mcp_bridge_new(cli, path);
        int notice_fd = bridge ? interrupt_watch() : -ENOMEM;
        int r = notice_fd < 0 ? notice_fd : pass_on(bridge, &input, notice_fd);
        int signal_number = interrupt_caught();
        if (notice_fd >= 0) {
                interrupt_unwatch();
                mcp_bridge_end_session(bridge);
        }
        mcp_bridge_free(bridge);
        free(input.bytes);
        if (signal_number)
                return EXIT_SIGNAL_BASE + signal_number;
        if (r == -EMSGSIZE)
                return say_error(cli, EX_DATAERR, "a message is longer than %zu MiB", MCP_MESSAGE_MAX >> 20);
        if (r == -EPIPE || r == -EIO)
                return write_failed(cli, r);
        return r < 0 ? say_error(cli, EX_SOFTWARE, "%s", strerror(-r)) : EXIT_SUCCESS;
}

/* "mcp-" and 24 digits. */
static void new_conversation(char text[CONVERSATION_BYTES]) {
        unsigned char random[12];
        size_t used = (size_t)sprintf(text, "mcp-");
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                abort(); /* cannot fail for so few bytes since Linux 3.17 */
        for (size_t i = 0; i < sizeof(random); i++)
                used += (size_t)sprintf(text + used, "%02x", random[i]);
}

/* Whether there is a service, a key that it takes, and the agent: said now, where a person may read it. */
static int try_service(struct cli *cli, char **words, const char *agent) {
        json_t *answer = NULL;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(
                cli, agent ? "/v1/tools/run_python?format=mcp&agent={1}" : "/v1/tools/run_python?format=mcp", words,
                &code);
        if (path)
                code = service_get(cli, path, &answer);
        json_decref(answer);
        return code;
}

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct mcp_options *options = values;
        char own[CONVERSATION_BYTES];
        int code = service_open(cli);
        (void)argc, (void)argv;
        new_conversation(own);
        char *words[] = {(char *)(uintptr_t)(options->conversation ? options->conversation : own),
                         (char *)(uintptr_t)options->agent};
        if (code == EXIT_SUCCESS)
                code = try_service(cli, words, options->agent);
        if (code != EXIT_SUCCESS)
                return code;
        CLEANUP_FREE char *path = resource_path(
                cli, options->agent ? "/mcp?conversation_id={0}&agent={1}" : "/mcp?conversation_id={0}", words, &code);
        if (!path)
                return code;
        code = serve(cli, path);
        if (!options->conversation && options->agent)
                end_conversation(cli, own);
        return code;
}

const struct command cmd_mcp = {
        .name = "mcp",
        .summary = "the tools for programs that speak MCP over stdio",
        .usage = "[--agent NAME] [--conversation ID]",
        .description = "Speaks the Model Context Protocol on standard input and output, a message a\n"
                       "line, and passes it on to the service. This is what an MCP client is told to\n"
                       "start; one that speaks HTTP needs no help: the service's address is /mcp.\n"
                       "\n"
                       "Ends when its input does. What runs then is waited for; a signal ends it.\n",
        .examples = "  platformctl mcp --agent my-agent\n"
                    "  platformctl mcp --conversation talk-1 --url https://sandbox.example.org\n",
        COMMAND_OPTIONS(rows, struct mcp_options),
        .run = run,
};
