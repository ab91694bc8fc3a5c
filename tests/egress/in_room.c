/*
 * Stands in for a room, in tests of the egress process: in_room EGRESS_FD [PORT]... -- PROGRAM [ARGUMENT]...
 *
 * Makes the network namespace, has network_open() of the product furnish it and hand its listeners over the descriptor,
 * gives up root, and becomes the program. The rest of a room's isolation is not needed for what these tests are about.
 */
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "egress/protocol.h"
#include "sandbox/network.h"
#include "spawn/proto.h"

int main(int argc, char **argv) {
        uint16_t ports[EGRESS_MORE_PORTS_MAX + 1];
        size_t count = 0;
        int at = 2;
        for (; at < argc && strcmp(argv[at], "--") != 0; at++)
                if (count < EGRESS_MORE_PORTS_MAX + 1)
                        ports[count++] = (uint16_t)atoi(argv[at]);
        if (at + 1 >= argc)
                return 2;
        if (unshare(CLONE_NEWNET) < 0) {
                perror("unshare");
                return 3;
        }
        int egress_fd = atoi(argv[1]);
        int r = network_open(egress_fd, ports, count);
        if (r < 0) {
                fprintf(stderr, "network_open: %s\n", strerror(-r));
                return 4;
        }
        close(egress_fd);
        if (setgroups(0, NULL) < 0 || setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0 ||
            setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return 5;
        execvp(argv[at + 1], argv + at + 1);
        perror(argv[at + 1]);
        return 6;
}
