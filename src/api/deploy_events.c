/* Answers to deployments; see deploy_events.h. */
#include "api/deploy_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void deploy_events_init(struct deploy_events *events, struct loop *loop, struct http_request *request, bool wanted) {
        *events = (struct deploy_events){.loop = loop, .request = request, .wanted = wanted};
}

void deploy_events_deinit(struct deploy_events *events) {
        event_stream_quiet(&events->stream);
}

static void begin(struct deploy_events *events) {
        if (events->begun)
                return;
        events->begun = true;
        event_stream_begin(&events->stream, events->loop, events->request);
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
