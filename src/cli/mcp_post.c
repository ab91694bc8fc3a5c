/* A message of the MCP bridge on its way over HTTP, and its answer; see mcp_bridge_private.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base64.h"
#include "cli/cli.h"
#include "cli/http_client.h"
#include "cli/http_transfer.h"
#include "cli/mcp_bridge_private.h"
#include "cli/output.h"
#include "cli/service.h"

#define INTERNAL_ERROR (-32603)
#define META_REVISION "io.modelcontextprotocol/protocolVersion"

void mcp_post_free(struct mcp_post *post) {
        struct mcp_post **at = &post->bridge->posts;
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

/* ---- from the service, towards the client */

/* What a message of the service's is, is for the client to say: it only has to be one. */
static void pass_message(struct mcp_post *post, const char *bytes, size_t length) {
        json_t *message = service_parse(bytes, length);
        if (!message)
                return;
        bool is_answer = json_object_get(message, "result") || json_object_get(message, "error");
        if (is_answer && post->id && json_is_null(json_object_get(message, "id")))
                json_object_set(message, "id", post->id);
        post->answered = post->answered || is_answer;
        mcp_write_message(post->bridge, message);
        json_decref(message);
}

static int on_event(void *user, const char *name, const char *data, size_t length) {
        struct mcp_post *post = user;
        if (length > 0 && strcmp(name, "message") == 0)
                pass_message(post, data, length);
        return post->bridge->failed;
}

static bool is_stream(const struct mcp_post *post) {
        const char *type = NULL;
        curl_easy_getinfo(post->curl, CURLINFO_CONTENT_TYPE, &type);
        return type && strncasecmp(type, "text/event-stream", strlen("text/event-stream")) == 0;
}

static size_t on_body(char *bytes, size_t one, size_t length, void *user) {
        struct mcp_post *post = user;
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
static void take_header(char to[MCP_HEADER_MAX], const char *text, size_t length) {
        while (length > 0 && strchr(" \t\r\n", *text))
                text++, length--;
        while (length > 0 && strchr(" \t\r\n", text[length - 1]))
                length--;
        if (length >= MCP_HEADER_MAX)
                return;
        for (size_t i = 0; i < length; i++)
                if (text[i] <= ' ' || text[i] > '~')
                        return;
        memcpy(to, text, length);
        to[length] = '\0';
}

static size_t on_header(char *bytes, size_t one, size_t length, void *user) {
        static const char name[] = "mcp-session-id:";
        struct mcp_post *post = user;
        (void)one;
        if (post->is_initialize && length > sizeof(name) && strncasecmp(bytes, name, sizeof(name) - 1) == 0)
                take_header(post->bridge->session, bytes + sizeof(name) - 1, length - sizeof(name) + 1);
        return length;
}

/* The revision that was agreed upon goes into a header from now on. */
static void take_revision(struct mcp_post *post) {
        json_t *message = post->body ? service_parse(post->body, post->body_length) : NULL;
        const char *revision = json_text(json_object_get(message, "result"), "protocolVersion");
        take_header(post->bridge->revision, revision, strlen(revision));
        json_decref(message);
}

static void explain(struct mcp_post *post, CURLcode result, long status) {
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
                mcp_write_error(post->bridge, post->id, INTERNAL_ERROR, text ? text : "out of memory");
}

static bool is_message(const struct mcp_post *post) {
        json_t *body = post->body ? service_parse(post->body, post->body_length) : NULL;
        bool found = json_object_get(body, "jsonrpc") != NULL;
        json_decref(body);
        return found;
}

bool mcp_post_wait(struct mcp_post *post, long most_ms) {
        if (curl_easy_setopt(post->curl, CURLOPT_TIMEOUT_MS, most_ms) != CURLE_OK ||
            curl_easy_perform(post->curl) != CURLE_OK)
                return false;
        json_t *body = post->body ? service_parse(post->body, post->body_length) : NULL;
        bool is_result = json_object_get(body, "result") != NULL;
        json_decref(body);
        return is_result;
}

void mcp_post_conclude(struct mcp_post *post, CURLcode result) {
        long status = 0;
        curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
        if (result == CURLE_OK && post->is_initialize)
                take_revision(post);
        if (result == CURLE_OK && status == 404 && *post->session && !post->again &&
            mcp_bridge_renew(post->bridge, post)) {
                mcp_post_free(post);
                return;
        }
        if (result == CURLE_OK && is_message(post))
                pass_message(post, post->body, post->body_length);
        else if (!post->answered && !post->cancelled && (result != CURLE_OK || status < 200 || status > 299))
                explain(post, result, status);
        else if (!post->answered && !post->cancelled && post->id && status == 200)
                explain(post, CURLE_PARTIAL_FILE, status); /* a stream that ends too early */
        mcp_post_free(post);
}

/* ---- towards the service */

static bool add_header(struct mcp_post *post, const char *name, const char *value) {
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
static bool add_encoded(struct mcp_post *post, const char *name, const char *value) {
        char plain[MCP_HEADER_MAX] = "";
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
static bool add_headers_alone(struct mcp_post *post, const json_t *message, const char *revision) {
        const json_t *params = json_object_get(message, "params");
        const char *method = json_text(message, "method");
        const char *name = json_text(params, strcmp(method, "resources/read") == 0 ? "uri" : "name");
        post->alone = true;
        return add_encoded(post, "MCP-Protocol-Version", revision) && add_encoded(post, "Mcp-Method", method) &&
               (!*name || add_encoded(post, "Mcp-Name", name));
}

static bool add_headers(struct mcp_post *post, const json_t *message) {
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
        memcpy(post->session, bridge->session, sizeof(post->session));
        return (!*bridge->session || add_header(post, "Mcp-Session-Id", bridge->session)) &&
               (!*bridge->revision || add_header(post, "MCP-Protocol-Version", bridge->revision));
}

static bool configure(struct mcp_post *post, const char *method) {
        CURL *curl = post->curl;
        return http_transfer_prepare(curl, post->bridge->url, post->problem) &&
               curl_easy_setopt(curl, CURLOPT_HTTPHEADER, post->headers) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(post->message)) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->message) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_HEADERDATA, post) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_WRITEDATA, post) == CURLE_OK &&
               curl_easy_setopt(curl, CURLOPT_PRIVATE, post) == CURLE_OK;
}

struct mcp_post *mcp_post_new(struct mcp_bridge *bridge, const char *line, size_t length) {
        struct mcp_post *post = calloc(1, sizeof(*post));
        if (!post)
                return NULL;
        post->bridge = bridge;
        post->next = bridge->posts;
        bridge->posts = post;
        sse_init(&post->parser, MCP_MESSAGE_MAX, on_event, post);
        post->curl = curl_easy_init();
        post->message = malloc(length + 1);
        if (!post->curl || !post->message) {
                mcp_post_free(post);
                return NULL;
        }
        memcpy(post->message, line, length);
        post->message[length] = '\0';
        return post;
}

bool mcp_post_prepare(struct mcp_post *post, const char *method, const json_t *message) {
        return add_headers(post, message) && configure(post, method);
}
