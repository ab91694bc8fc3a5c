/*
 * One sandbox as the spawner sees it: a room (its init), the process in it, a cgroup, a deadline.
 *
 *   BUILDING ── init cloned ──▶ FURNISHING ── room ready ──▶ WAITING ── template free ──▶ FORKING ── child made ──▶
 *   ENTERING ── confined ──▶ PARKED ── CLAIM ──▶ RUNNING ── main process dead ──▶ ENDING ── init dead ──▶ (gone)
 *
 * A profile with a program of its own needs no template: its process is made by a starter (starter.c) and executes.
 *
 *   FURNISHING ── room ready ──▶ STARTING ── child made ──▶ ENTERING ── confined, executed ──▶ PARKED …
 *
 * In a session (SPAWN_CLAIM_SESSION) the room outlives the process:
 *
 *   RUNNING ◀── CLAIM, REST ──▶ RESTING          RUNNING or RESTING ── main process dead, or killed ──▶ CLEARING
 *   CLEARING ── all else dead, files handed over ──▶ KEPT ── RENEW ──▶ WAITING … PARKED, under a new id
 *                                                    KEPT ── KILL, or nothing for half a minute ──▶ ENDING
 *
 * Anything that goes wrong on the way leads to ENDING with init killed. What waits has a timer, its own or the
 * template's, or an owner: the api process has sandboxes that are PARKED or RESTING, and its end is theirs.
 */
#pragma once

#include "sandbox/profile.h"
#include "spawner/spawner.h"

enum sandbox_state {
        SANDBOX_BUILDING,
        SANDBOX_FURNISHING,
        SANDBOX_WAITING,
        SANDBOX_FORKING,
        SANDBOX_STARTING,
        SANDBOX_ENTERING,
        SANDBOX_PARKED,
        SANDBOX_RUNNING,
        SANDBOX_RESTING,
        SANDBOX_CLEARING,
        SANDBOX_KEPT,
        SANDBOX_ENDING,
};

struct sandbox {
        struct sandbox *next;
        struct spawner *spawner;
        const struct profile *profile;
        enum sandbox_state state;
        struct sandbox_id id;
        uint64_t request; /* of SPAWN_CREATE or SPAWN_RENEW */
        uint64_t number;  /* names it to the template, and its cgroup */
        uint32_t uid;     /* in the outer user namespace */
        struct image *image; /* its own, or NULL */
        char work[32];       /* of an import: its folder in the store; "": none */
        bool swept;          /* that is empty, or being emptied */

        pid_t builder_pid, starter_pid, init_pid, main_pid, sweeper_pid; /* 0: not there, or reaped */
        int init_pidfd, main_pidfd;
        int init_orders; /* our end: orders and reports */
        int main_report; /* our end, until it is parked */
        struct loop_source *init_source, *report_source, *oom_source, *timer;

        /* The sandbox's ends, until they are handed on, and the api process's ends, until READY. */
        int claim_inside, stdout_inside, stderr_inside, main_report_inside;
        int ready_fds[SPAWN_READY_FDS];

        struct cgroup cgroup;
        uint64_t cpu_at_claim_us;
        uint64_t oom_kills_before; /* of earlier processes in the room */
        bool network;      /* the egress process knows it */
        bool session;      /* as claimed last: the room may outlive the process */
        bool confined;     /* its program is about to be executed */
        bool ready_sent;   /* the api process knows it by its id */
        bool counted_done; /* usage below is final */
        bool told;         /* SPAWN_EXITED or SPAWN_CREATE_FAILED is sent */
        uint32_t reason;   /* enum spawn_end; 0: none yet */
        uint32_t failed_step;
        int32_t failed_errno;
        int wait_status;
        struct cgroup_usage usage;
};

/*
 * Starts making one; `image` counts if the profile has one of its own. 0, or a negative errno if not even that was
 * possible (nothing is left then); -ENOENT if there is no such image.
 */
int sandbox_create(struct spawner *spawner, const struct profile *profile, struct sandbox_id image, uint64_t request);

struct sandbox *sandbox_find(struct spawner *spawner, struct sandbox_id id);
struct sandbox *sandbox_find_number(struct spawner *spawner, uint64_t number);

/*
 * The api process has given it a run, or a call of a session: the clock starts. -EPROTO if it is not free, or if its
 * profile has no such time or no sessions.
 */
int sandbox_claim(struct sandbox *sandbox, uint32_t timeout_ms, bool session);

/* The call is over: the clock stops, SPAWN_RESTED is sent. -EPROTO if none is on. */
int sandbox_rest(struct sandbox *sandbox);

/* Puts a new process into a kept room. Answered by SPAWN_READY or SPAWN_CREATE_FAILED. */
void sandbox_renew(struct sandbox *sandbox, uint64_t request);

/* Ends it for `reason`, unless it has one already; files are handed over if it ran. Of a session the room may stay. */
void sandbox_end(struct sandbox *sandbox, enum spawn_end reason);

/* Ends it because `step` failed with `error` (positive). */
void sandbox_fail(struct sandbox *sandbox, uint32_t step, int error);

/* The main process is there (error 0, its pidfd, now owned here), made by the template or a starter, or it is not. */
void sandbox_forked(struct sandbox *sandbox, int error, int main_pidfd);

/* A template is ready: those that wait for one go on. */
void sandbox_serve_waiting(struct spawner *spawner);

/*
 * In a child that the spawner has forked: closes its copies of the ends that go into sandboxes. Until it executes
 * something else it would keep their channels open, and the end of a run that meanwhile is over unseen. Those of `but`
 * stay, which may be NULL.
 */
void sandbox_close_inside_ends(const struct spawner *spawner, const struct sandbox *but);

/* A child of the spawner has died; true if it was one of a sandbox's. */
bool sandbox_reaped(struct spawner *spawner, pid_t pid, int wait_status);

/*
 * builder.c: makes the room's init, asynchronously; reports come over sandbox->init_orders. The descriptors stay the
 * caller's; the last is -1 if the room has no network.
 */
int builder_start(struct sandbox *sandbox, int init_orders_inside, int work_inside, int egress_inside);

/* starter.c: makes the main process of a room that executes a program; reports come over sandbox->main_report. */
int starter_start(struct sandbox *sandbox);
