/*
 * Whether a tool call may reach an address: the one decision of the egress process, in one place.
 *
 * It is made on the address that this process is about to dial itself, after every redirect, lookup and spelling, so
 * that none of them can change what it meant. No name takes part in it. What is not known to be public is refused.
 */
#pragma once

#include "base/prefix.h"
#include "egress/address.h"
#include "spawn/frames.h"

struct policy {
        bool on; /* SANDBOX_EGRESS */
        struct prefix_list allow, deny;
        /* True if the address is one of this host itself, in whatever way. */
        bool (*is_own)(void *data, const struct address *address);
        void *data;
};

struct verdict {
        enum egress_decision decision; /* allowed or refused */
        enum egress_rule rule;
};

struct verdict policy_judge(const struct policy *policy, const struct address *address);

/* The same for an answer to a lookup: true if there is any port on which the address may be reached. */
bool policy_allows_any_port(const struct policy *policy, const struct address *address);

/* True if the table of reserved ranges has it, whatever the operator says. */
bool policy_is_reserved(const struct address *address);
