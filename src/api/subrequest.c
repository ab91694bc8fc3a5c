/*
 * Requests of the service to itself; see subrequest.h. An exchange (http_exchange.h) whose outlet is not libmicrohttpd.
 *
 * All that comes of a handler is kept until the next turn of the loop: over the network, too, no news reach a handler
 * while it is answering, and handlers rely on that.
 */
#include "api/subrequest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/api.h"
#include "api/http_exchange.h"
#include "api/routes.h"
#include "base/cleanup.h"
#include "base/loop.h"

#define QUERY_MAX 16

struct subrequest {
        struct http_exchange exchange;      /* first */
        const struct subrequest_sink *sink; /* NULL: cancelled */
        void *data;
        struct loop_source *timer;
        bool begun; /* the handler was called, or an error stands for it */
        bool refuses_stream;

        json_t *tree; /* of the body, until it is handed over */
        char *bytes;  /* or these */
        size_t bytes_length;
        char *body_type;

        char *query; /* storage of the pairs */
        struct {
                const char *name, *value;
        } pairs[QUERY_MAX];
        size_t pair_count;

        char *reply_type;
        struct reply_content reply;
};

static const struct exchange_outlet inside;

static struct subrequest *subrequest_of(const struct http_exchange *exchange) {
        return (struct subrequest *)(uintptr_t)exchange;
}

static void content_deinit(struct reply_content *content) {
        if (content->kind == CONTENT_TAKEN)
                free(content->bytes);
        else if (content->kind == CONTENT_FILE)
                close_fd(&content->fd);
        *content = (struct reply_content){.kind = CONTENT_STATIC};
}

static void subrequest_free(struct subrequest *sub) {
        loop_remove(sub->exchange.server->api->loop, &sub->timer);
        content_deinit(&sub->reply);
        exchange_deinit(&sub->exchange);
        json_decref(sub->tree);
        free(sub->bytes);
        free(sub->body_type);
        free(sub->query);
        free(sub->reply_type);
        free(sub);
}

/* ---- the answer, towards the sink */

static char *read_file(const struct reply_content *file) {
        char *bytes = malloc(file->length + 1);
        size_t got = 0;
        while (bytes && got < file->length) {
                ssize_t count = pread(file->fd, bytes + got, file->length - got, (off_t)(file->offset + got));
                if (count < 0 && errno == EINTR)
                        continue;
                if (count <= 0) {
                        free(bytes);
                        return NULL;
                }
                got += (size_t)count;
        }
        return bytes;
}

static void deliver_error(struct subrequest *sub, enum http_error kind, const char *message) {
        json_t *tree = http_error_body(kind, NULL, message);
        CLEANUP_FREE char *text = json_dumps(tree, JSON_COMPACT);
        json_decref(tree);
        sub->sink->on_reply(sub->data, http_error_status(kind), "application/json", text ? text : "{}",
                            text ? strlen(text) : 2);
}

static void deliver_file(struct subrequest *sub) {
        size_t most = sub->sink->file_max ? sub->sink->file_max : SUBREQUEST_FILE_MAX;
        char message[128];
        if (sub->reply.length > most) {
                snprintf(message, sizeof(message), "The file has %llu bytes; at most %zu can be handed on here.",
                         (unsigned long long)sub->reply.length, most);
                deliver_error(sub, HTTP_TOO_LARGE, message);
                return;
        }
        CLEANUP_FREE char *bytes = read_file(&sub->reply);
        if (bytes)
                sub->sink->on_reply(sub->data, sub->exchange.status, sub->reply_type, bytes, sub->reply.length);
        else
                deliver_error(sub, HTTP_INTERNAL, "The file could not be read.");
}

static void deliver_reply(struct subrequest *sub) {
        if (sub->exchange.dropped || sub->exchange.streaming)
                sub->sink->on_reply(sub->data, 0, NULL, "", 0);
        else if (sub->reply.kind == CONTENT_FILE)
                deliver_file(sub);
        else if (sub->reply.bytes)
                sub->sink->on_reply(sub->data, sub->exchange.status, sub->reply_type, sub->reply.bytes,
                                    sub->reply.length);
        else
                deliver_error(sub, HTTP_INTERNAL, "The service has no memory left for this answer.");
}

/* The buffer is taken out first: the sink may cancel, and a handler that hears of room writes more. */
static void deliver_stream(struct subrequest *sub) {
        struct stream *stream = &sub->exchange.stream;
        CLEANUP_FREE char *bytes = TAKE_PTR(stream->bytes);
        size_t start = stream->start, length = stream->end - stream->start;
        stream->size = stream->start = stream->end = 0;
        if (length > 0 && sub->sink && !sub->refuses_stream)
                sub->sink->on_stream(sub->data, bytes + start, length);
        if (!sub->exchange.ended)
                stream_tell_drained(&sub->exchange);
}

static void deliver(struct subrequest *sub) {
        struct http_exchange *exchange = &sub->exchange;
        if (sub->refuses_stream)
                exchange_tell_gone(exchange); /* a handler that has ended is not told */
        if (exchange->streaming)
                deliver_stream(sub);
        if (!exchange->ended || exchange->stream.end > exchange->stream.start)
                return; /* more comes: by wake() */
        if (sub->sink && exchange->streaming && !sub->refuses_stream)
                sub->sink->on_stream_end(sub->data);
        else if (sub->sink)
                deliver_reply(sub);
        subrequest_free(sub);
}

/* ---- the request, towards the handler */

/* A key's scope was looked at when the parent was admitted, but for the parent's route. */
static bool admit_scope(struct http_request *request) {
        bool known = request->auth.key_id > 0;
        if (request->route->scope == ROUTE_OPEN || (known && request->route->scope == ROUTE_PROJECT) ||
            (known && request->auth.is_admin))
                return true;
        if (known)
                http_reply_error(request, HTTP_FORBIDDEN, NULL, "This endpoint needs an admin key.");
        else
                http_reply_error(request, HTTP_UNAUTHORIZED, NULL,
                                 "A key is needed: send the header \"Authorization: Bearer KEY\".");
        return false;
}

/* A tree becomes text only now, so that it is there in one form at a time. */
static bool take_body(struct subrequest *sub) {
        struct http_exchange *exchange = &sub->exchange;
        const struct http_server *server = exchange->server;
        if (sub->tree) {
                sub->bytes = json_dumps(sub->tree, JSON_COMPACT);
                sub->bytes_length = sub->bytes ? strlen(sub->bytes) : 0;
                json_decref(TAKE_PTR(sub->tree));
                if (!sub->bytes) {
                        http_reply_error(&exchange->request, HTTP_OVERLOADED, NULL,
                                         "The service has no memory left for this request.");
                        return false;
                }
        }
        if (exchange->request.route->body_max == ROUTE_BODY_IMAGE) {
                http_reply_error(&exchange->request, HTTP_INVALID_REQUEST, NULL,
                                 "This path takes its body into a file, which goes over the network only.");
                return false;
        }
        if (!exchange_admit_body(exchange, sub->bytes_length > 0, sub->bytes_length))
                return false;
        if (sub->bytes_length > 0 && server->body_bytes + sub->bytes_length + 1 > server->body_bytes_max) {
                http_reply_error(&exchange->request, HTTP_OVERLOADED, NULL,
                                 "The service holds too many request bodies at the moment; try again.");
                return false;
        }
        if (!sub->bytes)
                return true;
        exchange->body = TAKE_PTR(sub->bytes);
        exchange_count_body(exchange, sub->bytes_length + 1);
        exchange->request.body = exchange->body;
        exchange->request.body_length = sub->bytes_length;
        return true;
}

static void hand_over(struct subrequest *sub) {
        struct http_exchange *exchange = &sub->exchange;
        sub->begun = true;
        if (!exchange_admit_route(exchange) || !admit_scope(&exchange->request) || !take_body(sub))
                return;
        exchange->handed = true;
        exchange->request.route->handle(exchange->server->api, &exchange->request);
}

static void on_turn(void *data) {
        struct subrequest *sub = data;
        sub->timer = NULL;
        if (!sub->begun)
                hand_over(sub);
        else
                deliver(sub);
}

/* ---- the outlet: what handlers reach through http.h */

static const char *inside_query(const struct http_exchange *exchange, const char *name) {
        const struct subrequest *sub = subrequest_of(exchange);
        for (size_t i = 0; i < sub->pair_count; i++)
                if (strcmp(sub->pairs[i].name, name) == 0)
                        return sub->pairs[i].value;
        return NULL;
}

static const char *inside_header(const struct http_exchange *exchange, const char *name) {
        return strcasecmp(name, "Content-Type") == 0 ? subrequest_of(exchange)->body_type : NULL;
}

static void inside_wake(struct http_exchange *exchange) {
        struct subrequest *sub = subrequest_of(exchange);
        if (!sub->timer)
                loop_add_timer(exchange->server->api->loop, 0, on_turn, sub, &sub->timer);
}

static void inside_reply(struct http_exchange *exchange, unsigned status, const char *content_type,
                         const struct reply_content *content) {
        struct subrequest *sub = subrequest_of(exchange);
        exchange->status = status;
        sub->reply = *content;
        sub->reply_type = content_type ? strdup(content_type) : NULL;
}

static void inside_begin(struct http_exchange *exchange, const char *content_type) {
        struct subrequest *sub = subrequest_of(exchange);
        (void)content_type;
        exchange->status = 200;
        sub->refuses_stream = sub->sink && !sub->sink->on_stream;
        if (sub->refuses_stream)
                inside_wake(exchange);
}

static size_t inside_pending(const struct http_exchange *exchange) {
        const struct subrequest *sub = subrequest_of(exchange);
        return sub->sink && sub->sink->pending ? sub->sink->pending(sub->data) : 0;
}

static const struct exchange_outlet inside = {
        .query = inside_query,
        .header = inside_header,
        .reply = inside_reply,
        .begin = inside_begin,
        .pending = inside_pending,
        .wake = inside_wake,
};

/* ---- life */

static int hex_value(char c) {
        return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static void decode(char *text) {
        char *to = text;
        for (const char *from = text; *from; from++) {
                if (from[0] == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
                        *to++ = (char)(hex_value(from[1]) * 16 + hex_value(from[2]));
                        from += 2;
                } else {
                        *to++ = *from == '+' ? ' ' : *from;
                }
        }
        *to = '\0';
}

static void split_query(struct subrequest *sub) {
        char *rest = sub->query, *pair;
        while ((pair = strsep(&rest, "&")) && sub->pair_count < QUERY_MAX) {
                char *value = pair;
                const char *name = strsep(&value, "=");
                if (!*name)
                        continue;
                decode(pair);
                if (value)
                        decode(value);
                sub->pairs[sub->pair_count].name = name;
                sub->pairs[sub->pair_count++].value = value ? value : "";
        }
}

static bool fill(struct subrequest *sub, const struct http_request *parent, const char *method, const char *target) {
        struct http_exchange *exchange = &sub->exchange;
        size_t path = strcspn(target, "?");
        exchange->outlet = &inside;
        exchange->target = strndup(target, path);
        exchange->params = malloc(path + 1);
        sub->query = strdup(target[path] ? target + path + 1 : "");
        if (!exchange->target || !exchange->params || !sub->query)
                return false;
        split_query(sub);
        exchange->request = (struct http_request){
                .method = method,
                .path = exchange->target,
                .body = "",
                .body_fd = -1,
                .client = exchange->client,
                .auth = parent->auth,
                .received_ns = clock_now_ns(),
        };
        snprintf(exchange->client, sizeof(exchange->client), "%s", parent->client);
        memcpy(exchange->request.id, parent->id, sizeof(parent->id));
        memcpy(exchange->request.trace, parent->trace, sizeof(parent->trace));
        return true;
}

/* Takes tree and bytes in any case. */
static int start(struct http_request *parent, const char *method, const char *target, struct subrequest *what,
                 const char *content_type, struct subrequest **ret) {
        struct subrequest *sub = malloc(sizeof(*sub));
        if (!sub) {
                json_decref(what->tree);
                free(what->bytes);
                return -ENOMEM;
        }
        *sub = *what;
        sub->exchange.server = exchange_of(parent)->server;
        sub->exchange.request.body_fd = -1;
        sub->reply = (struct reply_content){.kind = CONTENT_STATIC};
        bool has_type = content_type && (sub->tree || sub->bytes);
        sub->body_type = has_type ? strdup(content_type) : NULL;
        if ((has_type && !sub->body_type) || !fill(sub, parent, method, target) ||
            loop_add_timer(sub->exchange.server->api->loop, 0, on_turn, sub, &sub->timer) < 0) {
                subrequest_free(sub);
                return -ENOMEM;
        }
        *ret = sub;
        return 0;
}

int subrequest_start(struct http_request *parent, const char *method, const char *target, json_t *body,
                     const struct subrequest_sink *sink, void *data, struct subrequest **ret) {
        struct subrequest what = {.sink = sink, .data = data, .tree = body};
        return start(parent, method, target, &what, "application/json", ret);
}

int subrequest_start_bytes(struct http_request *parent, const char *method, const char *target, char *body,
                           size_t length, const char *content_type, const struct subrequest_sink *sink, void *data,
                           struct subrequest **ret) {
        struct subrequest what = {.sink = sink, .data = data, .bytes = body, .bytes_length = body ? length : 0};
        return start(parent, method, target, &what, content_type, ret);
}

/* What still has the request ends it, at once or later; it is freed in a turn of its own after that. */
void subrequest_cancel(struct subrequest *sub) {
        struct http_exchange *exchange = &sub->exchange;
        sub->sink = NULL;
        if (!sub->begun) {
                sub->begun = exchange->ended = true;
        } else {
                exchange_tell_gone(exchange);
                inside_wake(exchange); /* one that waits for room need not */
        }
}

void subrequest_drained(struct subrequest *sub) {
        if (!sub->exchange.ended)
                inside_wake(&sub->exchange);
}

const char *subrequest_reply_header(const struct subrequest *sub, const char *name) {
        for (size_t i = 0; i < sub->exchange.header_count; i++)
                if (strcasecmp(sub->exchange.headers[i].name, name) == 0)
                        return sub->exchange.headers[i].value;
        return NULL;
}

char *subrequest_escape(const char *text) {
        static const char digits[] = "0123456789ABCDEF";
        char *escaped = malloc(3 * strlen(text) + 1), *to = escaped;
        for (const unsigned char *c = (const unsigned char *)text; escaped && *c; c++) {
                if (isalnum(*c) || strchr("-._~", *c)) {
                        *to++ = (char)*c;
                } else {
                        *to++ = '%';
                        *to++ = digits[*c >> 4];
                        *to++ = digits[*c & 15];
                }
        }
        if (escaped)
                *to = '\0';
        return escaped;
}
