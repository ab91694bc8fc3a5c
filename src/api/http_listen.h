/*
 * The listening socket.
 *
 * Runs in the api process, before it jails itself. The address comes from the operator and is numeric: no name is
 * looked up.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Opens a socket that listens on "127.0.0.1:8080" or "[::1]:8080"; port 0 takes any free one. 0 or a negative errno. */
int http_listen(const char *address, int *ret_fd, struct err *e);

/* Takes one over that listens already, as the system's service manager opened it. 0 or a negative errno. */
int http_listen_take(int fd, struct err *e);

/* The address that a socket listens on, as text with its port, such as "127.0.0.1:8080". */
#define LISTEN_TEXT_BYTES 64
void http_listen_text(int fd, char text[LISTEN_TEXT_BYTES]);
