/*
 * Messages with descriptors over AF_UNIX sockets (SCM_RIGHTS).
 *
 * Used by the spawner, the template, the room's init and the api process. Received descriptors are close-on-exec and
 * owned by the caller; nothing is left open on any error path.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define FDPASS_MAX 8

/* Sends one message whole. 0 or negative errno (-EAGAIN if the socket does not block and is full). */
int fdpass_send(int sock, const void *bytes, size_t length, const int *fds, size_t fd_count);

/*
 * Receives one message of at most `length` bytes and at most `fd_max` (≤ FDPASS_MAX) descriptors. Returns its length
 * (0: the other end is gone) or a negative errno; -EMSGSIZE for a message or a set of descriptors that is too large, of
 * which nothing is kept.
 */
ssize_t fdpass_recv(int sock, void *bytes, size_t length, int *fds, size_t fd_max, size_t *ret_fd_count);
