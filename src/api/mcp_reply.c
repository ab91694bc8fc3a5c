/*
 * Replies of the MCP server; see mcp_private.h.
 *
 * Runs in the api process. A reply that is quick is JSON. One that lasts is a stream of server-sent events, so that it
 * can carry news and is not taken for dead; the events of a session's stream are kept for a while, for a client that
 * comes back with the id of the last one it has seen.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/mcp_private.h"
#include "base/cleanup.h"
#include "base/loop.h"

#define PATIENCE_NS (2 * NS_PER_S) /* until a reply becomes a stream */
#define KEEP_ALIVE_NS (15 * NS_PER_S)
#define UNREAD_MAX (size_t)(256 << 10) /* by a client; then news are left out */

struct mcp_event {
        struct mcp_event *next;
        uint64_t number;
        size_t length;
        char text[];
};

/* ---- headers, answers without a reply */

static bool lists_type(const char *accept, const char *type) {
        size_t length = strlen(type);
        while (accept && *accept) {
                accept += strspn(accept, " \t,");
                size_t item = strcspn(accept, ",");
                size_t name = strcspn(accept, ",; \t");
                if ((name == length && strncasecmp(accept, type, length) == 0) ||
                    (name == 3 && strncmp(accept, "*/*", 3) == 0))
                        return true;
                accept += item;
        }
        return false;
}

bool mcp_accepts(const struct http_request *request, bool *json, bool *stream) {
        const char *accept = http_header(request, "Accept");
        *json = !accept || lists_type(accept, "application/json") || lists_type(accept, "application/*");
        *stream = accept && lists_type(accept, "text/event-stream");
        return *json || *stream;
}

void mcp_answer_error(struct http_request *request, unsigned status, json_t *id, struct mcp_error *e) {
        http_reply_json(request, status, mcp_error_response(id, e));
}

/* ---- life */

static void drop_event(struct mcp_reply *reply) {
        struct mcp_event *event = reply->first;
        reply->first = event->next;
        if (!reply->first)
                reply->last = NULL;
        reply->bytes -= event->length;
        free(event);
}

static void leave_kept(struct mcp_reply *reply) {
        struct mcp *mcp = reply->mcp;
        struct mcp_reply **at = &mcp->kept_first, *before = NULL;
        while (*at && *at != reply) {
                before = *at;
                at = &before->kept_next;
        }
        if (!*at)
                return;
        *at = reply->kept_next;
        if (mcp->kept_last == reply)
                mcp->kept_last = before;
        mcp->kept_bytes -= reply->bytes;
}

static void leave_session(struct mcp_reply *reply) {
        struct mcp_reply **at = &reply->session->replies;
        while (*at != reply)
                at = &(*at)->next;
        *at = reply->next;
        if (!reply->ended)
                reply->session->running--;
}

void mcp_reply_free(struct mcp_reply *reply) {
        leave_kept(reply);
        if (reply->session)
                leave_session(reply);
        loop_remove(reply->mcp->api->loop, &reply->timer);
        while (reply->first)
                drop_event(reply);
        json_decref(reply->id);
        free(reply);
}

/* With a session, a connection that is lost says nothing: the client may come back. Without, it is how work is ended.
 */
static void on_gone(struct http_request *request, void *data) {
        struct mcp_reply *reply = data;
        reply->request = NULL;
        http_drop(request);
        if (reply->session)
                return;
        if (reply->cancel)
                reply->cancel(reply->work);
        mcp_reply_free(reply);
}

struct mcp_reply *mcp_reply_new(struct mcp *mcp, struct mcp_session *session, struct http_request *request,
                                enum mcp_revision revision, const struct mcp_scope *scope, json_t *id) {
        struct mcp_reply *reply = calloc(1, sizeof(*reply));
        if (!reply) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                return NULL;
        }
        *reply = (struct mcp_reply){
                .mcp = mcp, .session = session, .request = request, .revision = revision, .scope = *scope};
        reply->id = json_incref(id);
        mcp_accepts(request, &reply->takes_json, &reply->takes_stream);
        http_on_disconnect(request, on_gone, reply);
        if (session) {
                reply->number = ++session->streams;
                reply->next = session->replies;
                session->replies = reply;
                session->running++;
        }
        return reply;
}

/* ---- events */

static void send(struct mcp_reply *reply, const char *text, size_t length) {
        if (reply->request)
                http_stream_write(reply->request, text, length);
}

/* A malloc()ed event, or NULL. */
static struct mcp_event *event_new(const struct mcp_reply *reply, const char *data) {
        static const char named[] = "id: %" PRIu64 "_%" PRIu64 "\nevent: message\ndata: %s\n\n";
        size_t size = strlen(data) + 96;
        struct mcp_event *event = malloc(sizeof(*event) + size);
        if (!event)
                return NULL;
        event->next = NULL;
        event->number = reply->events;
        int length = reply->session ? snprintf(event->text, size, named, reply->number, reply->events, data)
                                    : snprintf(event->text, size, "event: message\ndata: %s\n\n", data);
        event->length = (size_t)length;
        return event;
}

static void keep_event(struct mcp_reply *reply, struct mcp_event *event) {
        while (reply->first && !reply->ended && reply->bytes + event->length > MCP_RUNNING_BYTES_MAX)
                drop_event(reply);
        if (reply->last)
                reply->last->next = event;
        else
                reply->first = event;
        reply->last = event;
        reply->bytes += event->length;
}

/* `data` has no line break. */
static void add_event(struct mcp_reply *reply, const char *data) {
        reply->events++;
        struct mcp_event *event = event_new(reply, data);
        if (!event)
                return;
        send(reply, event->text, event->length);
        if (reply->session)
                keep_event(reply, event);
        else
                free(event);
}

static void on_timer(void *data);

static void set_timer(struct mcp_reply *reply, uint64_t delay_ns) {
        loop_remove(reply->mcp->api->loop, &reply->timer);
        loop_add_timer(reply->mcp->api->loop, delay_ns, on_timer, reply, &reply->timer);
}

/* The first event has no message: it tells the client an id to come back with, should nothing else arrive. */
static void begin(struct mcp_reply *reply) {
        char text[96];
        if (reply->begun)
                return;
        reply->begun = true;
        if (!reply->request)
                return;
        http_reply_header(reply->request, "X-Accel-Buffering", "no");
        http_stream_begin(reply->request, "text/event-stream");
        set_timer(reply, KEEP_ALIVE_NS);
        if (!reply->session || reply->revision < MCP_2025_11_25)
                return;
        int length = snprintf(text, sizeof(text), "id: %" PRIu64 "_0\nretry: 1000\ndata: \n\n", reply->number);
        send(reply, text, (size_t)length);
}

static void on_timer(void *data) {
        static const char comment[] = ": keep-alive\n\n";
        struct mcp_reply *reply = data;
        reply->timer = NULL;
        if (!reply->begun)
                begin(reply);
        else if (reply->request && http_stream_pending(reply->request) == 0)
                send(reply, comment, sizeof(comment) - 1);
        if (reply->request)
                set_timer(reply, KEEP_ALIVE_NS);
}

void mcp_reply_later(struct mcp_reply *reply, bool begin_now, void (*cancel)(void *data), void *work) {
        reply->cancel = cancel;
        reply->work = work;
        if (!reply->takes_stream)
                return;
        if (begin_now || !reply->takes_json)
                begin(reply);
        else
                set_timer(reply, PATIENCE_NS);
}

void mcp_reply_notify(struct mcp_reply *reply, const char *method, json_t *params) {
        bool unread = reply->request && http_stream_pending(reply->request) > UNREAD_MAX;
        json_t *message = json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
        CLEANUP_FREE char *data = message ? json_dumps(message, JSON_COMPACT) : NULL;
        json_decref(message);
        if (data && reply->begun && !unread)
                add_event(reply, data);
}

/* ---- the end */

static void keep(struct mcp_reply *reply) {
        struct mcp *mcp = reply->mcp;
        reply->session->running--;
        reply->session->used_ns = clock_now_ns();
        reply->ended_ns = reply->session->used_ns;
        if (mcp->kept_last)
                mcp->kept_last->kept_next = reply;
        else
                mcp->kept_first = reply;
        mcp->kept_last = reply;
        mcp->kept_bytes += reply->bytes;
        mcp_reply_sweep(mcp);
}

void mcp_reply_sweep(struct mcp *mcp) {
        uint64_t now = clock_now_ns();
        while (mcp->kept_first &&
               (mcp->kept_bytes > MCP_KEPT_BYTES_MAX || now - mcp->kept_first->ended_ns > MCP_KEPT_NS))
                mcp_reply_free(mcp->kept_first);
}

/* Takes `message`, which is on one line; NULL is a want of memory. */
static void end(struct mcp_reply *reply, unsigned status, char *message) {
        struct http_request *request = reply->request;
        loop_remove(reply->mcp->api->loop, &reply->timer);
        if (!reply->begun && reply->takes_json) {
                reply->request = NULL;
                if (request)
                        http_reply_take(request, status, "application/json", message, message ? strlen(message) : 0);
                else
                        free(message);
                mcp_reply_free(reply);
                return;
        }
        begin(reply);
        loop_remove(reply->mcp->api->loop, &reply->timer);
        reply->ended = reply->session != NULL;
        if (message)
                add_event(reply, message);
        free(message);
        reply->request = NULL;
        if (request)
                http_stream_end(request);
        if (reply->ended)
                keep(reply);
        else
                mcp_reply_free(reply);
}

/* What revisions without a handshake want to see in each result, in front of what it has itself. */
#define MODERN_MEMBERS                                                                                                 \
        "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"code-sandbox\","    \
        "\"version\":\"" PRODUCT_VERSION "\"}}"

void mcp_reply_text(struct mcp_reply *reply, char *result) {
        CLEANUP_FREE char *id = json_dumps(reply->id, JSON_ENCODE_ANY);
        const char *more = mcp_has_handshake(reply->revision) ? "" : MODERN_MEMBERS;
        char *message;
        if (!result || !id) {
                free(result);
                mcp_reply_result(reply, NULL);
                return;
        }
        int length = asprintf(&message, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s%s%s}", id, more,
                              *more && result[1] != '}' ? "," : "", result + 1);
        free(result);
        end(reply, 200, length < 0 ? NULL : message);
}

void mcp_reply_result(struct mcp_reply *reply, json_t *result) {
        struct mcp_error e = {.code = 0};
        char *text = result ? json_dumps(result, JSON_COMPACT) : NULL;
        json_decref(result);
        if (text) {
                mcp_reply_text(reply, text);
                return;
        }
        mcp_error_set(&e, MCP_INTERNAL_ERROR, "The service has no memory left for this answer.");
        mcp_reply_error(reply, &e);
}

void mcp_reply_cacheable(struct mcp_reply *reply, json_t *result) {
        if (result && !mcp_has_handshake(reply->revision)) {
                json_object_set_new(result, "ttlMs", json_integer(0));
                json_object_set_new(result, "cacheScope", json_string("private"));
        }
        mcp_reply_result(reply, result);
}

void mcp_reply_error(struct mcp_reply *reply, struct mcp_error *e) {
        unsigned status = mcp_has_handshake(reply->revision) ? 200 : mcp_error_status(e->code);
        json_t *message = mcp_error_response(reply->id, e);
        char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
        json_decref(message);
        end(reply, status, text);
}

void mcp_reply_cancel(struct mcp_reply *reply) {
        struct http_request *request;
        if (reply->cancel && !reply->ended)
                reply->cancel(reply->work);
        if (reply->takes_stream && !reply->ended)
                begin(reply);
        request = TAKE_PTR(reply->request);
        if (request && reply->begun)
                http_stream_end(request);
        else if (request)
                http_reply_empty(request, 204);
        mcp_reply_free(reply);
}

/* ---- coming back */

static struct mcp_reply *find_stream(struct mcp_session *session, const char *id, uint64_t *ret_seen) {
        char *rest;
        errno = 0;
        uint64_t number = strtoull(id, &rest, 10);
        if (rest == id || *rest != '_' || rest[1] < '0' || rest[1] > '9')
                return NULL;
        *ret_seen = strtoull(rest + 1, &rest, 10);
        if (*rest || errno)
                return NULL;
        for (struct mcp_reply *reply = session->replies; reply; reply = reply->next)
                if (reply->number == number && reply->begun)
                        return reply;
        return NULL;
}

bool mcp_reply_resume(struct mcp_session *session, struct http_request *request, const char *last_event_id) {
        uint64_t seen;
        struct mcp_reply *reply = find_stream(session, last_event_id, &seen);
        if (!reply)
                return false;
        if (reply->request) /* the old connection may be half open; the new one counts */
                http_stream_end(reply->request);
        reply->request = request;
        http_on_disconnect(request, on_gone, reply);
        http_reply_header(request, "X-Accel-Buffering", "no");
        http_stream_begin(request, "text/event-stream");
        for (const struct mcp_event *event = reply->first; event; event = event->next)
                if (event->number > seen)
                        send(reply, event->text, event->length);
        if (reply->ended) {
                reply->request = NULL;
                http_stream_end(request);
        } else {
                set_timer(reply, KEEP_ALIVE_NS);
        }
        return true;
}
