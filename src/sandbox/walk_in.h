/*
 * A child of the template walks into a room and is confined.
 *
 * Runs in the forked child, between clone and the first instruction of the runner; links nothing but libc. When it
 * returns, the process is an ordinary inhabitant of the room that holds no privilege and no descriptor but its own.
 */
#pragma once

/* Where the descriptors end up; RLIMIT_NOFILE is 1024 afterwards, so that a snippet cannot get such a number. */
enum { WALK_IN_CLAIM_FD = 1024, WALK_IN_REPORT_FD = 1025 };

struct profile;

struct walk_in_plan {
        const struct profile *profile;
        int room_fd;           /* pidfd of the room's init */
        int user_namespace_fd; /* of the room */
        int claim_fd, stdout_fd, stderr_fd;
        int report_fd;
};

/* On failure the spawner has been told. 0 or negative errno: the caller must end the process. */
int walk_in(struct walk_in_plan *plan);
