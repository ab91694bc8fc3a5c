/*
 * Trials of the host checks: each does the real thing in a child process and says how far it came. See probe.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Makes a user namespace with `uid_count` host IDs from `uid_base` on, as the service does. 0 or a negative errno. */
int trial_outer(uint64_t uid_base, uint64_t uid_count);

/* In such a namespace, another one with the namespaces `flags` (CLONE_NEW…) and one user. 0 or a negative errno. */
int trial_room(uint64_t uid_base, uint64_t uid_count, int flags);

/* As above, with all namespaces; mounts a tmpfs and a /proc of its own in it. `ret_step` names what failed. */
int trial_mounts(uint64_t uid_base, uint64_t uid_count, const char **ret_step);

/* Loads the filter for untrusted code and looks whether it holds. 0, a negative errno, or 1: it does not hold. */
int trial_seccomp(void);

/* Runs `function` in a child, which may change itself; returns what it returned. -EIO if the child died. */
int trial_run(int (*function)(void *data), void *data);
