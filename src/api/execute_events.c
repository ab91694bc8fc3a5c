/* A run as server-sent events; see execute_events.h. */
#include "api/execute_events.h"

#include <stdlib.h>
#include <string.h>

#include "api/http.h"
#include "base/cleanup.h"
#include "run/text.h"

#define PENDING_PAUSE (1 << 20)
#define PENDING_RESUME (256 << 10)

static void write_start(struct http_request *request, const char *run_id, const char *sandbox_id) {
        struct json_out out;
        json_out_init(&out, 0);
        json_out_text(&out, "event: start\ndata: ");
        json_out_open(&out, '{');
        json_out_member_string(&out, "run_id", run_id);
        json_out_member_string(&out, "sandbox_id", sandbox_id);
        json_out_close(&out, '}');
        json_out_text(&out, "\n\n");
        if (!out.failed)
                http_stream_write(request, out.bytes, out.used);
        json_out_deinit(&out);
}

/* The head of the reply, and the first event. It waits for the first news: until then an error can have its status. */
static void begin(struct execute_events *events, const struct run *run) {
        if (events->begun)
                return;
        events->begun = true;
        event_stream_begin(&events->stream, events->loop, events->request);
        write_start(events->request, run->id, run->sandbox_id);
}

static void compose(struct json_out *out, const char *event, const char *json, size_t length) {
        json_out_init(out, length + 64);
        json_out_text(out, "event: ");
        json_out_text(out, event);
        json_out_text(out, "\ndata: ");
        json_out_raw(out, json, length);
        json_out_text(out, "\n\n");
}

static void on_drained(struct http_request *request, void *data) {
        struct execute_events *events = data;
        (void)request;
        events->paused = false;
        if (events->run)
                run_pause_output(events->run, false);
}

/* What cannot be taken is left out: nothing of it is lost, as the last event has all that is kept. */
static void send(struct execute_events *events, struct run *run, const struct json_out *out) {
        if (!out->failed)
                http_stream_write(events->request, out->bytes, out->used);
        if (events->paused || events->gone || http_stream_pending(events->request) <= PENDING_PAUSE)
                return;
        events->paused = true;
        events->run = run;
        run_pause_output(run, true);
        http_on_drain(events->request, PENDING_RESUME, on_drained, events);
}

void execute_events_init(struct execute_events *events, struct loop *loop, struct http_request *request) {
        *events = (struct execute_events){.loop = loop, .request = request};
}

void execute_events_deinit(struct execute_events *events) {
        event_stream_quiet(&events->stream);
        json_out_deinit(&events->last);
}

void execute_events_start(struct execute_events *events, struct run *run) {
        begin(events, run);
}

static void write_text(struct execute_events *events, struct run *run, enum run_stream stream, const char *bytes,
                       size_t length) {
        struct json_out out;
        json_out_init(&out, length + 64);
        json_out_text(&out, stream == RUN_STDOUT ? "event: stdout\ndata: " : "event: stderr\ndata: ");
        json_out_open(&out, '{');
        json_out_key(&out, "text");
        json_out_bytes(&out, bytes, length);
        json_out_close(&out, '}');
        json_out_text(&out, "\n\n");
        send(events, run, &out);
        json_out_deinit(&out);
}

/* Sends all but the beginning of a character at the end, which is held back until the rest of it comes. */
static void send_text(struct execute_events *events, struct run *run, enum run_stream stream, const char *bytes,
                      size_t length) {
        size_t rest = text_cut_off(bytes, length);
        if (length > rest)
                write_text(events, run, stream, bytes, length - rest);
        memcpy(events->cut_off[stream].bytes, bytes + length - rest, rest);
        events->cut_off[stream].length = rest;
}

void execute_events_output(struct execute_events *events, struct run *run, enum run_stream stream, const char *bytes,
                           size_t length) {
        size_t held = events->cut_off[stream].length;
        begin(events, run);
        if (held == 0) {
                send_text(events, run, stream, bytes, length);
                return;
        }
        CLEANUP_FREE char *joined = malloc(held + length);
        if (!joined)
                return;
        memcpy(joined, events->cut_off[stream].bytes, held);
        memcpy(joined + held, bytes, length);
        send_text(events, run, stream, joined, held + length);
}

void execute_events_item(struct execute_events *events, struct run *run, const char *event,
                         const struct rendered *item) {
        struct json_out out;
        begin(events, run);
        compose(&out, event, item->json, item->length);
        send(events, run, &out);
        json_out_deinit(&out);
}

static void send_cut_off(struct execute_events *events, struct run *run) {
        for (int i = 0; i < RUN_STREAMS; i++)
                if (events->cut_off[i].length > 0)
                        write_text(events, run, (enum run_stream)i, events->cut_off[i].bytes,
                                   events->cut_off[i].length);
}

static void finish(struct execute_events *events) {
        event_stream_quiet(&events->stream);
        http_stream_end(events->request);
        events->ended(events->ended_data);
}

static void on_room_for_last(struct http_request *request, void *data) {
        struct execute_events *events = data;
        http_stream_write(request, events->last.bytes, events->last.used);
        finish(events);
}

void execute_events_finish(struct execute_events *events, struct run *run, const char *event, struct json_out *data,
                           void (*ended)(void *data), void *ended_data) {
        begin(events, run);
        events->paused = true; /* nobody is to be paused any more */
        send_cut_off(events, run);
        events->run = NULL;
        events->ended = ended;
        events->ended_data = ended_data;
        compose(&events->last, event, data->bytes, data->used);
        json_out_deinit(data);

        size_t pending = http_stream_pending(events->request);
        bool has_room = events->last.used <= HTTP_STREAM_PENDING_MAX - pending || pending == 0;
        if (events->gone || events->last.failed || has_room) {
                if (!events->last.failed)
                        http_stream_write(events->request, events->last.bytes, events->last.used);
                finish(events);
                return;
        }
        http_on_drain(events->request, 0, on_room_for_last, events);
}

/* The stream is not read any more, so it never has room. */
void execute_events_gone(struct execute_events *events) {
        events->gone = true;
        if (events->paused && events->run)
                run_pause_output(events->run, false);
        if (events->ended)
                finish(events); /* there was no room for the last one */
}

void execute_events_repeat(struct http_request *request, const char *run_id, const char *sandbox_id, const char *reply,
                           size_t length) {
        struct json_out out;
        event_stream_head(request);
        write_start(request, run_id, sandbox_id);
        compose(&out, "done", reply, length);
        if (!out.failed)
                http_stream_write(request, out.bytes, out.used);
        json_out_deinit(&out);
        http_stream_end(request);
}

void execute_events_finish_error(struct execute_events *events, struct run *run, const char *message,
                                 void (*ended)(void *data), void *ended_data) {
        struct json_out out;
        json_out_init(&out, 0);
        json_out_open(&out, '{');
        json_out_key(&out, "error");
        json_out_open(&out, '{');
        json_out_member_string(&out, "type", "internal");
        json_out_member_string(&out, "message", message);
        json_out_close(&out, '}');
        json_out_close(&out, '}');
        execute_events_finish(events, run, "error", &out, ended, ended_data);
}
