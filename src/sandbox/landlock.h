/*
 * Landlock: a second wall around files, TCP and signals, where the kernel has it.
 *
 * Runs in the child that becomes a snippet (as the sandbox's user, inside the room, before the system call filter,
 * which refuses Landlock's calls) and in the api process. Takes away only; needs no privilege but no_new_privs, which
 * the caller has set. Carries its own constants, because distributions' headers are older than their kernels. Depends
 * on libc alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Version of Landlock's interface in this kernel; 0: none (not built in, or not switched on at boot). */
int landlock_abi(void);

/*
 * Confines the calling thread to what a room offers: read and execute everywhere, full use of the working directory,
 * HOME, /tmp and /dev/shm except for making devices, reading and writing /dev; no TCP; signals and abstract sockets
 * only among its own. 0; 1: this kernel has no Landlock, nothing was done; or a negative errno: must not go on.
 */
int landlock_confine_snippet(void);

/* The same for a tool call, which may use TCP: its room's network namespace decides where to. */
int landlock_confine_call(void);

/*
 * Confines the calling thread to files below `data_dir` ("/" after a chroot), which it may read and write but not
 * execute; no new TCP servers or connections. Results as above.
 */
int landlock_confine_api(const char *data_dir);

/* Confines the calling thread to no file at all, and to TCP connections to `ports`. Results as above. */
int landlock_confine_egress(const uint16_t *ports, size_t port_count);
