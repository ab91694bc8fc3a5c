/* The decision; see policy.h. */
#include "egress/policy.h"

#include <string.h>

#include "base/cleanup.h"

#define ANY_PORT 0

struct range {
        uint8_t family, length;
        uint8_t bytes[16];
};

/*
 * What is not the public internet: the special-purpose registries of IANA (RFC 6890 and what came after), but for their
 * few entries that are globally reachable, and what clouds have put at public addresses for their machines only.
 */
static const struct range reserved[] = {
        {4, 8, {0}},                       /* "this network"; Linux takes 0.0.0.0 for itself */
        {4, 8, {10}},                      /* private */
        {4, 10, {100, 64}},                /* shared by a carrier's customers; some clouds' metadata */
        {4, 8, {127}},                     /* loopback */
        {4, 16, {169, 254}},               /* link-local; most clouds' metadata */
        {4, 32, {168, 63, 129, 16}},       /* a public address at which Azure's machines find their host */
        {4, 12, {172, 16}},                /* private */
        {4, 24, {192, 0, 0}},              /* protocol assignments; one cloud's metadata */
        {4, 24, {192, 0, 2}},              /* documentation */
        {4, 24, {192, 88, 99}},            /* relays of 6to4, deprecated */
        {4, 16, {192, 168}},               /* private */
        {4, 15, {198, 18}},                /* benchmarking */
        {4, 24, {198, 51, 100}},           /* documentation */
        {4, 24, {203, 0, 113}},            /* documentation */
        {4, 4, {224}},                     /* multicast */
        {4, 4, {240}},                     /* reserved, and broadcast */
        {6, 23, {0x20, 0x01}},             /* protocol assignments: Teredo, benchmarking, ORCHID … */
        {6, 32, {0x20, 0x01, 0x0d, 0xb8}}, /* documentation */
        {6, 16, {0x20, 0x02}},             /* 6to4: an IPv4 address of anybody's choice inside */
        {6, 20, {0x3f, 0xff}},             /* documentation */
};

/* IPv6 that is in use on the internet at all: everything else is refused, so that it need not be listed. */
static const struct range global_unicast = {6, 3, {0x20}};

/* NAT64, RFC 6052: what counts is the IPv4 address in its last four bytes. (64:ff9b:1::/48 is a site's own: refused.) */
static const struct range nat64 = {6, 96, {0x00, 0x64, 0xff, 0x9b}};

static bool in_range(const struct range *range, const struct address *address) {
        struct prefix prefix = {.family = range->family, .length = range->length};
        memcpy(prefix.bytes, range->bytes, sizeof(prefix.bytes));
        return prefix_covers(&prefix, address->family, address->bytes);
}

/* The address at which a connection ends up: behind a NAT64, an IPv4 one. */
static struct address behind(const struct address *address) {
        return in_range(&nat64, address) ? address_of_bytes(address->bytes + 12, 4, address->port) : *address;
}

bool policy_is_reserved(const struct address *address) {
        const struct address end = behind(address);
        for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
                if (in_range(&reserved[i], &end))
                        return true;
        return end.family == 6 && !in_range(&global_unicast, &end);
}

/* An entry without a port stands for `by_default` of it. */
static bool matches(const struct prefix *entry, const struct address *address, bool by_default) {
        if (!prefix_covers(entry, address->family, address->bytes))
                return false;
        return entry->port == 0 ? by_default : entry->port == address->port;
}

static bool is_denied(const struct policy *policy, const struct address *address) {
        for (size_t i = 0; i < policy->deny.count; i++)
                if (matches(&policy->deny.items[i], address, true))
                        return true;
        return false;
}

static bool is_web(uint16_t port) {
        return port == 80 || port == 443 || port == ANY_PORT;
}

/* A range does not open this host itself, which may have an address in it that nobody thought of. */
static bool is_allowed(const struct policy *policy, const struct address *address, bool own) {
        for (size_t i = 0; i < policy->allow.count; i++) {
                const struct prefix *entry = &policy->allow.items[i];
                const bool any = address->port == ANY_PORT && prefix_covers(entry, address->family, address->bytes);
                if ((any || matches(entry, address, is_web(address->port))) && (!own || prefix_is_single(entry)))
                        return true;
        }
        return false;
}

struct verdict policy_judge(const struct policy *policy, const struct address *address) {
        const struct address end = behind(address);
        if (!policy->on)
                return (struct verdict){EGRESS_REFUSED, EGRESS_RULE_OFF};
        if (is_denied(policy, address) || is_denied(policy, &end))
                return (struct verdict){EGRESS_REFUSED, EGRESS_RULE_DENY};
        const bool own = policy->is_own(policy->data, address) || policy->is_own(policy->data, &end);
        if (is_allowed(policy, address, own))
                return (struct verdict){EGRESS_ALLOWED, EGRESS_RULE_ALLOW};
        if (own || policy_is_reserved(address))
                return (struct verdict){EGRESS_REFUSED, EGRESS_RULE_RESERVED};
        if (!is_web(address->port))
                return (struct verdict){EGRESS_REFUSED, EGRESS_RULE_PORT};
        return (struct verdict){EGRESS_ALLOWED, EGRESS_RULE_PUBLIC};
}

bool policy_allows_any_port(const struct policy *policy, const struct address *address) {
        struct address any = *address;
        any.port = ANY_PORT;
        return policy_judge(policy, &any).decision == EGRESS_ALLOWED;
}
