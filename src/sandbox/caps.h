/*
 * Capabilities: give them up for good.
 *
 * Runs in every process that starts with privilege and goes on without: the child that becomes a snippet, a room's
 * init, the api process. Raw system calls, because libcap would be one more library in all of them. Works on the
 * calling thread.
 */
#pragma once

#include <stdint.h>

#define CAP_BIT(number) (UINT64_C(1) << (number))

/*
 * Empties every set: bounding, ambient, inheritable, permitted, effective; locks the securebits, so that neither exec
 * of a setuid-root file nor uid 0 gives any back, and changing IDs takes none away; reads all of it back. This needs
 * CAP_SETPCAP; keep it if you keep some now and drop the rest later. A caller without it must hold no capability any
 * more and have no_new_privs set, else the bounding set would still mean something. 0 or a negative errno.
 */
int caps_drop_all(void);

/* As above, but keeps `mask` (CAP_BIT(CAP_…) | …) effective, permitted and in the bounding set. */
int caps_keep_only(uint64_t mask);

/* Drops all but `keep` from the bounding set alone: what no exec can give back. Takes CAP_SETPCAP. */
int caps_bound(uint64_t keep);

/* What the calling thread may do now; 0 if that cannot be found out. */
uint64_t caps_effective(void);
