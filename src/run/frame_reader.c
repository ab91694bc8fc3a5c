/* Frames from a hostile end; see frame_reader.h. */
#include "run/frame_reader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define READ_BYTES (64 << 10)
#define PAYLOAD_SIZE_FIRST 4096

void frame_reader_init(struct frame_reader *reader, const struct frame_rule *rules, size_t rule_count,
                       frame_fn on_frame, void *data) {
        *reader = (struct frame_reader){
                .rules = rules,
                .rule_count = rule_count,
                .on_frame = on_frame,
                .data = data,
        };
}

void frame_reader_deinit(struct frame_reader *reader) {
        free(reader->payload);
        reader->payload = NULL;
        reader->payload_size = 0;
}

static bool header_is_good(const struct frame_reader *reader) {
        const struct frame *frame = &reader->header.frame;
        for (size_t i = 0; i < reader->rule_count; i++)
                if (reader->rules[i].type == frame->type)
                        return frame->length >= reader->rules[i].length_min &&
                               frame->length <= reader->rules[i].length_max;
        return false;
}

static bool make_room(struct frame_reader *reader, size_t more) {
        size_t wanted = reader->payload_used + more, size = reader->payload_size;
        assert(wanted <= reader->header.frame.length);
        if (wanted <= size)
                return true;
        size = size > 0 ? size : PAYLOAD_SIZE_FIRST;
        while (size < wanted)
                size *= 2;
        if (size > reader->header.frame.length)
                size = reader->header.frame.length;
        char *payload = realloc(reader->payload, size);
        if (!payload)
                return false;
        reader->payload = payload;
        reader->payload_size = size;
        return true;
}

/* Takes what belongs to the header; returns how many bytes that were. */
static size_t take_header(struct frame_reader *reader, const char *bytes, size_t length) {
        size_t missing = sizeof(reader->header) - reader->header_used;
        size_t taken = length < missing ? length : missing;
        memcpy(reader->header.bytes + reader->header_used, bytes, taken);
        reader->header_used += taken;
        return taken;
}

static void finish_frame(struct frame_reader *reader, const char *payload) {
        const struct frame frame = reader->header.frame;
        reader->header_used = reader->payload_used = 0;
        if (!reader->on_frame(reader->data, frame.type, payload, frame.length))
                reader->bad = true;
        if (!reader->payload)
                reader->payload_size = 0;
}

/* As take_header for the payload; what lies whole in `bytes` is handed over from there, without a copy. */
static size_t take_payload(struct frame_reader *reader, const char *bytes, size_t length) {
        const struct frame *frame = &reader->header.frame;
        size_t missing = frame->length - reader->payload_used;
        size_t taken = length < missing ? length : missing;
        const char *payload = bytes;

        if (reader->payload_used > 0 || taken < missing) {
                if (!make_room(reader, taken)) {
                        reader->bad = true;
                        return 0;
                }
                memcpy(reader->payload + reader->payload_used, bytes, taken);
                reader->payload_used += taken;
                payload = reader->payload;
        }
        if (taken == missing)
                finish_frame(reader, payload);
        return taken;
}

bool frame_reader_feed(struct frame_reader *reader, const char *bytes, size_t length) {
        size_t at = 0;
        while (!reader->bad) {
                bool whole = reader->header_used == sizeof(reader->header);
                /* A frame without payload is complete with its header. */
                if (at == length && !(whole && reader->header.frame.length == 0))
                        break;
                if (!whole) {
                        at += take_header(reader, bytes + at, length - at);
                        if (reader->header_used == sizeof(reader->header) && !header_is_good(reader))
                                reader->bad = true;
                } else
                        at += take_payload(reader, bytes + at, length - at);
        }
        return !reader->bad;
}

/* In the middle of a payload that is larger than what is read at once, bytes go straight to where they belong. */
static size_t room_in_payload(struct frame_reader *reader) {
        size_t missing = reader->header_used == sizeof(reader->header) && reader->payload_used > 0
                                 ? reader->header.frame.length - reader->payload_used
                                 : 0;
        size_t room = missing < READ_BYTES ? missing : READ_BYTES;
        return room == READ_BYTES && make_room(reader, room) ? room : 0;
}

static ssize_t receive(struct frame_reader *reader, int fd) {
        static char bytes[READ_BYTES]; /* one thread; nothing in it outlives a call of frame_reader_feed */
        size_t room = room_in_payload(reader);
        char *to = room > 0 ? reader->payload + reader->payload_used : bytes;
        ssize_t got = recv(fd, to, READ_BYTES, MSG_DONTWAIT);
        if (got <= 0)
                return got < 0 ? -errno : 0;
        if (room == 0)
                frame_reader_feed(reader, bytes, (size_t)got);
        else if ((reader->payload_used += (size_t)got) == reader->header.frame.length)
                finish_frame(reader, reader->payload);
        return got;
}

enum frame_status frame_reader_read(struct frame_reader *reader, int fd, size_t budget) {
        while (!reader->bad) {
                ssize_t got = receive(reader, fd);
                if (got == -EINTR)
                        continue;
                if (got < 0)
                        return got == -EAGAIN ? FRAMES_AGAIN : got == -ECONNRESET ? FRAMES_END : FRAMES_BAD;
                if (got == 0)
                        return FRAMES_END;
                if (budget == FRAMES_TO_THE_END || reader->bad)
                        continue;
                if ((size_t)got < READ_BYTES)
                        return FRAMES_AGAIN; /* very likely; if not, the loop says so at once */
                if (budget <= (size_t)got)
                        return FRAMES_MORE;
                budget -= (size_t)got;
        }
        return FRAMES_BAD;
}
