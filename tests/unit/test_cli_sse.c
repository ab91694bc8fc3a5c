/*
 * The parser of server-sent events: every piece size, every line end, every field; and its bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/sse.h"

#define LIMIT 64

static FILE *seen;

/* Writes "name[data]" for each event. */
static int note(void *user, const char *name, const char *data, size_t length) {
        assert_int_equal(data[length], '\0');
        fprintf(seen, "%s[", name);
        fwrite(data, 1, length, seen);
        fputc(']', seen);
        return user ? *(int *)user : 0;
}

/* Feeds the text in pieces of one size; the events must be the same for every size. */
static void expect(const char *text, size_t length, const char *events) {
        for (size_t size = 1; size <= length; size++) {
                CLEANUP_FREE char *got = NULL;
                CLEANUP(sse_deinit) struct sse_parser parser;
                size_t got_length;
                seen = open_memstream(&got, &got_length);
                sse_init(&parser, LIMIT, note, NULL);
                for (size_t i = 0; i < length; i += size)
                        assert_int_equal(sse_feed(&parser, text + i, size < length - i ? size : length - i), 0);
                fclose(seen);
                assert_string_equal(got, events);
        }
}
#define EXPECT(text, events) expect(text, sizeof(text) - 1, events)

static void test_events(void **state) {
        (void)state;
        EXPECT("event: a\ndata: 1\n\nevent: b\ndata: 2\n\n", "a[1]b[2]");
        EXPECT("data: 1\n\n", "message[1]");
        EXPECT("data: 1\ndata: 2\n\n", "message[1\n2]");
        EXPECT("data\n\n", "message[]");
        EXPECT("data:\ndata:\n\n", "message[\n]");
        EXPECT("data:x\ndata:  y\n\n", "message[x\n y]"); /* one space only is taken away */
        EXPECT("data: a:b: c\n\n", "message[a:b: c]");
        EXPECT("event: late\n\ndata: 1\n\n", "message[1]"); /* the name goes with its event, even one without data */
        EXPECT("data: never ended\n", "");
        EXPECT("data: never ended", "");
        EXPECT(": comment\n\n:\n\nid: 7\nretry: 9\nother: x\nDATA: x\ndata : x\n\n", "");
        EXPECT("event: a\nevent: b\ndata: 1\n\n", "b[1]");
}

static void test_line_ends(void **state) {
        (void)state;
        EXPECT("data: 1\r\n\r\ndata: 2\r\rdata: 3\n\r\ndata: 4\n\n", "message[1]message[2]message[3]message[4]");
        EXPECT("data: 1\r\ndata: 2\r\n\r\n", "message[1\n2]");
}

static void test_odd_bytes(void **state) {
        (void)state;
        EXPECT("\xef\xbb\xbf"
               "data: 1\n\ndata: \xef\xbb\xbf"
               "2\n\n",
               "message[1]message[\xef\xbb\xbf"
               "2]");
        EXPECT("\xef\xbb"
               "data: 1\n\n",
               "");
        CLEANUP_FREE char *got = NULL;
        CLEANUP(sse_deinit) struct sse_parser parser;
        size_t length;
        seen = open_memstream(&got, &length);
        sse_init(&parser, LIMIT, note, NULL);
        assert_int_equal(sse_feed(&parser, "data: a\0b\n\n", 11), 0);
        fclose(seen);
        assert_int_equal(length, strlen("message[") + 3 + 1);
        assert_memory_equal(got, "message[a\0b]", length);
}

static void test_a_long_name_is_cut(void **state) {
        char text[512], expected[512];
        (void)state;
        int length = snprintf(text, sizeof(text), "event: %0*d\ndata: x\n\n", LIMIT - 7, 0);
        snprintf(expected, sizeof(expected), "%0*d[x]", LIMIT - 7 < SSE_NAME_MAX ? LIMIT - 7 : SSE_NAME_MAX, 0);
        expect(text, (size_t)length, expected);
        CLEANUP(sse_deinit) struct sse_parser parser;
        CLEANUP_FREE char *got = NULL;
        size_t got_length;
        seen = open_memstream(&got, &got_length);
        sse_init(&parser, 4096, note, NULL);
        length = snprintf(text, sizeof(text), "event: %0300d\ndata: x\n\n", 0);
        assert_int_equal(sse_feed(&parser, text, (size_t)length), 0);
        fclose(seen);
        assert_int_equal(got_length, SSE_NAME_MAX + strlen("[x]"));
}

static int feed_once(size_t limit, const char *text, size_t times) {
        CLEANUP(sse_deinit) struct sse_parser parser;
        int r = 0;
        sse_init(&parser, limit, note, NULL);
        for (size_t i = 0; r == 0 && i < times; i++)
                r = sse_feed(&parser, text, strlen(text));
        return r;
}

static void test_bounds(void **state) {
        (void)state;
        seen = fopen("/dev/null", "w");
        assert_int_equal(feed_once(LIMIT, "data: x", 1000), -EMSGSIZE);   /* a line without end */
        assert_int_equal(feed_once(LIMIT, "data: x\n", 1000), -EMSGSIZE); /* lines without end */
        assert_int_equal(feed_once(LIMIT, "data:\n", 1000), -EMSGSIZE);
        assert_int_equal(feed_once(LIMIT, "\n", 1000), 0);
        assert_int_equal(feed_once(LIMIT, ": comment\n", 1000), 0);
        assert_int_equal(feed_once(LIMIT, "data: x\n\n", 1000), 0); /* each event anew */
        assert_int_equal(feed_once(8, "data: xx\n\n", 1), 0);
        assert_int_equal(feed_once(8, "data: xxx\n\n", 1), -EMSGSIZE);
        fclose(seen);
}

static void test_the_callback_can_stop(void **state) {
        int answer = 7;
        CLEANUP(sse_deinit) struct sse_parser parser;
        CLEANUP_FREE char *got = NULL;
        size_t length;
        (void)state;
        seen = open_memstream(&got, &length);
        sse_init(&parser, LIMIT, note, &answer);
        assert_int_equal(sse_feed(&parser, "data: 1\n\ndata: 2\n\n", 18), 7);
        fclose(seen);
        assert_string_equal(got, "message[1]");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_events),    cmocka_unit_test(test_line_ends),
                cmocka_unit_test(test_odd_bytes), cmocka_unit_test(test_a_long_name_is_cut),
                cmocka_unit_test(test_bounds),    cmocka_unit_test(test_the_callback_can_stop),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
