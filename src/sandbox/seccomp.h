/*
 * System call filters: load one that was compiled when this software was built.
 *
 * Runs in the room's init, in the fork server and its children, and in the api process. The policies are the texts in
 * seccomp/; tools/compile-seccomp turns them into bytes at build time, so that nothing is compiled where code is
 * hostile or time is short. Depends on libc and the kernel alone: static programs and Python extension modules may link
 * it.
 */
#pragma once

enum seccomp_policy {
        SECCOMP_SNIPPET,  /* untrusted code */
        SECCOMP_CALL,     /* untrusted code with sockets of IPv4 and IPv6 */
        SECCOMP_IMPORT,   /* the same for tools that read what strangers have made */
        SECCOMP_INIT,     /* pid 1 of a room */
        SECCOMP_KEEPER,   /* the second user of a snippet's memory */
        SECCOMP_TEMPLATE, /* the fork server; its children load SECCOMP_SNIPPET on top of it */
        SECCOMP_API,      /* the process that reads from the network, once it serves */
        SECCOMP_EGRESS,   /* the process through which tool calls reach the network */
};

/*
 * Loads the filter for the calling thread and all that it starts from now on; there is no way back. The caller has set
 * no_new_privs before. 0 or a negative errno.
 */
int seccomp_load(enum seccomp_policy policy);

/* The same for all threads that the process has. -EBUSY: one of them has a filter of its own. */
int seccomp_load_for_all_threads(enum seccomp_policy policy);
