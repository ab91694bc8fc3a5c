/* News of conversations; see conversation_events.h. */
#include "api/conversation_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/auth.h"
#include "api/conversations.h"
#include "api/event_stream.h"
#include "api/http.h"
#include "api/paging.h"
#include "api/runs.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/conversations.h"

#define PENDING_MAX (size_t)(256 << 10) /* unread by a listener: hundreds of events */
#define MISSED_MAX 200                  /* runs that one who comes back is told of */
#define ADDRESS_BYTES 64

#define ALL "" /* in place of a conversation's name */

/* Of a request, whose memory is valid until it has had its terminal call. */
struct listener {
        struct conversation_events *events;
        struct http_request *request;
        int64_t project_id;
        char address[ADDRESS_BYTES];
        char conversation[STORE_CONVERSATION_MAX + 1]; /* or ALL of the project's */
        struct listener *next;
};

struct conversation_events {
        struct api *api;
        struct listener *listeners;
        struct loop_source *keep_alive; /* NULL while nobody listens */
        bool stopped;
};

int conversation_events_new(struct api *api, struct conversation_events **ret) {
        struct conversation_events *events = calloc(1, sizeof(*events));
        if (!events)
                return -ENOMEM;
        events->api = api;
        *ret = events;
        return 0;
}

void conversation_events_free(struct conversation_events *events) {
        if (!events)
                return;
        conversation_events_stop(events);
        loop_remove(events->api->loop, &events->keep_alive);
        free(events);
}

/* ---- listeners */

/* Takes it off the list; its request has still to be ended. */
static struct http_request *forget(struct listener *listener) {
        struct conversation_events *events = listener->events;
        struct http_request *request = listener->request;
        struct listener **at = &events->listeners;
        while (*at != listener)
                at = &(*at)->next;
        *at = listener->next;
        free(listener);
        if (!events->listeners)
                loop_remove(events->api->loop, &events->keep_alive);
        return request;
}

static void on_gone(struct http_request *request, void *data) {
        (void)request;
        http_drop(forget(data));
}

/* False: it is gone, or did not read what it was sent, and is no longer there. */
static bool send(struct listener *listener, const char *text) {
        if (http_stream_pending(listener->request) <= PENDING_MAX &&
            http_stream_write(listener->request, text, strlen(text)) == 0)
                return true;
        log_info("a listener to a conversation does not read; it is let go", "request", listener->request->id);
        http_drop(forget(listener));
        return false;
}

static bool listens(const struct listener *listener, int64_t project_id, const char *conversation) {
        return listener->project_id == project_id && strcmp(listener->conversation, conversation) == 0;
}

static void on_keep_alive(void *data) {
        struct conversation_events *events = data;
        events->keep_alive = NULL;
        for (struct listener *listener = events->listeners, *next; listener; listener = next) {
                next = listener->next;
                if (auth_still_admits(events->api->auth, &listener->request->auth))
                        send(listener, EVENT_STREAM_COMMENT);
                else /* its key was revoked, or it signed out */
                        http_stream_end(forget(listener));
        }
        if (events->listeners)
                loop_add_timer(events->api->loop, EVENT_STREAM_PAUSE_NS, on_keep_alive, events, &events->keep_alive);
}

/* ---- events */

/* malloc()ed, or NULL without memory. */
static char *print_run(const struct store_run *run) {
        json_t *tree = run_json(run);
        CLEANUP_FREE char *data = tree ? json_dumps(tree, JSON_COMPACT) : NULL;
        char *text = NULL;
        json_decref(tree);
        if (data && asprintf(&text, "id: %s\nevent: run\ndata: %s\n\n", run->id, data) < 0)
                return NULL;
        return text;
}

/* The conversation as it is now; malloc()ed, or NULL: it is gone, or there is no memory. */
static char *print_conversation(struct api *api, const struct store_run *run) {
        json_t *tree = conversation_describe(api, run->project_id, run->conversation);
        CLEANUP_FREE char *data = tree ? json_dumps(tree, JSON_COMPACT) : NULL;
        char *text = NULL;
        json_decref(tree);
        if (data && asprintf(&text, "event: conversation\ndata: %s\n\n", data) < 0)
                return NULL;
        return text;
}

void conversation_events_publish(struct conversation_events *events, const struct store_run *run) {
        CLEANUP_FREE char *of_run = NULL, *of_conversation = NULL;
        for (struct listener *listener = events->listeners, *next; listener; listener = next) {
                next = listener->next;
                if (listens(listener, run->project_id, run->conversation)) {
                        of_run = of_run ? of_run : print_run(run);
                        if (of_run)
                                send(listener, of_run);
                } else if (listens(listener, run->project_id, ALL)) {
                        of_conversation = of_conversation ? of_conversation : print_conversation(events->api, run);
                        if (of_conversation)
                                send(listener, of_conversation);
                }
        }
}

/* Names of conversations need no escape in JSON. */
static void tell_end(struct listener *listener, const char *conversation) {
        char text[STORE_CONVERSATION_MAX + 64];
        snprintf(text, sizeof(text), "event: end\ndata: {\"conversation_id\":\"%s\"}\n\n", conversation);
        send(listener, text);
}

static void end_stream(struct listener *listener) {
        if (send(listener, "event: end\ndata: {}\n\n"))
                http_stream_end(forget(listener));
}

void conversation_events_end(struct conversation_events *events, int64_t project_id, const char *conversation) {
        for (struct listener *listener = events->listeners, *next; listener; listener = next) {
                next = listener->next;
                if (listens(listener, project_id, conversation))
                        end_stream(listener);
                else if (listens(listener, project_id, ALL))
                        tell_end(listener, conversation);
        }
}

void conversation_events_stop(struct conversation_events *events) {
        events->stopped = true;
        while (events->listeners)
                http_stream_end(forget(events->listeners));
}

/* ---- a new listener */

static bool has_room(const struct conversation_events *events, struct http_request *request) {
        struct {
                const char *of;
                unsigned max, count;
        } bounds[] = {
                {"address", EVENT_LISTENERS_PER_ADDRESS, 0},
                {"project", EVENT_LISTENERS_PER_PROJECT, 0},
                {"service", EVENT_LISTENERS_MAX, 0},
        };
        for (const struct listener *listener = events->listeners; listener; listener = listener->next) {
                bounds[0].count += strcmp(listener->address, request->client) == 0;
                bounds[1].count += listener->project_id == request->auth.project_id;
                bounds[2].count++;
        }
        for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
                if (bounds[i].count < bounds[i].max)
                        continue;
                http_reply_error(request, HTTP_OVERLOADED, NULL,
                                 "%u streams of events are open, which is the most for one %s: close one that is no "
                                 "longer needed.",
                                 bounds[i].count, bounds[i].of);
                return false;
        }
        return true;
}

/* What was kept after the run that the client saw last. An id that is not there any more tells nothing: from now on. */
static void send_missed(struct listener *listener, const char *last_id) {
        size_t count = 0;
        CLEANUP_FREE struct store_run *runs = calloc(MISSED_MAX, sizeof(*runs));
        if (!runs || store_run_list(listener->events->api->store, listener->project_id, listener->conversation, last_id,
                                    runs, MISSED_MAX, &count) != 0)
                return;
        for (size_t i = 0; i < count; i++) {
                CLEANUP_FREE char *text = print_run(&runs[i]);
                if (!text || !send(listener, text))
                        return;
        }
}

static struct listener *listener_new(struct conversation_events *events, struct http_request *request,
                                     const char *conversation) {
        struct listener *listener = calloc(1, sizeof(*listener));
        if (!listener)
                return NULL;
        listener->events = events;
        listener->request = request;
        listener->project_id = request->auth.project_id;
        snprintf(listener->address, sizeof(listener->address), "%s", request->client);
        snprintf(listener->conversation, sizeof(listener->conversation), "%s", conversation);
        listener->next = events->listeners;
        events->listeners = listener;
        if (!events->keep_alive)
                loop_add_timer(events->api->loop, EVENT_STREAM_PAUSE_NS, on_keep_alive, events, &events->keep_alive);
        return listener;
}

/* NULL: it was refused and ANSWERED, or let go at once. */
static struct listener *listen_to(struct conversation_events *events, struct http_request *request,
                                  const char *conversation) {
        if (events->stopped) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service is stopping.");
                return NULL;
        }
        if (!has_room(events, request))
                return NULL;
        struct listener *listener = listener_new(events, request, conversation);
        if (!listener) {
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
                return NULL;
        }
        http_on_disconnect(request, on_gone, listener);
        event_stream_head(request);
        return send(listener, ": listening\n\n") ? listener : NULL;
}

void conversation_events_handle(struct api *api, struct http_request *request) {
        const char *last_id = http_header(request, "Last-Event-ID");
        if (!conversation_require(api, request, request->params[0]))
                return;
        struct listener *listener = listen_to(api->events, request, request->params[0]);
        if (listener && last_id && *last_id)
                send_missed(listener, last_id);
}

void conversation_events_handle_all(struct api *api, struct http_request *request) {
        listen_to(api->events, request, ALL);
}
