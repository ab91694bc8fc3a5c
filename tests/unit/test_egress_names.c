/* Parsers of the egress process: messages of the name system, names at the start of connections; and what a room looked
 * up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/dns.h"
#include "egress/names.h"
#include "egress/sniff.h"

/* ---- messages of the name system */

/* A message from its header's numbers and the rest; the second is written with \x escapes, so sizeof counts it. */
#define MESSAGE(id, flags, questions, answers, rest) message(id, flags, questions, answers, rest, sizeof(rest) - 1)

static uint8_t bytes[4096];

static size_t message(unsigned id, unsigned flags, unsigned questions, unsigned answers, const char *rest,
                      size_t length) {
        const unsigned numbers[] = {id, flags, questions, answers, 0, 0};
        for (size_t i = 0; i < 6; i++) {
                bytes[2 * i] = (uint8_t)(numbers[i] >> 8);
                bytes[2 * i + 1] = (uint8_t)numbers[i];
        }
        memcpy(bytes + 12, rest, length);
        return 12 + length;
}

#define QUESTION_A "\3WWW\4test\0\0\1\0\1"
#define QUESTION_AAAA "\3www\4test\0\0\x1c\0\1"
#define A_RECORD(owner, ttl, address) owner "\0\1\0\1\0\0\0" ttl "\0\4" address
#define CNAME_RECORD(owner, target) owner "\0\5\0\1\0\0\0\x3c\0" target

static struct dns_query query_of(const char *question, size_t length) {
        struct dns_query query;
        assert_int_equal(dns_read_query(bytes, message(7, 0x100, 1, 0, question, length), &query), DNS_OK);
        return query;
}

static void test_a_query(void **state) {
        struct dns_query query = query_of(QUESTION_A, sizeof(QUESTION_A) - 1);
        uint8_t out[DNS_QUERY_BYTES];
        (void)state;
        assert_string_equal(query.text, "www.test");
        assert_int_equal(query.type, DNS_TYPE_A);
        assert_true(query.recursion);
        const size_t length = dns_write_query(&query, 0xbeef, out);
        assert_int_equal(length, 12 + 14 + 11);
        assert_memory_equal(out, "\xbe\xef\1\0\0\1\0\0\0\0\0\1\3WWW\4test\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\0", length);
        const struct dns_answer none = {.code = DNS_NO_SUCH_NAME};
        uint8_t reply[DNS_REPLY_BYTES];
        assert_int_equal(dns_write_reply(&query, &none, reply), 26);
        assert_memory_equal(reply, "\0\7\x81\x83\0\1\0\0\0\0\0\0" QUESTION_A, 26);
}

/* Every prefix of a good query, in a block of its own size, so that a sanitizer sees a read past it. */
static void test_queries_that_break_off(void **state) {
        const size_t length = MESSAGE(7, 0x100, 1, 0, QUESTION_A);
        struct dns_query query;
        (void)state;
        for (size_t part = 0; part < length; part++) {
                uint8_t *copy = malloc(part > 0 ? part : 1);
                memcpy(copy, bytes, part);
                assert_true(dns_read_query(copy, part, &query) != DNS_OK);
                free(copy);
        }
        assert_int_equal(dns_read_query(bytes, length, &query), DNS_OK);
}

static void test_the_longest_name(void **state) {
        char rest[300] = "";
        size_t at = 0;
        struct dns_query query;
        (void)state;
        for (int i = 0; i < 4; i++) {
                const int label = i < 3 ? 63 : 61;
                rest[at++] = (char)label;
                memset(rest + at, 'a', (size_t)label);
                at += (size_t)label;
        }
        memcpy(rest + at, "\0\0\1\0\1", 5);
        assert_int_equal(dns_read_query(bytes, message(1, 0, 1, 0, rest, at + 5), &query), DNS_OK);
        assert_int_equal(strlen(query.text), DNS_TEXT_MAX);
        rest[192]++; /* one character more */
        memmove(rest + 194, rest + 193, at + 5 - 193);
        assert_int_equal(dns_read_query(bytes, message(1, 0, 1, 0, rest, at + 6), &query), DNS_FORMAT);
}

static int read_answer(const struct dns_query *query, size_t length, struct dns_answer *ret) {
        uint8_t *copy = malloc(length);
        memcpy(copy, bytes, length);
        int r = dns_read_answer(copy, length, query, 9, ret);
        free(copy);
        return r;
}

static void test_answers(void **state) {
        const struct dns_query query = query_of(QUESTION_A, sizeof(QUESTION_A) - 1);
        struct dns_answer answer;
        size_t length;
        (void)state;
        length = MESSAGE(9, 0x8180, 1, 2,
                         QUESTION_A A_RECORD("\xc0\x0c", "\x3c", "\1\2\3\4") A_RECORD("\xc0\x0c", "\x1e", "\5\6\7\x8"));
        assert_int_equal(read_answer(&query, length, &answer), 0);
        assert_int_equal(answer.count, 2);
        assert_int_equal(answer.ttl, 30);
        assert_memory_equal(answer.addresses[1].bytes, "\5\6\7\x8", 4);
        for (size_t part = 0; part < length; part++)
                assert_true(read_answer(&query, part > 0 ? part : 1, &answer) < 0 || answer.count < 2);

        /* aliases, in any order; what belongs to another name is passed over */
        length = MESSAGE(9, 0x8180, 1, 4,
                         QUESTION_A A_RECORD("\1c\0", "\x3c", "\1\1\1\1") CNAME_RECORD("\xc0\x0c", "\3\1b\0")
                                 CNAME_RECORD("\1B\0", "\3\1c\0") A_RECORD("\1x\0", "\x3c", "\2\2\2\2"));
        assert_int_equal(read_answer(&query, length, &answer), 0);
        assert_int_equal(answer.count, 1);
        assert_memory_equal(answer.addresses[0].bytes, "\1\1\1\1", 4);

        /* in circles */
        length = MESSAGE(9, 0x8180, 1, 2,
                         QUESTION_A CNAME_RECORD("\xc0\x0c", "\3\1b\0") CNAME_RECORD("\1b\0", "\2\xc0\x0c"));
        assert_int_equal(read_answer(&query, length, &answer), 0);
        assert_int_equal(answer.count, 0);

        /* an address of the wrong length, and one of the wrong type */
        length = MESSAGE(9, 0x8180, 1, 2,
                         QUESTION_A "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\3\1\2\3\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\4\1\2\3\4");
        assert_int_equal(read_answer(&query, length, &answer), 0);
        assert_int_equal(answer.count, 0);
}

static void test_what_is_no_answer(void **state) {
        const struct dns_query query = query_of(QUESTION_A, sizeof(QUESTION_A) - 1);
        struct dns_answer answer;
        (void)state;
#define RECORD A_RECORD("\xc0\x0c", "\x3c", "\1\2\3\4")
        assert_int_equal(read_answer(&query, MESSAGE(8, 0x8180, 1, 1, QUESTION_A RECORD), &answer),
                         -EBADMSG); /* number */
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x0180, 1, 1, QUESTION_A RECORD), &answer),
                         -EBADMSG); /* a query */
        assert_int_equal(read_answer(&query, MESSAGE(9, 0xa980, 1, 1, QUESTION_A RECORD), &answer), -EBADMSG);
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x8180, 1, 0, QUESTION_AAAA), &answer), -EBADMSG);
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x8180, 1, 0, "\1x\4test\0\0\1\0\1"), &answer), -EBADMSG);
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x8180, 0, 0, ""), &answer), -EBADMSG);
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x8180, 1, 0, "\xc0\x0c\0\1\0\1"), &answer),
                         -EBADMSG); /* itself */
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x8380, 1, 0, QUESTION_A), &answer), -EMSGSIZE);
        assert_int_equal(read_answer(&query, MESSAGE(9, 0x8183, 1, 0, QUESTION_A), &answer), 0);
        assert_int_equal(answer.code, DNS_NO_SUCH_NAME);
}

static void test_a_reply_fits(void **state) {
        struct dns_query query = query_of(QUESTION_AAAA, sizeof(QUESTION_AAAA) - 1);
        struct dns_answer answer = {.count = DNS_ADDRESSES_MAX, .ttl = 5}, again;
        uint8_t reply[DNS_REPLY_BYTES];
        (void)state;
        for (size_t i = 0; i < DNS_ADDRESSES_MAX; i++)
                answer.addresses[i] = (struct address){.family = 6, .bytes = {0x26, [15] = (uint8_t)i}};
        const size_t length = dns_write_reply(&query, &answer, reply);
        assert_int_equal(length, 12 + 14 + 17 * 28);
        query.id = 9;
        memcpy(bytes, reply, length);
        bytes[1] = 9;
        assert_int_equal(read_answer(&query, length, &again), 0);
        assert_int_equal(again.count, 17);
        assert_memory_equal(again.addresses, answer.addresses, 17 * sizeof(answer.addresses[0]));
}

/* ---- names at the start of a connection */

static char host[EGRESS_HOST_MAX + 1];

static enum sniffed sniff(const char *text, size_t length) {
        uint8_t *copy = malloc(length > 0 ? length : 1);
        memcpy(copy, text, length);
        enum sniffed found = sniff_name(copy, length, host);
        free(copy);
        return found;
}

static void expect_sniffed(const char *text, size_t length, const char *name) {
        host[0] = '\0';
        const enum sniffed found = sniff(text, length);
        assert_true(name || host[0] == '\0');
        if ((found == SNIFF_FOUND) != (name != NULL) || (name && strcmp(name, host) != 0))
                fail_msg("%.*s: %d %s", (int)length, text, found, name ? host : "");
        for (size_t part = 0; name && part < length; part++) /* never another name */
                if (sniff(text, part) == SNIFF_FOUND)
                        assert_string_equal(host, name);
}

static void test_http(void **state) {
        static const struct {
                const char *text, *name;
        } requests[] = {
                {"GET / HTTP/1.1\r\nHost: Example.COM\r\n\r\n", "example.com"},
                {"GET / HTTP/1.1\r\nAccept: */*\r\nhost:\texample.com:8080 \r\n\r\n", "example.com"},
                {"POST /x HTTP/1.1\nHost: a-b_c.example.\n\n", "a-b_c.example"},
                {"GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", NULL},
                {"GET / HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n", NULL},
                {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", NULL},
                {"GET / HTTP/1.1\r\nHost: a\"b\r\n\r\n", NULL},
                {"GET / HTTP/1.1\r\nHost: \xc3\xa4.example\r\n\r\n", NULL},
                {"GET / HTTP/1.1\r\nHost:\r\n\r\n", NULL},
                {"GET / HTTP/1.1\r\nX-Host: a.example\r\n\r\nHost: b.example\r\n", NULL},
                {"GET / HTTP/1.0\r\n\r\n", NULL},
                {"get / HTTP/1.0\r\nHost: a.example\r\n\r\n", NULL},
                {"\r\nHost: a.example\r\n\r\n", NULL},
                {"SSH-2.0-x\r\nHost: a.example\r\n", NULL},
                {"ABCDEFGHIJKLMNOPQRSTUVWXYZ / HTTP/1.0\r\nHost: a.example\r\n\r\n", NULL},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
                expect_sniffed(requests[i].text, strlen(requests[i].text), requests[i].name);
        assert_int_equal(sniff("GET / HTTP/1.1\r\nHo", 18), SNIFF_MORE);
        assert_int_equal(sniff("", 0), SNIFF_MORE);
}

/* A ClientHello with one extension before the name; `claimed` is what the length of the name's list says. */
static size_t hello(char *out, const char *name, size_t record_short_by, int type) {
        const size_t name_length = strlen(name), extensions = 6 + 4 + 5 + name_length;
        const size_t body = 2 + 32 + 1 + 2 + 2 + 2 + 2 + extensions, record = 4 + body - record_short_by;
        char *at = out;
        at += sprintf(at, "\x16\x03\x01");
        *at++ = (char)(record >> 8), *at++ = (char)record;
        *at++ = (char)type, *at++ = 0, *at++ = (char)(body >> 8), *at++ = (char)body;
        memcpy(at, "\3\3", 2), memset(at + 2, 'r', 32), at += 34;
        *at++ = 0;                                /* session */
        memcpy(at, "\0\2\x13\1\1\0", 6), at += 6; /* ciphers, compression */
        *at++ = (char)(extensions >> 8), *at++ = (char)extensions;
        memcpy(at, "\0\x17\0\2ab", 6), at += 6; /* another one */
        memcpy(at, "\0\0", 2), at += 2;
        *at++ = (char)((name_length + 5) >> 8), *at++ = (char)(name_length + 5);
        *at++ = (char)((name_length + 3) >> 8), *at++ = (char)(name_length + 3);
        *at++ = 0, *at++ = (char)(name_length >> 8), *at++ = (char)name_length;
        memcpy(at, name, name_length);
        return (size_t)(at - out) + name_length;
}

static void test_tls(void **state) {
        static char text[5000], name[400];
        (void)state;
        expect_sniffed(text, hello(text, "Example.com", 0, 1), "example.com");
        expect_sniffed(text, hello(text, "10.0.0.1", 0, 1), NULL);
        expect_sniffed(text, hello(text, "a b", 0, 1), NULL);
        expect_sniffed(text, hello(text, "", 0, 1), NULL);
        expect_sniffed(text, hello(text, "example.com", 3, 1), NULL); /* goes on in another record */
        expect_sniffed(text, hello(text, "example.com", 0, 2), NULL); /* no ClientHello */
        memset(name, 'a', EGRESS_HOST_MAX);
        expect_sniffed(text, hello(text, name, 0, 1), name);
        name[EGRESS_HOST_MAX] = 'a';
        expect_sniffed(text, hello(text, name, 0, 1), NULL);
        const size_t length = hello(text, "example.com", 0, 1);
        assert_int_equal(sniff(text, length - 1), SNIFF_MORE);
        text[1] = 2;
        assert_int_equal(sniff(text, length), SNIFF_NONE);
}

static void test_it_ends_somewhere(void **state) {
        static char text[SNIFF_BYTES_MAX + 100];
        (void)state;
        memset(text, 'A', sizeof(text));
        memcpy(text, "GET ", 4);
        assert_int_equal(sniff(text, SNIFF_BYTES_MAX - 1), SNIFF_MORE);
        assert_int_equal(sniff(text, SNIFF_BYTES_MAX), SNIFF_NONE);
        assert_int_equal(sniff(text, sizeof(text)), SNIFF_NONE);
}

/* ---- what a room has looked up */

static struct {
        struct egress_record record;
        char name[DNS_TEXT_MAX + 1];
} told[NAMES_MAX + 8];
static size_t told_count;

static void note(void *data, const struct egress_record *record, const char *name) {
        (void)data;
        told[told_count].record = *record;
        snprintf(told[told_count++].name, sizeof(told[0].name), "%s", name);
}

static struct dns_answer answer_with(uint8_t last) {
        return (struct dns_answer){.count = 1, .addresses = {{.family = 4, .bytes = {93, 184, 216, last}}}};
}

static void test_names(void **state) {
        struct names *names = names_new(note, NULL);
        const struct dns_answer one = answer_with(1), two = answer_with(2), none = {0};
        const struct address blocked = {.family = 4, .bytes = {10, 0, 0, 1}}, stranger = {.family = 4, .bytes = {8}};
        (void)state;
        told_count = 0;
        names_add(names, "a.test", &one, NULL, EGRESS_RULE_NAME);
        names_add(names, "b.test", &one, NULL, EGRESS_RULE_NAME);
        names_add(names, "c.test", &two, NULL, EGRESS_RULE_NAME);
        names_add(names, "d.test", &none, &blocked, EGRESS_RULE_NAME);
        names_add(names, "e.test", &none, NULL, EGRESS_RULE_NAME);
        names_add(names, "f.test", &none, NULL, EGRESS_RULE_OFF);
        assert_string_equal(names_of(names, &one.addresses[0], "a.test"), "a.test"); /* it says so, and may */
        assert_string_equal(names_of(names, &one.addresses[0], "other.test"),
                            "b.test"); /* the one that was asked for last */
        assert_string_equal(names_of(names, &stranger, "claimed.test"), "claimed.test");
        assert_string_equal(names_of(names, &blocked, ""), "");
        assert_int_equal(names_count(names), 4);
        names_end(&names);
        assert_int_equal(told_count, 4);
        assert_string_equal(told[0].name, "c.test");
        assert_int_equal(told[0].record.decision, EGRESS_ALLOWED);
        assert_int_equal(told[0].record.port, 53);
        assert_int_equal(told[1].record.decision, EGRESS_REFUSED);
        assert_memory_equal(told[1].record.address, blocked.bytes, 4);
        assert_int_equal(told[2].record.decision, EGRESS_FAILED);
        assert_int_equal(told[2].record.family, 0);
        assert_int_equal(told[3].record.rule, EGRESS_RULE_OFF);
        assert_int_equal(told[3].record.decision, EGRESS_REFUSED);
}

static void test_the_oldest_name_gives_way(void **state) {
        struct names *names = names_new(note, NULL);
        const struct dns_answer one = answer_with(1);
        char name[32];
        (void)state;
        told_count = 0;
        for (int i = 0; i < NAMES_MAX; i++) {
                snprintf(name, sizeof(name), "n%d.test", i);
                names_add(names, name, &one, NULL, EGRESS_RULE_NAME);
        }
        names_add(names, "n0.test", &one, NULL, EGRESS_RULE_NAME); /* is young again */
        assert_int_equal(told_count, 0);
        names_add(names, "more.test", &one, NULL, EGRESS_RULE_NAME);
        assert_int_equal(told_count, 1);
        assert_string_equal(told[0].name, "n1.test");
        names_end(&names);
        assert_int_equal(told_count, NAMES_MAX + 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_query),
                cmocka_unit_test(test_queries_that_break_off),
                cmocka_unit_test(test_the_longest_name),
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_what_is_no_answer),
                cmocka_unit_test(test_a_reply_fits),
                cmocka_unit_test(test_http),
                cmocka_unit_test(test_tls),
                cmocka_unit_test(test_it_ends_somewhere),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_the_oldest_name_gives_way),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
