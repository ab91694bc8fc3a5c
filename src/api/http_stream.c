/* Replies that are sent while they are written; see http.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/http_exchange.h"
#include "base/cleanup.h"

#define BLOCK_BYTES 32768

void stream_deinit(struct stream *stream) {
        free(stream->bytes);
        *stream = (struct stream){.bytes = NULL};
}

size_t http_stream_pending(const struct http_request *request) {
        const struct http_exchange *exchange = exchange_of(request);
        size_t kept = exchange->stream.end - exchange->stream.start;
        return kept + (exchange->outlet->pending ? exchange->outlet->pending(exchange) : 0);
}

void stream_tell_drained(struct http_exchange *exchange) {
        struct stream *stream = &exchange->stream;
        if (!stream->drain.call || http_stream_pending(&exchange->request) > stream->drain_below)
                return;
        struct notice notice = stream->drain;
        stream->drain.call = NULL;
        notice.call(&exchange->request, notice.data);
}

/* libmicrohttpd asks for more. What there is not yet is waited for in suspension. */
static ssize_t read_stream(void *data, uint64_t position, char *buffer, size_t size) {
        struct http_exchange *exchange = data;
        struct stream *stream = &exchange->stream;
        size_t count = stream->end - stream->start;
        (void)position;

        if (exchange->gone || exchange->dropped)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (count > size)
                count = size;
        if (count) {
                memcpy(buffer, stream->bytes + stream->start, count);
                stream->start += count;
                if (stream->start == stream->end)
                        stream->start = stream->end = 0;
                if (!exchange->ended)
                        stream_tell_drained(exchange);
                return (ssize_t)count;
        }
        if (exchange->ended)
                return MHD_CONTENT_READER_END_OF_STREAM;
        exchange_suspend(exchange);
        return 0;
}

void wire_begin(struct http_exchange *exchange, const char *content_type) {
        exchange_set_response(
                exchange, 200,
                MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, exchange, NULL),
                content_type);
        exchange_resume(exchange);
}

void http_stream_begin(struct http_request *request, const char *content_type) {
        struct http_exchange *exchange = exchange_of(request);
        assert(!exchange->ended && !exchange->status);
        exchange->streaming = true;
        exchange->outlet->begin(exchange, content_type);
}

static bool make_room(struct stream *stream, size_t length) {
        size_t pending = stream->end - stream->start;
        if (stream->size - stream->end >= length)
                return true;
        if (stream->start) {
                memmove(stream->bytes, stream->bytes + stream->start, pending);
                stream->start = 0;
                stream->end = pending;
        }
        if (stream->size - stream->end >= length)
                return true;
        size_t size = stream->size ? stream->size : BLOCK_BYTES;
        while (size - pending < length)
                size *= 2;
        char *bytes = realloc(stream->bytes, size);
        if (!bytes)
                return false;
        stream->bytes = bytes;
        stream->size = size;
        return true;
}

int http_stream_write(struct http_request *request, const void *bytes, size_t length) {
        struct http_exchange *exchange = exchange_of(request);
        struct stream *stream = &exchange->stream;
        assert(exchange->streaming && !exchange->ended);
        if (exchange->gone || exchange->dropped)
                return -EPIPE;
        if (length > HTTP_STREAM_PENDING_MAX - (stream->end - stream->start) || !make_room(stream, length))
                return -ENOBUFS;
        memcpy(stream->bytes + stream->end, bytes, length);
        stream->end += length;
        exchange->outlet->wake(exchange);
        return 0;
}

void http_on_drain(struct http_request *request, size_t below, http_notice_fn call, void *data) {
        struct stream *stream = &exchange_of(request)->stream;
        stream->drain_below = below;
        stream->drain = (struct notice){.call = call, .data = data};
}

void http_stream_end(struct http_request *request) {
        struct http_exchange *exchange = exchange_of(request);
        assert(exchange->streaming);
        exchange_end(exchange);
}
