/*
 * The egress process gives up what it was started with, before it reads a byte that somebody else may have written.
 *
 * Runs once, in its only thread, from root down to nothing: a root folder with nothing in it, a user of its own, no
 * capability, no new privileges, Landlock (no file at all, TCP to the ports of the policy only), a system call filter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* `root_fd` is closed. 0 or a negative errno: the process must then end. */
int jail_enter(int root_fd, uid_t uid, const uint16_t *ports, size_t port_count, struct err *e);
