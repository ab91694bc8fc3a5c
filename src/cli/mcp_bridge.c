/* MCP over standard input and output; see mcp_bridge.h. */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/http_client.h"
#include "cli/interrupt.h"
#include "cli/mcp_bridge_private.h"
#include "cli/output.h"
#include "cli/service.h"

#define POLL_MS 1000
#define END_MS 3000L
#define BEGIN_MS 10000L
#define PARSE_ERROR (-32700)

/* ---- towards the client */

static void write_line(struct mcp_bridge *bridge, const char *line, size_t length) {
        struct terminal_stream *out = &bridge->cli->out;
        int r = terminal_write(out, line, length);
        if (r == 0)
                r = terminal_write(out, "\n", 1);
        if (r == 0 && fflush(out->file) != 0)
                r = -errno;
        if (r < 0)
                bridge->failed = r;
}

/* On one line, whatever the service, or what stands in its place, has sent. */
void mcp_write_message(struct mcp_bridge *bridge, const json_t *message) {
        CLEANUP_FREE char *line = message ? json_dumps(message, JSON_COMPACT) : NULL;
        if (line)
                write_line(bridge, line, strlen(line));
}

void mcp_write_error(struct mcp_bridge *bridge, json_t *id, int code, const char *message) {
        json_t *error = json_pack("{s:s, s:o, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                                  id ? json_incref(id) : json_null(), "error", "code", code, "message", message);
        mcp_write_message(bridge, error);
        json_decref(error);
}

/* ---- life */

struct mcp_bridge *mcp_bridge_new(struct cli *cli, const char *path) {
        struct mcp_bridge *bridge = calloc(1, sizeof(*bridge));
        if (!bridge)
                return NULL;
        bridge->cli = cli;
        bridge->multi = curl_multi_init();
        if (!bridge->multi || asprintf(&bridge->url, "%s%s", http_client_url(cli->client), path) < 0) {
                bridge->url = NULL;
                mcp_bridge_free(bridge);
                return NULL;
        }
        return bridge;
}

void mcp_bridge_free(struct mcp_bridge *bridge) {
        if (!bridge)
                return;
        while (bridge->posts)
                mcp_post_free(bridge->posts);
        curl_multi_cleanup(bridge->multi);
        free(bridge->greeting);
        free(bridge->url);
        free(bridge);
}

/* True: the message was a word to us. Where there are no sessions, a request is cancelled by ending it. */
static bool take_cancel(struct mcp_bridge *bridge, const json_t *message) {
        const json_t *id = json_object_get(json_object_get(message, "params"), "requestId");
        if (strcmp(json_text(message, "method"), "notifications/cancelled") != 0)
                return false;
        for (struct mcp_post *post = bridge->posts; post; post = post->next)
                if (json_equal(post->id, id)) {
                        post->cancelled = true;
                        if (!post->alone)
                                return false;
                        mcp_post_free(post);
                        return true;
                }
        return false;
}

static int send_post(struct mcp_bridge *bridge, const char *line, size_t length, const json_t *message, bool again) {
        struct mcp_post *post = mcp_post_new(bridge, line, length);
        if (!post)
                return -ENOMEM;
        post->again = again;
        post->id = json_object_get(message, "method") ? json_incref(json_object_get(message, "id")) : NULL;
        post->is_initialize = strcmp(json_text(message, "method"), "initialize") == 0;
        if (post->is_initialize) {
                free(bridge->greeting);
                bridge->greeting = strdup(post->message);
        }
        if (mcp_post_prepare(post, "POST", message) && curl_multi_add_handle(bridge->multi, post->curl) == CURLM_OK)
                return 0;
        mcp_post_free(post);
        return -ENOMEM;
}

int mcp_bridge_send(struct mcp_bridge *bridge, const char *line, size_t length) {
        json_t *message = service_parse(line, length);
        int r = 0;
        if (!message)
                mcp_write_error(bridge, NULL, PARSE_ERROR, "a line must be one JSON object: a message of the protocol");
        else if (!take_cancel(bridge, message))
                r = send_post(bridge, line, length, message, false);
        json_decref(message);
        return r < 0 ? r : bridge->failed;
}

/* ---- a session that has ended */

static bool begin_again(struct mcp_bridge *bridge) {
        const char *line = bridge->greeting ? bridge->greeting : "";
        char session[MCP_HEADER_MAX];
        json_t *message = service_parse(line, strlen(line));
        struct mcp_post *post = message ? mcp_post_new(bridge, line, strlen(line)) : NULL;
        memcpy(session, bridge->session, sizeof(session));
        if (post)
                post->is_initialize = true;
        bool begun = post && mcp_post_prepare(post, "POST", message) && mcp_post_wait(post, BEGIN_MS) &&
                     strcmp(session, bridge->session) != 0;
        if (!begun) /* to be tried again with the next message */
                memcpy(bridge->session, session, sizeof(session));
        if (post)
                mcp_post_free(post);
        json_decref(message);
        return begun;
}

/*
 * A session ends with the service, or when it is left alone. Who speaks HTTP is told by the status, and begins a new
 * one; over pipes the protocol has no word for that, and a client would be refused until its end. What was refused has
 * not run, and the conversation is the same: the address names it.
 */
bool mcp_bridge_renew(struct mcp_bridge *bridge, const struct mcp_post *post) {
        if (strcmp(post->session, bridge->session) == 0 && !begin_again(bridge))
                return false;
        json_t *message = service_parse(post->message, strlen(post->message));
        bool sent = message && send_post(bridge, post->message, strlen(post->message), message, true) == 0;
        json_decref(message);
        return sent;
}

/* ---- the loop */

static void conclude_finished(struct mcp_bridge *bridge) {
        int left;
        for (CURLMsg *news; (news = curl_multi_info_read(bridge->multi, &left));) {
                char *post = NULL;
                if (news->msg != CURLMSG_DONE)
                        continue;
                CURLcode result = news->data.result;
                curl_easy_getinfo(news->easy_handle, CURLINFO_PRIVATE, &post);
                mcp_post_conclude((struct mcp_post *)(void *)post, result);
        }
}

/* What follows `initialize` needs the session that it makes. */
static bool waits_for_session(const struct mcp_bridge *bridge) {
        for (const struct mcp_post *post = bridge->posts; post; post = post->next)
                if (post->is_initialize)
                        return true;
        return false;
}

/* libcurl does not tell of the end of a pipe. */
static bool is_ready(int fd) {
        struct pollfd watched = {.fd = fd, .events = POLLIN};
        return fd >= 0 && poll(&watched, 1, 0) > 0;
}

static bool step(struct mcp_bridge *bridge, int input, int notice_fd) {
        struct curl_waitfd others[] = {{.fd = notice_fd, .events = CURL_WAIT_POLLIN},
                                       {.fd = input, .events = CURL_WAIT_POLLIN}};
        int running;
        if (curl_multi_perform(bridge->multi, &running) != CURLM_OK)
                return false;
        conclude_finished(bridge);
        if (input < 0 && !bridge->posts)
                return true;
        return curl_multi_poll(bridge->multi, others, input >= 0 ? 2 : 1, POLL_MS, NULL) == CURLM_OK;
}

int mcp_bridge_work(struct mcp_bridge *bridge, int input, int notice_fd) {
        while (!interrupt_caught() && !bridge->failed && (bridge->posts || input >= 0)) {
                if (is_ready(input))
                        return 1;
                if (!step(bridge, input, notice_fd))
                        return -EIO;
        }
        return bridge->failed;
}

int mcp_bridge_settle(struct mcp_bridge *bridge, int notice_fd) {
        while (!interrupt_caught() && !bridge->failed && waits_for_session(bridge))
                if (!step(bridge, -1, notice_fd))
                        return -EIO;
        return bridge->failed;
}

void mcp_bridge_end_session(struct mcp_bridge *bridge) {
        while (bridge->posts)
                mcp_post_free(bridge->posts);
        if (!*bridge->session)
                return;
        struct mcp_post *post = mcp_post_new(bridge, "", 0);
        json_t *nothing = json_object();
        if (post && mcp_post_prepare(post, "DELETE", nothing))
                mcp_post_wait(post, END_MS);
        if (post)
                mcp_post_free(post);
        json_decref(nothing);
        bridge->session[0] = '\0';
}
