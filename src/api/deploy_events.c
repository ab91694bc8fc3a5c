/* Answers to deployments; see deploy_events.h. */
#include "api/deploy_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define KEEP_ALIVE_NS (15 * NS_PER_S)

static void set_keep_alive(struct deploy_events *events);

static void on_keep_alive(void *data) {
        static const char comment[] = ": keep-alive\n\n";
        struct deploy_events *events = data;
        events->keep_alive = NULL;
        if (http_stream_pending(events->request) == 0)
                http_stream_write(events->request, comment, sizeof(comment) - 1);
        set_keep_alive(events);
}

static void set_keep_alive(struct deploy_events *events) {
        loop_add_timer(events->loop, KEEP_ALIVE_NS, on_keep_alive, events, &events->keep_alive);
}

void deploy_events_init(struct deploy_events *events, struct loop *loop, struct http_request *request, bool wanted) {
        *events = (struct deploy_events){.loop = loop, .request = request, .wanted = wanted};
}

void deploy_events_deinit(struct deploy_events *events) {
        loop_remove(events->loop, &events->keep_alive);
}

static void begin(struct deploy_events *events) {
        if (events->begun)
                return;
        events->begun = true;
        http_reply_header(events->request, "X-Accel-Buffering", "no");
        http_stream_begin(events->request, "text/event-stream");
        set_keep_alive(events);
}

/* Steals the reference. What the client does not take is left out: there are few of them, and small. */
static void send(struct deploy_events *events, const char *name, json_t *what) {
        CLEANUP_FREE char *text = json_dumps(what, JSON_COMPACT);
        CLEANUP_FREE char *event = NULL;
        json_decref(what);
        int length = text ? asprintf(&event, "event: %s\ndata: %s\n\n", name, text) : -1;
        if (length < 0)
                event = NULL;
        else
                http_stream_write(events->request, event, (size_t)length);
}

void deploy_events_progress(struct deploy_events *events, json_t *what) {
        if (!events->wanted) {
                json_decref(what);
                return;
        }
        begin(events);
        send(events, "progress", what);
}

static void end(struct deploy_events *events) {
        deploy_events_deinit(events);
        http_stream_end(events->request);
}

void deploy_events_done(struct deploy_events *events, unsigned status, json_t *agent) {
        if (!events->wanted) {
                http_reply_json(events->request, status, agent);
                return;
        }
        begin(events);
        send(events, "done", agent);
        end(events);
}

void deploy_events_error(struct deploy_events *events, enum http_error kind, const char *param, const char *message,
                         const char *traceback) {
        json_t *body = http_error_body(kind, param, message);
        if (traceback)
                json_object_set_new(json_object_get(body, "error"), "traceback", json_string(traceback));
        if (!events->begun) {
                http_reply_json(events->request, http_error_status(kind), body);
                return;
        }
        send(events, "error", body);
        end(events);
}
