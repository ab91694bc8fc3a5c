/* The guard of request heads: what is taken, what is refused, and that it does not matter how the bytes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/http_guard.h"
#include "base/cleanup.h"

#define LINE "GET /a?b=c HTTP/1.1\r\n"
#define HOST "Host: x\r\n"
#define END "\r\n"

static enum guard_verdict feed(struct guard *guard, const char *text, size_t length) {
        CLEANUP_FREE char *copy = malloc(length + 1);
        assert_non_null(copy);
        memcpy(copy, text, length);
        *guard = (struct guard){.start = 0};
        return guard_feed(guard, copy, length);
}

static enum guard_verdict verdict_of(const char *text) {
        struct guard guard;
        return feed(&guard, text, strlen(text));
}

static void takes_plain_heads(void **state) {
        static const char *const heads[] = {
                LINE HOST END,
                END LINE HOST END,
                END END END LINE HOST END,
                "POST / HTTP/1.0\r\n" END,
                LINE "host:x:8080\r\n" END,
                LINE "Host: [2001:db8::1]:80\r\n" END,
                LINE "Host:\r\n" END,
                LINE HOST "A: \r\nB:\r\nC: a\tb c\r\nD: \xc3\xa4\xff\r\n!#$%&'*+-.^_`|~09Az: 1\r\n" END,
                LINE HOST "Content-Length: 0\r\n" END,
                LINE HOST "Content-Length: \t 00012 \r\n" END,
                LINE HOST "transfer-encoding: ChUnKeD\r\n" END,
                LINE HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n" END,
                "M-SEARCH /%41%7e/..;a=b HTTP/1.1\r\n" HOST END,
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
                if (verdict_of(heads[i]) != GUARD_COMPLETE)
                        fail_msg("refused: %s", heads[i]);
}

static void lets_no_space_follow_a_value(void **state) {
        char head[] = LINE HOST "A: b \t\r\nB:c\r\nC:d e  \r\nD: \t\r\n" END;
        static const char passed_on[] = LINE HOST "A:   b\r\nB:c\r\nC:  d e\r\nD:  \r\n" END;
        struct guard guard = {.start = 0};
        (void)state;
        assert_int_equal(guard_feed(&guard, head, strlen(head)), GUARD_COMPLETE);
        assert_string_equal(head, passed_on);
}

static void refuses_at_the_line_that_is_wrong(void **state) {
        /* Without the end of the head: a verdict must not wait for it. */
        static const char *const heads[] = {
                "GET\r\n",
                "GET /\r\n",
                "GET  / HTTP/1.1\r\n",
                "GET / HTTP/1.1 \r\n",
                "GET / HTTP/1.2\r\n",
                "GET /a b HTTP/1.1\r\n",
                "G\x01T / HTTP/1.1\r\n",
                "GET http://x/ HTTP/1.1\r\n",
                "GET * HTTP/1.1\r\n",
                "GET /% HTTP/1.1\r\n",
                "GET /%4 HTTP/1.1\r\n",
                "GET /%4g HTTP/1.1\r\n",
                "GET /%00 HTTP/1.1\r\n",
                "GET /\x7f HTTP/1.1\r\n",
                "GET /\x80 HTTP/1.1\r\n",
                "GET /\" HTTP/1.1\r\n",
                "ABCDEFGHIJKLMNOPQRSTU / HTTP/1.1\r\n",
                LINE " a: b\r\n",
                LINE "\ta: b\r\n",
                LINE "a : b\r\n",
                LINE "a\r\n",
                LINE ": b\r\n",
                LINE "a\x80: b\r\n",
                LINE "a: b\x01\r\n",
                LINE "a: b\x7f\r\n",
                LINE "a: b\n",
                LINE "a: b\rc\r\n",
                LINE "Host: a b\r\n",
                LINE "Host: a/b\r\n",
                LINE "Host: a@b\r\n",
                LINE HOST HOST,
                LINE "Content-Length: \r\n",
                LINE "Content-Length: -1\r\n",
                LINE "Content-Length: 1,1\r\n",
                LINE "Content-Length: 1 1\r\n",
                LINE "Content-Length: 1234567890123456\r\n",
                LINE "Content-Length: 1\r\ncontent-length: 1\r\n",
                LINE "Transfer-Encoding: identity\r\n",
                LINE "Transfer-Encoding: chunked, chunked\r\n",
                LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                LINE "Expect: x\r\n",
                LINE "Authorization: a\r\nAUTHORIZATION: b\r\n",
                "\n",
                "\r\n\n",
                "\x16\x03\x01",
                "\x80",
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
                struct guard guard;
                if (feed(&guard, heads[i], strlen(heads[i])) != GUARD_REFUSED)
                        fail_msg("taken: %s", heads[i]);
                assert_int_equal(guard.kind, HTTP_INVALID_REQUEST);
                assert_non_null(guard.reason);
        }
}

static void refuses_what_does_not_go_together(void **state) {
        (void)state;
        assert_int_equal(verdict_of(LINE END), GUARD_REFUSED);
        assert_int_equal(verdict_of(LINE HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" END),
                         GUARD_REFUSED);
        assert_int_equal(verdict_of("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" END), GUARD_REFUSED);
}

static void refuses_nul_anywhere(void **state) {
        char head[] = LINE HOST "Name: value\r\n" END;
        (void)state;
        for (size_t i = 0; i + 1 < sizeof(head); i++) {
                struct guard guard;
                char kept = head[i];
                head[i] = '\0';
                enum guard_verdict verdict = feed(&guard, head, sizeof(head) - 1);
                if (verdict == GUARD_COMPLETE || (verdict == GUARD_MORE && i + 2 < sizeof(head) - 1))
                        fail_msg("NUL at %zu: %d", i, verdict);
                head[i] = kept;
        }
}

static void says_where_things_are(void **state) {
        static const char head[] =
                END "POST /v1/x?y HTTP/1.1\r\n" HOST "Content-Length: 1234\r\nExpect: 100-continue\r\n" END "body";
        struct guard guard;
        (void)state;
        assert_int_equal(feed(&guard, head, sizeof(head) - 1), GUARD_COMPLETE);
        assert_int_equal(guard.start, 2);
        assert_int_equal(guard.target_length, 7);
        assert_memory_equal(head + guard.target, "/v1/x?y", 7);
        assert_int_equal(guard.content_length, 1234);
        assert_true(guard.expects_continue);
        assert_false(guard.chunked);
        assert_false(guard.http_1_0);
        assert_string_equal(head + guard.head_length, "body");
}

static void bounds_what_it_reads(void **state) {
        static char head[3 * GUARD_HEAD_MAX];
        struct guard guard;
        (void)state;

        memset(head, 'a', sizeof(head));
        assert_int_equal(feed(&guard, head, GUARD_HEAD_MAX - 1), GUARD_MORE);
        assert_int_equal(feed(&guard, head, GUARD_HEAD_MAX), GUARD_REFUSED);
        assert_int_equal(guard.kind, HTTP_HEADERS_TOO_LARGE);

        /* The last byte that fits, and one more. */
        size_t front = strlen(LINE HOST "A: ");
        memcpy(head, LINE HOST "A: ", front);
        memcpy(head + GUARD_HEAD_MAX - 4, "\r\n\r\n", 4);
        assert_int_equal(feed(&guard, head, sizeof(head)), GUARD_COMPLETE);
        assert_int_equal(guard.head_length, GUARD_HEAD_MAX);
        memcpy(head + GUARD_HEAD_MAX - 4, "a\r\n\r\n", 5);
        assert_int_equal(feed(&guard, head, sizeof(head)), GUARD_REFUSED);

        size_t used = (size_t)sprintf(head, LINE HOST);
        for (int i = 1; i < GUARD_HEADERS_MAX; i++)
                used += (size_t)sprintf(head + used, "h%d: a\r\n", i);
        assert_int_equal(feed(&guard, head, used), GUARD_MORE);
        used += (size_t)sprintf(head + used, "h: a\r\n");
        assert_int_equal(feed(&guard, head, used), GUARD_REFUSED);
        assert_int_equal(guard.kind, HTTP_HEADERS_TOO_LARGE);
}

static uint32_t random_state;

static uint32_t random_number(uint32_t below) {
        random_state = random_state * 1664525 + 1013904223;
        return (random_state >> 8) % below;
}

/* Parts that are nearly right, put together at random. */
static size_t make_head(char *head, size_t size) {
        static const char *const parts[] = {
                LINE,
                HOST,
                END,
                "\n",
                "\r",
                " ",
                "\t",
                "a: b\r\n",
                "Content-Length: 5\r\n",
                "Content-Length: 6\r\n",
                "Transfer-Encoding: chunked\r\n",
                "POST / HTTP/1.0\r\n",
                ":",
                "\x01",
                "%00",
                "x",
        };
        size_t used = 0;
        for (uint32_t count = random_number(8); count--;) {
                const char *part = parts[random_number(random_number(3) ? 3 : ARRAY_SIZE(parts))];
                size_t length = strlen(part);
                if (used + length <= size) {
                        memcpy(head + used, part, length);
                        used += length;
                }
        }
        if (used && random_number(4) == 0)
                head[random_number((uint32_t)used)] = (char)random_number(256);
        return used;
}

/*
 * A head that arrives in pieces gets the verdict of the same head in one piece. That the whole is refused earlier, for
 * an end that the pieces have not reached, cannot be: lines are judged as they end.
 */
static void does_not_depend_on_how_bytes_arrive(void **state) {
        unsigned complete = 0, refused = 0;
        (void)state;
        random_state = 1;
        for (int round = 0; round < 200000; round++) {
                char head[512];
                size_t length = make_head(head, sizeof(head)), fed = 0;
                struct guard whole, pieces = {.start = 0};
                enum guard_verdict verdict = GUARD_MORE;
                enum guard_verdict wanted = feed(&whole, head, length);
                while (verdict == GUARD_MORE && fed < length) {
                        fed += 1 + random_number(5);
                        if (fed > length)
                                fed = length;
                        verdict = guard_feed(&pieces, head, fed);
                }
                assert_int_equal(verdict, wanted);
                if (wanted == GUARD_COMPLETE) {
                        assert_int_equal(whole.head_length, pieces.head_length);
                        assert_int_equal(whole.content_length, pieces.content_length);
                        assert_int_equal(whole.target, pieces.target);
                }
                complete += wanted == GUARD_COMPLETE;
                refused += wanted == GUARD_REFUSED;
        }
        assert_true(complete > 1000 && refused > 1000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_plain_heads),
                cmocka_unit_test(lets_no_space_follow_a_value),
                cmocka_unit_test(refuses_at_the_line_that_is_wrong),
                cmocka_unit_test(refuses_what_does_not_go_together),
                cmocka_unit_test(refuses_nul_anywhere),
                cmocka_unit_test(says_where_things_are),
                cmocka_unit_test(bounds_what_it_reads),
                cmocka_unit_test(does_not_depend_on_how_bytes_arrive),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
