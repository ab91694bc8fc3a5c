/*
 * The file system and identity of a room, and of the template.
 *
 * Runs in a freshly cloned process, before anything untrusted exists in it. It trusts its plan, which the spawner made
 * from configuration and constants; nothing in it came over the network.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What is in it. */
enum room_kind { ROOM_TEMPLATE, ROOM_SNIPPET, ROOM_CALL, ROOM_IMPORT };

struct room_plan {
        enum room_kind kind;
        const char *image;   /* where the spawner has mounted the image */
        const char *devices; /* a folder with the device nodes */
        const char *tools;   /* this project's Python code, to be shown at /opt/sandbox; NULL in a snippet's room */
        int egress_fd;       /* for network_open(), if the room has a network; borrowed */
        const uint16_t *ports;
        size_t port_count;
        const char *work;    /* of an import: its folder on the disk, to be its /tmp */
        int root_fd;         /* filled by the steps */
        int report_fd;       /* orders and reports; borrowed */
};

/*
 * Makes the room around the calling process: waits for ORDER_GO, then cgroup namespace, identity, mounts, root, host
 * name. A template has no other identity to take, and sees its own code. On failure the spawner has been told. 0 or
 * negative errno.
 */
int room_furnish(struct room_plan *plan);
