/*
 * What the spawner and a room that is being furnished tell the egress process.
 *
 * The spawner sends orders over one SOCK_SEQPACKET socket. One room at a time comes with two descriptors: a socket over
 * which the room's own listening sockets follow, and the api process's channel (src/spawn/frames.h, "egress channel").
 * The egress process sends nothing back: what it has to say goes down the channels, past the spawner.
 */
#pragma once

#include <stdint.h>

#include "base/config.h"

enum egress_order_kind {
        EGRESS_ATTACH = 1, /* EGRESS_ATTACH_FDS descriptors beside it */
        EGRESS_DETACH,     /* the room is gone: end its connections, tell of them, close its channel */
        EGRESS_RETIRE,     /* no room will come any more: end with the last one */
};

enum egress_attach_fd { EGRESS_FD_LISTENERS, EGRESS_FD_CHANNEL, EGRESS_ATTACH_FDS };

struct egress_order {
        uint32_t kind; /* enum egress_order_kind */
        uint32_t reserved;
        uint64_t room; /* the spawner's number for it, never used twice */
};

/* The one message on the first of these sockets: as many descriptors as there are listeners, and this byte. */
#define EGRESS_LISTENERS_BYTE 'L'

/* In the egress process. */
#define EGRESS_ORDERS_FD 3
#define EGRESS_ROOT_FD 4 /* an empty folder, to become its root */

#define EGRESS_PORT_HTTP 80
#define EGRESS_PORT_HTTPS 443
#define EGRESS_PORT_NAMES 53 /* TCP and UDP */
#define EGRESS_MORE_PORTS_MAX                                                                                          \
        CONFIG_EGRESS_PORTS_MAX /* that the operator allows beside these; all listeners fit into one message */
