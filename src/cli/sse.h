/*
 * Server-sent events: an incremental parser.
 *
 * Takes the bytes of a text/event-stream as they arrive, in pieces of any size, and calls for each whole event. Memory
 * is bounded: an event longer than the limit given ends the parsing. The bytes come from the service, or from whoever
 * answers at its address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SSE_NAME_MAX 64

/* `data` is `length` bytes and a NUL that is not counted. A result other than 0 ends the parsing and is passed on. */
typedef int (*sse_event_fn)(void *user, const char *name, const char *data, size_t length);

struct sse_parser {
        sse_event_fn call;
        void *user;
        size_t limit;
        char *line, *data;
        size_t line_length, line_size, data_length, data_size;
        char name[SSE_NAME_MAX + 1];
        bool any_data, after_cr, begun;
};

void sse_init(struct sse_parser *parser, size_t limit, sse_event_fn call, void *user);
void sse_deinit(struct sse_parser *parser);

/* 0; -EMSGSIZE if an event is longer than the limit; -ENOMEM; or what the callback returned. Not to be fed after that.
 */
int sse_feed(struct sse_parser *parser, const char *bytes, size_t length);
