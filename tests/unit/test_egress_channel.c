/* What the api process makes of the egress process's records: every rule has a name, and what is not sound ends the
 * reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/egress_channel.h"
#include "spawn/frames.h"

static void on_ended(void *data) {
        loop_quit(data, 0);
}

/* Sends one record and a good one after it; how many were taken. The first one's JSON stays in `json`. */
static size_t taken(const struct egress_record *record, const char *host, uint32_t host_length, char *json,
                    size_t size) {
        const struct egress_record good = {.decision = EGRESS_ALLOWED,
                                           .rule = EGRESS_RULE_PUBLIC,
                                           .family = 4,
                                           .port = 80,
                                           .address = {93, 184, 216, 34}};
        const struct frame frames[2] = {{FRAME_EGRESS, (uint32_t)sizeof(*record) + host_length},
                                        {FRAME_EGRESS, sizeof(good)}};
        struct egress_channel channel;
        struct loop *loop;
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        assert_int_equal(loop_new(&loop), 0);
        assert_int_equal(write(pair[1], &frames[0], sizeof(frames[0])), sizeof(frames[0]));
        assert_int_equal(write(pair[1], record, sizeof(*record)), sizeof(*record));
        assert_int_equal(write(pair[1], host, host_length), host_length);
        assert_int_equal(write(pair[1], &frames[1], sizeof(frames[1])), sizeof(frames[1]));
        assert_int_equal(write(pair[1], &good, sizeof(good)), sizeof(good));
        close(pair[1]);
        egress_channel_init(&channel, loop, pair[0], on_ended, loop);
        assert_int_equal(egress_channel_listen(&channel), 0);
        loop_run(loop);
        assert_true(channel.ended);
        const size_t count = channel.records.count;
        json[0] = '\0';
        if (count > 0)
                snprintf(json, size, "%.*s", (int)channel.records.items[0].length, channel.records.items[0].json);
        egress_channel_deinit(&channel);
        loop_free(loop);
        return count;
}

static void test_every_rule_has_a_name(void **state) {
        static const char *const names[] = {
                [EGRESS_RULE_PUBLIC] = "public",     [EGRESS_RULE_ALLOW] = "allow",
                [EGRESS_RULE_DENY] = "deny",         [EGRESS_RULE_OFF] = "off",
                [EGRESS_RULE_RESERVED] = "reserved", [EGRESS_RULE_NAME] = "name",
                [EGRESS_RULE_LIMIT] = "limit",       [EGRESS_RULE_UNREACHABLE] = "unreachable",
                [EGRESS_RULE_PORT] = "port",
        };
        char json[1024], wanted[64];
        (void)state;
        for (uint32_t rule = 0; rule < ARRAY_SIZE(names) + 2; rule++) {
                const struct egress_record record = {
                        .decision = EGRESS_REFUSED, .rule = rule, .family = 4, .port = 8000};
                const bool known = rule > 0 && rule < ARRAY_SIZE(names);
                if (taken(&record, "", 0, json, sizeof(json)) != (known ? 2 : 0))
                        fail_msg("rule %u", rule);
                snprintf(wanted, sizeof(wanted), "\"rule\":\"%s\"", known ? names[rule] : "");
                assert_true(!known || strstr(json, wanted));
        }
}

static void test_what_is_not_sound(void **state) {
        const struct egress_record good = {.decision = EGRESS_ALLOWED,
                                           .rule = EGRESS_RULE_PUBLIC,
                                           .family = 6,
                                           .port = 443,
                                           .host_length = 9,
                                           .bytes_sent = 1,
                                           .bytes_received = 2};
        struct egress_record record = good;
        char json[1024];
        (void)state;
        assert_int_equal(taken(&record, "a.example", 9, json, sizeof(json)), 2);
        assert_non_null(strstr(json, "\"host\":\"a.example\""));
        assert_non_null(strstr(json, "\"bytes\":3"));
        assert_int_equal(taken(&record, "a.exampl", 8, json, sizeof(json)), 0);
        record.decision = 0;
        assert_int_equal(taken(&record, "a.example", 9, json, sizeof(json)), 0);
        record = good;
        record.family = 5;
        assert_int_equal(taken(&record, "a.example", 9, json, sizeof(json)), 0);
        record = good;
        record.bytes_sent = UINT64_MAX;
        assert_int_equal(taken(&record, "a.example", 9, json, sizeof(json)), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_rule_has_a_name),
                cmocka_unit_test(test_what_is_not_sound),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
