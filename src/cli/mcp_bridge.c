/* MCP over standard input and output; see mcp_bridge.h. */
#include "cli/mcp_bridge.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base64.h"
#include "cli/http_client.h"
#include "cli/http_transfer.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/service.h"
#include "cli/sse.h"

#define POLL_MS 1000
#define END_MS 3000L
#define HEADER_MAX 128
#define INTERNAL_ERROR (-32603)
#define PARSE_ERROR (-32700)
#define META_REVISION "io.modelcontextprotocol/protocolVersion"

/* A message on its way, and its answer. */
struct post {
        struct mcp_bridge *bridge;
        struct post *next;
        CURL *curl;
        struct curl_slist *headers;
        char *message;
        json_t *id; /* NULL: it is answered by nothing */
        bool is_initialize;
        bool alone; /* of a revision without sessions: ending the request cancels it */
        bool answered;
        struct sse_parser parser;
        char *body;
        size_t body_length, body_size;
        char problem[CURL_ERROR_SIZE];
};

struct mcp_bridge {
        struct cli *cli;
        CURLM *multi;
        char *url;
        char session[HEADER_MAX], revision[HEADER_MAX]; /* "" before they are known */
        struct post *posts;
        int failed; /* a write: negative errno */
};

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

static void post_free(struct post *post) {
        struct post **at = &post->bridge->posts;
        while (*at && *at != post)
                at = &(*at)->next;
        if (*at)
                *at = post->next;
        if (post->curl)
                curl_multi_remove_handle(post->bridge->multi, post->curl); /* closes it if it is under way */
        curl_easy_cleanup(post->curl);
        http_transfer_free_headers(post->headers);
        sse_deinit(&post->parser);
        json_decref(post->id);
        free(post->message);
        free(post->body);
        free(post);
}

void mcp_bridge_free(struct mcp_bridge *bridge) {
        if (!bridge)
                return;
        while (bridge->posts)
                post_free(bridge->posts);
        curl_multi_cleanup(bridge->multi);
        free(bridge->url);
        free(bridge);
}

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
static void write_message(struct mcp_bridge *bridge, const json_t *message) {
        CLEANUP_FREE char *line = message ? json_dumps(message, JSON_COMPACT) : NULL;
        if (line)
                write_line(bridge, line, strlen(line));
}

static void write_error(struct mcp_bridge *bridge, json_t *id, int code, const char *message) {
        json_t *error = json_pack("{s:s, s:o, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                                  id ? json_incref(id) : json_null(), "error", "code", code, "message", message);
        write_message(bridge, error);
        json_decref(error);
}

/* What a message of the service's is, is for the client to say: it only has to be one. */
static void pass_message(struct post *post, const char *bytes, size_t length) {
        json_t *message = service_parse(bytes, length);
        if (!message)
                return;
        bool is_answer = json_object_get(message, "result") || json_object_get(message, "error");
        if (is_answer && post->id && json_is_null(json_object_get(message, "id")))
                json_object_set(message, "id", post->id);
        post->answered = post->answered || is_answer;
        write_message(post->bridge, message);
        json_decref(message);
}

static int on_event(void *user, const char *name, const char *data, size_t length) {
        struct post *post = user;
        if (length > 0 && strcmp(name, "message") == 0)
                pass_message(post, data, length);
        return post->bridge->failed;
}

/* ---- from the service */

static bool is_stream(const struct post *post) {
        const char *type = NULL;
        curl_easy_getinfo(post->curl, CURLINFO_CONTENT_TYPE, &type);
        return type && strncasecmp(type, "text/event-stream", strlen("text/event-stream")) == 0;
}

static size_t on_body(char *bytes, size_t one, size_t length, void *user) {
        struct post *post = user;
        (void)one;
        if (is_stream(post))
                return sse_feed(&post->parser, bytes, length) == 0 ? length : CURL_WRITEFUNC_ERROR;
        if (length > MCP_MESSAGE_MAX - post->body_length)
                return CURL_WRITEFUNC_ERROR;
        if (post->body_length + length > post->body_size) {
                size_t size = 2 * (post->body_length + length);
                char *grown = realloc(post->body, size);
                if (!grown)
                        return CURL_WRITEFUNC_ERROR;
                post->body = grown;
                post->body_size = size;
        }
        memcpy(post->body + post->body_length, bytes, length);
        post->body_length += length;
        return length;
}

/* Only what may go into a header again. */
static void take_header(char to[HEADER_MAX], const char *text, size_t length) {
        while (length > 0 && strchr(" \t\r\n", *text))
                text++, length--;
        while (length > 0 && strchr(" \t\r\n", text[length - 1]))
                length--;
        if (length >= HEADER_MAX)
                return;
        for (size_t i = 0; i < length; i++)
                if (text[i] <= ' ' || text[i] > '~')
                        return;
        memcpy(to, text, length);
        to[length] = '\0';
}

static size_t on_header(char *bytes, size_t one, size_t length, void *user) {
        static const char name[] = "mcp-session-id:";
        struct post *post = user;
        (void)one;
        if (post->is_initialize && length > sizeof(name) && strncasecmp(bytes, name, sizeof(name) - 1) == 0)
                take_header(post->bridge->session, bytes + sizeof(name) - 1, length - sizeof(name) + 1);
        return length;
}

/* The revision that was agreed upon goes into a header from now on. */
static void take_revision(struct post *post) {
        json_t *message = post->body ? service_parse(post->body, post->body_length) : NULL;
        const char *revision = json_text(json_object_get(message, "result"), "protocolVersion");
        take_header(post->bridge->revision, revision, strlen(revision));
        json_decref(message);
}

static void explain(struct post *post, CURLcode result, long status) {
        CLEANUP_FREE char *text = NULL;
        json_t *body = post->body ? service_parse(post->body, post->body_length) : NULL;
        const char *message = json_text(json_object_get(body, "error"), "message");
        int length;
        if (result != CURLE_OK)
                length = asprintf(&text, "the service at %s cannot be reached, or went away: %s",
                                  http_client_url(post->bridge->cli->client),
                                  post->problem[0] ? post->problem : curl_easy_strerror(result));
        else
                length = asprintf(&text, "the service says: %s (HTTP %ld)", *message ? message : "nothing", status);
        json_decref(body);
        if (length < 0)
                text = NULL;
        say_note(post->bridge->cli, "%s", text ? text : "out of memory");
        if (post->id)
                write_error(post->bridge, post->id, INTERNAL_ERROR, text ? text : "out of memory");
}

static bool is_message(const struct post *post) {
        json_t *body = post->body ? service_parse(post->body, post->body_length) : NULL;
        bool found = json_object_get(body, "jsonrpc") != NULL;
        json_decref(body);
        return found;
}

static void conclude(struct post *post, CURLcode result) {
        long status = 0;
        curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
        if (result == CURLE_OK && post->is_initialize)
                take_revision(post);
        if (result == CURLE_OK && is_message(post))
                pass_message(post, post->body, post->body_length);
        else if (!post->answered && (result != CURLE_OK || status < 200 || status > 299))
                explain(post, result, status);
        else if (!post->answered && post->id && status == 200)
                explain(post, CURLE_PARTIAL_FILE, status); /* a stream that ends too early */
        post_free(post);
}

/* ---- towards the service */

static bool add_header(struct post *post, const char *name, const char *value) {
        CLEANUP_FREE char *line = NULL;
        if (asprintf(&line, "%s: %s", name, value) < 0) {
                line = NULL;
                return false;
        }
        struct curl_slist *grown = curl_slist_append(post->headers, line);
        post->headers = grown ? grown : post->headers;
        return grown != NULL;
}

/* A value that a header cannot hold as it is goes as "=?base64?…?=". */
static bool add_encoded(struct post *post, const char *name, const char *value) {
        char plain[HEADER_MAX] = "";
        CLEANUP_FREE char *line = NULL, *encoded = NULL;
        take_header(plain, value, strlen(value));
        if (*plain && strcmp(plain, value) == 0 && strncmp(plain, "=?", 2) != 0)
                return add_header(post, name, plain);
        encoded = base64_encode(value, strlen(value));
        if (!encoded || asprintf(&line, "=?base64?%s?=", encoded) < 0) {
                line = NULL;
                return false;
        }
        return add_header(post, name, line);
}

/* Of a revision without sessions, headers repeat what the message says. */
static bool add_headers_alone(struct post *post, const json_t *message, const char *revision) {
        const json_t *params = json_object_get(message, "params");
        const char *method = json_text(message, "method");
        const char *name = json_text(params, strcmp(method, "resources/read") == 0 ? "uri" : "name");
        post->alone = true;
        return add_encoded(post, "MCP-Protocol-Version", revision) && add_encoded(post, "Mcp-Method", method) &&
               (!*name || add_encoded(post, "Mcp-Name", name));
}

static bool add_headers(struct post *post, const json_t *message) {
        const struct mcp_bridge *bridge = post->bridge;
        const json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");
        const char *revision = json_text(meta, META_REVISION);
        for (const struct curl_slist *line = http_client_headers(bridge->cli->client); line; line = line->next) {
                struct curl_slist *grown = curl_slist_append(post->headers, line->data);
                if (!grown)
                        return false;
                post->headers = grown;
        }
        if (!add_header(post, "Accept", "application/json, text/event-stream"))
                return false;
        if (*revision)
                return add_headers_alone(post, message, revision);
        if (post->is_initialize)
                return true;
        return (!*bridge->session || add_header(post, "Mcp-Session-Id", bridge->session)) &&
               (!*bridge->revision || add_header(post, "MCP-Protocol-Version", bridge->revision));
}

static bool configure(struct post *post, const char *method, size_t length) {
        CURL *curl = post->curl;
        return http_transfer_prepare(curl, post->bridge->url, post->problem) &&
               curl_easy_setopt(curl, CURLOPT_HTTPHEADER, post->headers) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->message) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_HEADERDATA, post) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_WRITEDATA, post) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_PRIVATE, post) == CURLE_OK;
}

static struct post *post_new(struct mcp_bridge *bridge, const char *line, size_t length) {
        struct post *post = calloc(1, sizeof(*post));
        if (!post)
                return NULL;
        post->bridge = bridge;
        post->next = bridge->posts;
        bridge->posts = post;
        sse_init(&post->parser, MCP_MESSAGE_MAX, on_event, post);
        post->curl = curl_easy_init();
        post->message = malloc(length + 1);
        if (!post->curl || !post->message) {
                post_free(post);
                return NULL;
        }
        memcpy(post->message, line, length);
        post->message[length] = '\0';
        return post;
}

/* True: the message was a word to us. Where there are no sessions, a request is cancelled by ending it. */
static bool take_cancel(struct mcp_bridge *bridge, const json_t *message) {
        const json_t *id = json_object_get(json_object_get(message, "params"), "requestId");
        if (strcmp(json_text(message, "method"), "notifications/cancelled") != 0)
                return false;
        for (struct post *post = bridge->posts; post; post = post->next)
                if (post->alone && json_equal(post->id, id)) {
                        post_free(post);
                        return true;
                }
        return false;
}

static int send_post(struct mcp_bridge *bridge, const char *line, size_t length, const json_t *message) {
        struct post *post = post_new(bridge, line, length);
        if (!post)
                return -ENOMEM;
        post->id = json_object_get(message, "method") ? json_incref(json_object_get(message, "id")) : NULL;
        post->is_initialize = strcmp(json_text(message, "method"), "initialize") == 0;
        if (add_headers(post, message) && configure(post, "POST", length) &&
            curl_multi_add_handle(bridge->multi, post->curl) == CURLM_OK)
                return 0;
        post_free(post);
        return -ENOMEM;
}

int mcp_bridge_send(struct mcp_bridge *bridge, const char *line, size_t length) {
        json_t *message = service_parse(line, length);
        int r = 0;
        if (!message)
                write_error(bridge, NULL, PARSE_ERROR, "a line must be one JSON object: a message of the protocol");
        else if (!take_cancel(bridge, message))
                r = send_post(bridge, line, length, message);
        json_decref(message);
        return r < 0 ? r : bridge->failed;
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
                conclude((struct post *)(void *)post, result);
        }
}

/* What follows `initialize` needs the session that it makes. */
static bool waits_for_session(const struct mcp_bridge *bridge) {
        for (const struct post *post = bridge->posts; post; post = post->next)
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
                post_free(bridge->posts);
        if (!*bridge->session)
                return;
        struct post *post = post_new(bridge, "", 0);
        json_t *nothing = json_object();
        if (post && add_headers(post, nothing) && configure(post, "DELETE", 0) &&
            curl_easy_setopt(post->curl, CURLOPT_TIMEOUT_MS, END_MS) == CURLE_OK)
                curl_easy_perform(post->curl);
        if (post)
                post_free(post);
        json_decref(nothing);
        bridge->session[0] = '\0';
}
