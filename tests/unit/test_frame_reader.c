/* Frames from a hostile end: whole frames whatever the pieces, and nothing after the first bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/frame_reader.h"

#define TYPE_EMPTY 5
#define TYPE_TEXT 6
#define TEXT_MAX 200000

static const struct frame_rule rules[] = {{TYPE_EMPTY, 0, 0}, {TYPE_TEXT, 1, TEXT_MAX}};

struct seen {
        unsigned frames;
        size_t bytes;
        uint32_t types[16];
        unsigned char last;
        unsigned refuse_at;           /* the frame of this number is called bad */
        struct frame_reader *take_of; /* the memory of payloads is taken over, and freed */
        unsigned taken;
};

static bool on_frame(void *data, uint32_t type, const char *payload, uint32_t length) {
        struct seen *seen = data;
        if (seen->frames < 16)
                seen->types[seen->frames] = type;
        for (uint32_t i = 0; i < length; i++)
                assert_int_equal((unsigned char)payload[i], (unsigned char)(i * 7));
        seen->bytes += length;
        if (seen->take_of && seen->take_of->payload == payload) {
                free(seen->take_of->payload);
                seen->take_of->payload = NULL;
                seen->taken++;
        }
        return ++seen->frames != seen->refuse_at;
}

static size_t put(char *to, uint32_t type, uint32_t announced, uint32_t length) {
        struct frame frame = {.type = type, .length = announced};
        memcpy(to, &frame, sizeof(frame));
        for (uint32_t i = 0; i < length; i++)
                to[sizeof(frame) + i] = (char)(i * 7);
        return sizeof(frame) + length;
}

static void start(struct frame_reader *reader, struct seen *seen) {
        *seen = (struct seen){0};
        frame_reader_init(reader, rules, 2, on_frame, seen);
}

static void takes_frames_in_any_pieces(void **state) {
        static char bytes[3 * TEXT_MAX];
        size_t length = 0;
        (void)state;
        length += put(bytes + length, TYPE_EMPTY, 0, 0);
        length += put(bytes + length, TYPE_TEXT, 1, 1);
        length += put(bytes + length, TYPE_TEXT, TEXT_MAX, TEXT_MAX);
        length += put(bytes + length, TYPE_TEXT, 300, 300);
        length += put(bytes + length, TYPE_EMPTY, 0, 0);
        srand(9);
        for (int round = 0; round < 60; round++) {
                struct frame_reader reader;
                struct seen seen;
                size_t piece_max = round < 3 ? 1 + (size_t)round : 1 + (size_t)rand() % 100000;
                start(&reader, &seen);
                for (size_t at = 0; at < length;) {
                        size_t piece = 1 + (size_t)rand() % piece_max;
                        piece = piece < length - at ? piece : length - at;
                        assert_true(frame_reader_feed(&reader, bytes + at, piece));
                        at += piece;
                }
                assert_int_equal(seen.frames, 5);
                assert_int_equal(seen.bytes, 1 + TEXT_MAX + 300);
                assert_int_equal(seen.types[4], TYPE_EMPTY);
                frame_reader_deinit(&reader);
        }
}

static void a_bad_header_ends_it_before_any_payload(void **state) {
        static const struct {
                uint32_t type, length;
        } bad[] = {{0, 0},
                   {7, 0},
                   {0xffffffff, 0xffffffff},
                   {TYPE_EMPTY, 1},
                   {TYPE_TEXT, 0},
                   {TYPE_TEXT, TEXT_MAX + 1},
                   {TYPE_TEXT, 0xffffffff}};
        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct frame_reader reader;
                struct seen seen;
                char bytes[64];
                size_t length = put(bytes, TYPE_EMPTY, 0, 0);
                length += put(bytes + length, bad[i].type, bad[i].length, 0);
                length += put(bytes + length, TYPE_EMPTY, 0, 0);
                start(&reader, &seen);
                assert_false(frame_reader_feed(&reader, bytes, length));
                assert_false(frame_reader_feed(&reader, bytes, 8)); /* for good */
                assert_int_equal(seen.frames, 1);
                assert_int_equal(reader.payload_size, 0);
                frame_reader_deinit(&reader);
        }
}

static void a_refused_frame_is_the_last(void **state) {
        struct frame_reader reader;
        struct seen seen;
        char bytes[64];
        size_t length = 0;
        (void)state;
        for (int i = 0; i < 4; i++)
                length += put(bytes + length, TYPE_EMPTY, 0, 0);
        start(&reader, &seen);
        seen.refuse_at = 2;
        assert_false(frame_reader_feed(&reader, bytes, length));
        assert_int_equal(seen.frames, 2);
        frame_reader_deinit(&reader);
}

static void memory_follows_what_came_not_what_was_announced(void **state) {
        struct frame_reader reader;
        struct seen seen;
        char bytes[64];
        (void)state;
        size_t length = put(bytes, TYPE_TEXT, TEXT_MAX, 10);
        start(&reader, &seen);
        assert_true(frame_reader_feed(&reader, bytes, length));
        assert_true(reader.payload_size <= 4096);
        frame_reader_deinit(&reader);
}

/* Large ones, of which the middle is read straight to its place, among small ones. */
static void read_many(bool take, unsigned *ret_taken) {
        static const uint32_t lengths[] = {TEXT_MAX, 1, TEXT_MAX - 1, 131072 + 65536, 65536, 65537, 3, TEXT_MAX};
        const size_t count = sizeof(lengths) / sizeof(lengths[0]);
        static char bytes[8 * (TEXT_MAX + 16)];
        struct frame_reader reader;
        struct seen seen;
        size_t length = 0, sent = 0, expected = 0;
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        for (size_t i = 0; i < count; i++) {
                length += put(bytes + length, TYPE_TEXT, lengths[i], lengths[i]);
                expected += lengths[i];
        }
        start(&reader, &seen);
        seen.take_of = take ? &reader : NULL;
        while (sent < length) {
                ssize_t now = write(pair[1], bytes + sent, length - sent);
                assert_true(now > 0);
                sent += (size_t)now;
                assert_int_equal(frame_reader_read(&reader, pair[0], FRAMES_TO_THE_END), FRAMES_AGAIN);
        }
        assert_int_equal(seen.frames, count);
        assert_int_equal(seen.bytes, expected);
        *ret_taken = seen.taken;
        frame_reader_deinit(&reader);
        close(pair[0]);
        close(pair[1]);
}

static void large_payloads_come_whole_and_can_be_taken(void **state) {
        unsigned taken;
        (void)state;
        read_many(false, &taken);
        assert_int_equal(taken, 0);
        read_many(true, &taken);
        assert_true(taken >= 4);
}

static void reads_a_socket(void **state) {
        struct frame_reader reader;
        struct seen seen;
        static char bytes[150000];
        int pair[2];
        (void)state;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        start(&reader, &seen);
        assert_int_equal(frame_reader_read(&reader, pair[0], 1000), FRAMES_AGAIN);
        size_t length = put(bytes, TYPE_TEXT, 100000, 100000);
        assert_int_equal(write(pair[1], bytes, length), length);
        assert_int_equal(frame_reader_read(&reader, pair[0], 1000), FRAMES_MORE);
        assert_int_equal(seen.frames, 0);
        assert_int_equal(frame_reader_read(&reader, pair[0], 1000000), FRAMES_AGAIN);
        assert_int_equal(seen.frames, 1);

        length = put(bytes, TYPE_EMPTY, 0, 0);
        assert_int_equal(write(pair[1], bytes, length), length);
        close(pair[1]);
        assert_int_equal(frame_reader_read(&reader, pair[0], FRAMES_TO_THE_END), FRAMES_END);
        assert_int_equal(seen.frames, 2);
        close(pair[0]);
        frame_reader_deinit(&reader);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_frames_in_any_pieces),
                cmocka_unit_test(a_bad_header_ends_it_before_any_payload),
                cmocka_unit_test(a_refused_frame_is_the_last),
                cmocka_unit_test(memory_follows_what_came_not_what_was_announced),
                cmocka_unit_test(large_payloads_come_whole_and_can_be_taken),
                cmocka_unit_test(reads_a_socket),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
