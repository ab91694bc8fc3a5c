/*
 * The name server that a room finds at every address: lookups over UDP and TCP, port 53.
 *
 * Only addresses are looked up (types A and AAAA); for every other type the answer is that there is none. Addresses
 * that the policy refuses, or to which this host has no route, are left out of answers: so a client picks one that
 * works, and a name that leads to a private address leads nowhere.
 */
#pragma once

#include "egress/egress.h"
#include "egress/names.h"

struct lookups;

/* Asked before each lookup. False: the room has done all that it may do, and this server ends in a moment. */
typedef bool (*lookups_may_fn)(void *data);

/* Takes nothing yet. NULL: out of memory. */
struct lookups *lookups_new(struct egress *egress, struct names *names, lookups_may_fn may, void *data);
void lookups_end(struct lookups **lookups); /* not from within `may` */

/* Serves a datagram socket. Takes it, also if it fails. 0 or a negative errno. */
int lookups_serve_datagrams(struct lookups *lookups, int fd);

/* Serves one connection, or resets it if there are too many. Takes it. */
void lookups_serve_connection(struct lookups *lookups, int fd);
