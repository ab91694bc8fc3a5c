/*
 * Messages between the spawner and a template (fork server), over one SOCK_SEQPACKET socket.
 *
 * The template runs nothing but the image and this project's own code, but it is no more trusted than it must be: the
 * spawner bounds what it reads here. Nothing that came from a client ever goes to a template.
 */
#pragma once

#include <stdint.h>

enum template_kind {
        TEMPLATE_READY = 1, /* template →: everything is imported, one thread, ready to fork */
        TEMPLATE_FORK,      /* → template: TEMPLATE_FORK_FDS descriptors beside it */
        TEMPLATE_FORKED, /* template →: `number` of the request; error 0 and the child's pidfd beside it, or errno */
};

struct template_message {
        uint32_t kind; /* enum template_kind */
        int32_t error; /* a positive errno */
        uint64_t number;
};

/* Descriptors of TEMPLATE_FORK, in this order. */
enum template_fork_fd {
        TEMPLATE_FD_ROOM,    /* pidfd of the room's init */
        TEMPLATE_FD_USER_NS, /* its namespaces: a pidfd alone would take CAP_SYS_PTRACE to join */
        TEMPLATE_FD_PID_NS,
        TEMPLATE_FD_CLAIM,  /* the sandbox's end of the claim channel */
        TEMPLATE_FD_STDOUT, /* write ends */
        TEMPLATE_FD_STDERR,
        TEMPLATE_FD_REPORT, /* SOCK_SEQPACKET: sandbox/steps.h; closed before anything untrusted runs */
        TEMPLATE_FORK_FDS
};
