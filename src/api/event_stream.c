/* Head and comments of event streams; see event_stream.h. */
#include "api/event_stream.h"

#include <string.h>

#include "api/http.h"

static void set_timer(struct event_stream *stream);

/* Who has something to read still needs no sign of life. */
static void on_pause(void *data) {
        struct event_stream *stream = data;
        stream->timer = NULL;
        if (http_stream_pending(stream->request) == 0)
                http_stream_write(stream->request, EVENT_STREAM_COMMENT, strlen(EVENT_STREAM_COMMENT));
        set_timer(stream);
}

static void set_timer(struct event_stream *stream) {
        loop_add_timer(stream->loop, EVENT_STREAM_PAUSE_NS, on_pause, stream, &stream->timer);
}

/* The header tells nginx, and those who learnt from it, to pass on what comes at once. */
void event_stream_head(struct http_request *request) {
        http_reply_header(request, "X-Accel-Buffering", "no");
        http_stream_begin(request, "text/event-stream");
}

void event_stream_begin(struct event_stream *stream, struct loop *loop, struct http_request *request) {
        *stream = (struct event_stream){.loop = loop, .request = request};
        event_stream_head(request);
        set_timer(stream);
}

void event_stream_quiet(struct event_stream *stream) {
        if (stream->timer)
                loop_remove(stream->loop, &stream->timer);
}
