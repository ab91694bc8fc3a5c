/*
 * The warm pool: how many sandboxes to keep waiting, when to make more, which one to hand out, which one to retire.
 *
 * Runs in the api process. Pure logic: no I/O, no clock. Whoever uses it passes the time (nanoseconds of any steady
 * clock) and carries the decisions out. Nothing here trusts or touches anything from outside.
 *
 * A sandbox is counted from the request to make it until the spawner says that it is gone:
 *
 *   pool_create_wanted → pool_creating ─┬→ pool_ready → parked ─┬→ pool_lease → leased ─→ pool_gone
 *                                       └→ pool_failed          └→ pool_overdue → retiring → pool_gone
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Nothing is due: the value of a point in time that never comes. */
#define SCHED_NEVER UINT64_MAX

struct pool_settings {
        uint32_t target;                           /* parked sandboxes to keep when nobody is waiting */
        uint32_t total_max;                        /* sandboxes of all kinds at a time: what the spawner allows */
        uint32_t creating_max;                     /* being made at a time */
        uint64_t age_max_ns;                       /* a parked sandbox older than this is replaced */
        uint64_t backoff_first_ns, backoff_max_ns; /* pause after a failure, doubled with each further one */
        uint64_t settled_ns; /* a parked sandbox that dies younger than this counts as a failure to make one */
        /*
         * Making a sandbox costs a good part of a CPU for tens of milliseconds, which the run that has just got one
         * needs more: its replacement waits until the run is over and kept, or for this time, which begins with each of
         * both.
         */
        uint64_t quiet_ns;
};

enum pool_state { POOL_PARKED = 1, POOL_LEASED, POOL_RETIRING };

/* One sandbox, embedded in whatever its user keeps of it. */
struct pool_member {
        enum pool_state state;
        uint64_t parked_at_ns;
        struct pool_member *older, *newer; /* among the parked */
};

struct pool {
        struct pool_settings settings;
        struct pool_member *oldest, *newest; /* parked ones, in the order in which they became ready */
        uint32_t parked, creating, leased, retiring;
        bool open;                 /* sandboxes can be made */
        bool stopping;             /* no more are made, and the parked ones are overdue */
        uint32_t failures;         /* since one was last of use */
        uint64_t blocked_until_ns; /* after failures */
        uint64_t quiet_until_ns;   /* nothing is made but for runs that wait */
        uint32_t held;             /* runs that are over and being kept */
        uint64_t created_total, failed_total;
};

void pool_init(struct pool *pool, const struct pool_settings *settings);

/* Whether one more sandbox should be made now, when `demand` runs are waiting for one. Ask again after each. */
bool pool_create_wanted(const struct pool *pool, uint32_t demand, uint64_t now_ns);
/* One more is being made. */
void pool_creating(struct pool *pool);
/* One that was being made is ready, and parked. */
void pool_ready(struct pool *pool, struct pool_member *member, uint64_t now_ns);
/* One that was being made is not to be: makes a pause that grows. */
void pool_failed(struct pool *pool, uint64_t now_ns);
/* There is news that make a new attempt worth while, such as a new template: ends the pause. */
void pool_encourage(struct pool *pool);
/* Nothing is made while it is closed, as long as the template does not serve; what is parked stays of use. Starts
 * closed. */
void pool_set_open(struct pool *pool, bool open);
/* The service ends: nothing is made any more, and all that are parked are overdue. */
void pool_stop(struct pool *pool);
/* There is no sandbox of any kind, and none being made. */
bool pool_empty(const struct pool *pool);

/* Takes the parked sandbox that has waited longest, or NULL. Old templates are so used up first. */
struct pool_member *pool_lease(struct pool *pool, uint64_t now_ns);
/* One that was just leased turns out to be dead or dying: it is retiring, and was of no use. */
void pool_discard(struct pool *pool, struct pool_member *member);
/* A parked sandbox that should be ended now, marked as retiring; NULL if there is none. Ask again after each. */
struct pool_member *pool_overdue(struct pool *pool, uint64_t now_ns);
/* A run is over, but the caller still waits: what it did is being kept. Then that is done. */
void pool_hold(struct pool *pool, uint64_t now_ns);
void pool_release(struct pool *pool, uint64_t now_ns);
/* The sandbox has ended, in whatever state it was. */
void pool_gone(struct pool *pool, struct pool_member *member, uint64_t now_ns);

/* When something will be due without any news: a pause or a quiet time ends, or a parked sandbox gets too old. */
uint64_t pool_next_ns(const struct pool *pool, uint32_t demand, uint64_t now_ns);
