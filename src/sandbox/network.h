/*
 * The network of a room that has one: an empty network namespace in which every address is local.
 *
 * Runs in the future init of a room for a tool call or an import, inside its own namespaces, while it still has its
 * capabilities there. Nothing of the host's network is touched and no interface leads out: whatever address the code in
 * the room connects to, it reaches a listening socket that was made here and is held by the egress process outside
 * (src/egress), which decides. Every other port refuses at once, because nobody listens there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Brings the loopback interface up, makes all of IPv4 and IPv6 local, and hands listeners for name lookups, HTTP, HTTPS
 * and `more_ports` (at most EGRESS_MORE_PORTS_MAX) over `egress_fd`, which stays the caller's. None of them stays open
 * here. On a kernel without IPv6 the room has none either. 0 or a negative errno.
 */
int network_open(int egress_fd, const uint16_t *more_ports, size_t more_count);
