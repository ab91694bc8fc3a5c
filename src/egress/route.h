/*
 * What the kernel would do with a packet to an address: the host's own routing decides what is the host's own.
 *
 * Runs in the egress process, over one rtnetlink socket that is opened before the jail. A list of the interfaces'
 * addresses would miss what a route makes local (a virtual address of a load balancer, "AnyIP").
 */
#pragma once

#include "egress/address.h"

enum route {
        ROUTE_OUT,  /* to another machine */
        ROUTE_OWN,  /* to this machine itself, or to all in its network (broadcast) */
        ROUTE_NONE, /* nowhere */
};

/* A descriptor, or a negative errno. */
int route_open(void);

/* If the kernel cannot be asked, ROUTE_OWN, which is refused. */
enum route route_to(int netlink_fd, const struct address *address);
