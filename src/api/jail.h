/*
 * The api process jails itself, before it accepts its first connection.
 *
 * Runs in the api process, once, from root down to nothing: a root folder of its own, the service user, no capability,
 * no new privileges, Landlock, a system call filter. There is no way back. It does so in two parts, because the store
 * has a thread of its own: the first part is inherited by it, and the second, which forbids to make another one, holds
 * for both.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct config;

/* The service user: SANDBOX_USER by name or number, else the number after the sandboxes' range. Never root. */
int jail_find_user(const struct config *config, uid_t *ret_uid, gid_t *ret_gid, struct err *e);

/*
 * Everything but the filter; the caller must have one thread. `root_fd`, the folder that becomes "/", is closed. 0 or a
 * negative errno: the process must then end.
 */
int jail_enter(int root_fd, uid_t uid, gid_t gid, struct err *e);

/* No more threads, and the filter for all that there are. Before anything is read that somebody else may have written.
 */
int jail_seal(struct err *e);
