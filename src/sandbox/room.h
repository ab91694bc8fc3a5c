/*
 * The file system and identity of a room, and of the template.
 *
 * Runs in a freshly cloned process, before anything untrusted exists in it. It trusts its plan, which the spawner made
 * from configuration and constants; nothing in it came over the network.
 */
#pragma once

#include <sys/types.h>

struct room_plan {
        const char *image;   /* where the spawner has mounted the image */
        const char *devices; /* a folder with the device nodes */
        const char *tools;   /* the template's own folder, to be shown at /opt/sandbox; NULL in a room */
        int root_fd;         /* filled by the steps */
        int report_fd;       /* orders and reports; borrowed */
};

/*
 * Makes the room around the calling process: waits for ORDER_GO, then cgroup namespace, identity, mounts, root, host
 * name, limits. On failure the spawner has been told. 0 or negative errno.
 */
int room_furnish(struct room_plan *plan);

/* The same for the template: no PID of its own to be, keeps its capabilities, sees its own code at /opt/sandbox. */
int room_furnish_template(struct room_plan *plan);
