/*
 * Frames of spawn/frames.h, read from a stream socket whose other end is hostile.
 *
 * Runs in the api process. A frame is handed over whole. Its type and length are checked before the first byte of
 * payload is taken, and memory grows with what has arrived, not with what was announced. The first bad frame ends the
 * reading for good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spawn/frames.h"

struct frame_rule {
        uint32_t type, length_min, length_max;
};

/* Payload of a frame that obeys its rule. Returns false if it is bad all the same. */
typedef bool (*frame_fn)(void *data, uint32_t type, const char *payload, uint32_t length);

struct frame_reader {
        const struct frame_rule *rules;
        size_t rule_count;
        frame_fn on_frame;
        void *data;
        union {
                struct frame frame;
                char bytes[sizeof(struct frame)];
        } header;
        size_t header_used;
        char *payload; /* may be taken by on_frame, if that was given it, by setting this to NULL */
        size_t payload_used, payload_size;
        bool bad;
};

enum frame_status {
        FRAMES_AGAIN, /* everything that had come was read */
        FRAMES_MORE,  /* the budget is used up, there may be more */
        FRAMES_END,   /* the other end has closed */
        FRAMES_BAD,   /* a bad frame, or the socket failed: do not read again */
};

/* `rules` is a table of the caller's that outlives the reader. */
void frame_reader_init(struct frame_reader *reader, const struct frame_rule *rules, size_t rule_count,
                       frame_fn on_frame, void *data);
void frame_reader_deinit(struct frame_reader *reader);

/*
 * Reads at most about `budget` bytes without waiting; FRAMES_TO_THE_END: whatever is there, as when the other end is
 * known to be gone and what the socket still holds is all that will come. `on_frame` must not free the reader.
 */
#define FRAMES_TO_THE_END SIZE_MAX
enum frame_status frame_reader_read(struct frame_reader *reader, int fd, size_t budget);

/* The parser alone: false from the first bad frame on. */
bool frame_reader_feed(struct frame_reader *reader, const char *bytes, size_t length);
