/* The decision of the egress process: every range at both of its ends, every form of an address, the operator's lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "egress/policy.h"

static const char *own_address = "198.41.0.10";

static struct address at(const char *text, uint16_t port) {
        uint8_t bytes[16];
        const bool v6 = strchr(text, ':');
        assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes), 1);
        return address_of_bytes(bytes, v6 ? 16 : 4, port);
}

static bool is_own(void *data, const struct address *address) {
        const struct address own = at(own_address, 0);
        (void)data;
        return address_same(address, &own);
}

static struct policy with(const char *allow, const char *deny) {
        struct policy policy = {.on = true, .is_own = is_own};
        assert_int_equal(prefix_list_parse(allow, &policy.allow, NULL), 0);
        assert_int_equal(prefix_list_parse(deny, &policy.deny, NULL), 0);
        return policy;
}

static void expect(const struct policy *policy, const char *text, uint16_t port, enum egress_rule rule) {
        const struct address address = at(text, port);
        const struct verdict verdict = policy_judge(policy, &address);
        const bool allowed = rule == EGRESS_RULE_PUBLIC || rule == EGRESS_RULE_ALLOW;
        if (verdict.rule != rule)
                fail_msg("%s port %u: rule %u, not %u", text, port, verdict.rule, rule);
        assert_int_equal(verdict.decision, allowed ? EGRESS_ALLOWED : EGRESS_REFUSED);
}

static void expect_reserved(const char *text, bool reserved) {
        const struct policy policy = with("", "");
        expect(&policy, text, 443, reserved ? EGRESS_RULE_RESERVED : EGRESS_RULE_PUBLIC);
        const struct address address = at(text, 0);
        assert_int_equal(policy_is_reserved(&address), reserved);
        assert_int_equal(policy_allows_any_port(&policy, &address), !reserved);
}

/* Ranges that are refused: the last address before, the first and the last one of it, the first after. */
static const struct {
        const char *before, *first, *last, *after; /* NULL: it ends there, or another range begins */
} edges[] = {
        {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
        {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
        {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
        {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
        {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
        {"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
        {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
        {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
        {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
        {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
        {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
        {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
        {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
        {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
        {"223.255.255.255", "224.0.0.0", "239.255.255.255", NULL},
        {NULL, "240.0.0.0", "255.255.255.255", NULL},

        {NULL, "::", "::fffe:ffff:ffff", NULL}, /* unspecified, loopback, v4-compatible */
        {NULL, "::1:0:0:0", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", NULL},
        {NULL, "64:ff9b:0:0:0:1::", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", NULL},
        {NULL, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL}, /* a site's own NAT64 */
        {NULL, "100::", "100::ffff:ffff:ffff:ffff", NULL},                 /* discard */
        {NULL, "64:ff9b:2::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"},
        {"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"},
        {"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
         "2001:db9::"},
        {"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"},
        {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
        {"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL},
        {NULL, "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL}, /* segment routing */
        {NULL, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL}, /* unique local */
        {NULL, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL}, /* link-local */
        {NULL, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL}, /* site-local */
        {NULL, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL}, /* multicast */
};

static void test_every_range_at_its_ends(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(edges); i++) {
                expect_reserved(edges[i].first, true);
                expect_reserved(edges[i].last, true);
                if (edges[i].before)
                        expect_reserved(edges[i].before, false);
                if (edges[i].after)
                        expect_reserved(edges[i].after, false);
        }
}

/* An IPv4 address in another form is judged as what it leads to. */
static void test_every_form_of_every_ipv4_range(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(edges) && !strchr(edges[i].first, ':'); i++) {
                const char *const addresses[] = {edges[i].first, edges[i].last, edges[i].before, edges[i].after};
                for (size_t j = 0; j < ARRAY_SIZE(addresses); j++)
                        for (size_t form = 0; addresses[j] && form < 2; form++) {
                                char text[64];
                                snprintf(text, sizeof(text), form == 0 ? "::ffff:%s" : "64:ff9b::%s", addresses[j]);
                                expect_reserved(text, j < 2);
                        }
        }
        expect_reserved("::93.184.216.34", true);        /* v4-compatible: refused, whatever is inside */
        expect_reserved("::ffff:0:93.184.216.34", true); /* translated by SIIT */
        expect_reserved("64:ff9b:1::93.184.216.34", true);
        expect_reserved("2002:5db8:d822::1", true); /* 6to4 */
        expect_reserved("2002:a00:1::1", true);
        expect_reserved("2001:0:5db8:d822::1", true); /* Teredo */
        expect_reserved("2001:4860:4860::8888", false);
        expect_reserved("2606:2800:220::1", false);
}

static void test_mapped_is_ipv4(void **state) {
        const struct address mapped = at("::ffff:93.184.216.34", 80), plain = at("93.184.216.34", 80);
        (void)state;
        assert_memory_equal(&mapped, &plain, sizeof(mapped));
}

static void test_ports(void **state) {
        const struct policy policy = with("10.1.2.3:8000", "");
        (void)state;
        expect(&policy, "93.184.216.34", 80, EGRESS_RULE_PUBLIC);
        expect(&policy, "93.184.216.34", 443, EGRESS_RULE_PUBLIC);
        expect(&policy, "93.184.216.34", 8000, EGRESS_RULE_PORT);
        expect(&policy, "93.184.216.34", 53, EGRESS_RULE_PORT);
        expect(&policy, "10.1.2.3", 8000, EGRESS_RULE_ALLOW);
        expect(&policy, "10.1.2.3", 80, EGRESS_RULE_RESERVED);
        expect(&policy, "10.1.2.4", 8000, EGRESS_RULE_RESERVED);
        const struct address with_any_port = at("10.1.2.3", 0), without = at("10.1.2.4", 0);
        assert_true(policy_allows_any_port(&policy, &with_any_port));
        assert_false(policy_allows_any_port(&policy, &without));
}

static void test_the_lists_of_the_operator(void **state) {
        const struct policy policy = with("10.0.0.0/8 [fd00::/8]:443", "10.9.0.0/16, 93.184.216.0/24, 1.1.1.1:80");
        (void)state;
        expect(&policy, "10.1.2.3", 80, EGRESS_RULE_ALLOW);
        expect(&policy, "::ffff:10.1.2.3", 80, EGRESS_RULE_ALLOW);
        expect(&policy, "10.9.2.3", 80, EGRESS_RULE_DENY); /* goes first */
        expect(&policy, "93.184.216.34", 443, EGRESS_RULE_DENY);
        expect(&policy, "64:ff9b::93.184.216.34", 443, EGRESS_RULE_DENY);
        expect(&policy, "1.1.1.1", 80, EGRESS_RULE_DENY);
        expect(&policy, "1.1.1.1", 443, EGRESS_RULE_PUBLIC);
        expect(&policy, "fd12::1", 443, EGRESS_RULE_ALLOW);
        expect(&policy, "fd12::1", 80, EGRESS_RULE_RESERVED);
        expect(&policy, "64:ff9b::10.1.2.3", 80, EGRESS_RULE_RESERVED); /* another address than the one that is named */
        const struct address partly = at("1.1.1.1", 0), wholly = at("93.184.216.34", 0);
        assert_true(policy_allows_any_port(&policy, &partly));
        assert_false(policy_allows_any_port(&policy, &wholly));
}

static void test_the_host_itself(void **state) {
        struct policy policy = with("", "");
        (void)state;
        expect(&policy, own_address, 443, EGRESS_RULE_RESERVED);
        expect(&policy, "198.41.0.11", 443, EGRESS_RULE_PUBLIC);
        expect(&policy, "64:ff9b::198.41.0.10", 443, EGRESS_RULE_RESERVED);
        policy = with("0.0.0.0/0 198.41.0.0/16", "");
        expect(&policy, own_address, 443, EGRESS_RULE_RESERVED); /* no range opens it */
        expect(&policy, "127.0.0.1", 443, EGRESS_RULE_ALLOW);    /* own_address is all that is_own() knows here */
        policy = with("198.41.0.10:443", "");
        expect(&policy, own_address, 443, EGRESS_RULE_ALLOW);
        expect(&policy, own_address, 80, EGRESS_RULE_RESERVED);
}

static void test_off(void **state) {
        struct policy policy = with("10.0.0.0/8", "");
        (void)state;
        policy.on = false;
        expect(&policy, "93.184.216.34", 443, EGRESS_RULE_OFF);
        expect(&policy, "10.1.1.1", 443, EGRESS_RULE_OFF);
}

static void test_lists(void **state) {
        static const struct {
                const char *text;
                int count; /* -1: refused */
        } lists[] = {
                {"", 0},
                {" , ", 0},
                {"10.0.0.0/8", 1},
                {"10.0.0.0/8,fd00::/8 192.0.2.1:443\t[2001:db8::1]:80", 4},
                {"0.0.0.0/0 ::/0", 2},
                {"10.0.0.1/8", -1},
                {"10.0.0.0/33", -1},
                {"10.0.0.0/", -1},
                {"10.0.0.0/-1", -1},
                {"10.0.0.0/8:0", -1},
                {"10.0.0.0/8:65536", -1},
                {"10.0.0.0/8:https", -1},
                {"[10.0.0.0/8", -1},
                {"[fd00::/8]443", -1},
                {"fd00::/129", -1},
                {"::ffff:10.0.0.0/104", -1},
                {"::ffff:0.0.0.0/96", -1},
                {"intranet.example", -1},
                {"10.1", -1},
                {"0x0a000001", -1},
                {"10.0.0.0/8;fd00::/8", -1},
        };
        struct prefix_list list;
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                struct err e = {0};
                int r = prefix_list_parse(lists[i].text, &list, &e);
                if ((r < 0) != (lists[i].count < 0) || (r == 0 && (int)list.count != lists[i].count))
                        fail_msg("\"%s\": %d, %zu", lists[i].text, r, list.count);
                assert_int_equal(r < 0, e.message[0] != '\0');
        }
        char many[PREFIXES_MAX * 16 + 32] = "";
        for (int i = 0; i <= PREFIXES_MAX; i++)
                snprintf(many + strlen(many), sizeof(many) - strlen(many), "10.0.0.%d ", i);
        assert_true(prefix_list_parse(many, &list, NULL) < 0);
}

static void test_ports_of_a_list(void **state) {
        static const uint16_t known[] = {80, 443};
        struct prefix_list list;
        uint16_t ports[2];
        (void)state;
        assert_int_equal(prefix_list_parse("10.0.0.1:80 10.0.0.2:8000 10.0.0.3:8000 10.0.0.4 10.0.0.5:9", &list, NULL),
                         0);
        assert_int_equal(prefix_list_ports(&list, known, 2, ports, 2), 2);
        assert_int_equal(ports[0], 8000);
        assert_int_equal(ports[1], 9);
        assert_int_equal(prefix_list_ports(&list, known, 2, ports, 1), 2);
        assert_int_equal(prefix_list_ports(&list, known, 0, ports, 0), 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_range_at_its_ends),
                cmocka_unit_test(test_every_form_of_every_ipv4_range),
                cmocka_unit_test(test_mapped_is_ipv4),
                cmocka_unit_test(test_ports),
                cmocka_unit_test(test_the_lists_of_the_operator),
                cmocka_unit_test(test_the_host_itself),
                cmocka_unit_test(test_off),
                cmocka_unit_test(test_lists),
                cmocka_unit_test(test_ports_of_a_list),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
