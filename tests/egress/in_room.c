/*
 * Stands in for a room, in tests of the egress process: in_room EGRESS_FD [without-ipv6] [PORT]... -- PROGRAM
 * [ARGUMENT]...
 *
 * Makes the network namespace, has network_open() of the product furnish it and hand its listeners over the descriptor,
 * gives up root, and becomes the program. The rest of a room's isolation is not needed for what these tests are about.
 */
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "egress/protocol.h"
#include "sandbox/network.h"
#include "spawn/proto.h"

/* As on a kernel that has none. */
static int refuse_ipv6(void) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv) {
        uint16_t ports[EGRESS_MORE_PORTS_MAX + 1];
        size_t count = 0;
        int at = 2;
        if (argc > 2 && strcmp(argv[2], "without-ipv6") == 0 && ++at && refuse_ipv6() < 0) {
                perror("prctl");
                return 7;
        }
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
