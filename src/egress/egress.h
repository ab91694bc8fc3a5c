/*
 * The egress process: the network of tool calls and imports. What its files share.
 *
 * It runs as a user of its own, in a root folder with nothing in it, and has one thread. Rooms hand it listening
 * sockets; whatever the code in a room connects to is accepted here, judged (policy.h), dialled and passed on, byte by
 * byte. It reads two kinds of hostile bytes: what rooms send, and what the internet answers. It understands of them no
 * more than lookups of names (lookups.h) and the name at the start of a connection (sniff.h), and neither has a part in
 * the decision. It has no key, no file and no way to the service's data.
 */
#pragma once

#include "base/loop.h"
#include "egress/policy.h"

struct room;
struct resolver;

struct egress {
        struct loop *loop;
        struct loop_source *orders;
        struct policy policy;
        int route_fd;
        struct resolver *resolver;
        struct room *rooms;                  /* list */
        bool retired;                        /* ends after the last of them */
        size_t connections, connections_max; /* of all rooms, as many as there are descriptors for */
};
