/*
 * The kinds of sandboxes, as a table: what is in the room, which limits it has, how the process in it is confined.
 *
 * Read by the spawner, by the future init of a room and by the process on its way into one. All of it is constant: an
 * api process that has been taken over can choose a row, and nothing in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/room.h"
#include "sandbox/seccomp.h"

struct profile {
        /* The room. */
        enum room_kind room;
        uint64_t memory_bytes; /* its cgroup; tmpfs counts */
        uint32_t pids, cpu_percent;

        bool network;   /* by way of the egress process; see network.h */
        bool own_image; /* SPAWN_CREATE names it; else the service's own */

        /* The process in it: see walk_in.c. */
        const char *const *arguments; /* a program in the room, executed; NULL: a copy of the template */
        uint64_t file_bytes; /* of one file, for what has no size of its own: RLIMIT_FSIZE */
        bool keeper;         /* sandbox/keeper.h */
        int (*landlock)(void);
        enum seccomp_policy filter;

        /* What the api process may ask of it, and what it gets. */
        uint32_t timeout_max_ms;
        bool session; /* may be claimed as one, and renewed */
        size_t ready_fds;
};

/* NULL: there is no such profile (enum spawn_profile). */
const struct profile *profile_find(uint32_t number);
