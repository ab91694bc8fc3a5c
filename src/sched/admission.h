/*
 * Admission: which run goes next, which one has to wait, which one is turned away.
 *
 * Runs in the api process. Pure logic: no I/O, no clock, no memory of its own but a small array; the time is passed in.
 *
 * Every run enters the queue; it leaves it when a sandbox is there for it (admission_next), when it has waited too long
 * (admission_expired) or when nobody wants it any more (admission_cancel). At most `running_max` runs hold a sandbox.
 * Some runs are cold: theirs is made for them alone once it is their turn, so they do not wait for one of the pool.
 * Fairness is between lanes, one lane a project: lanes take turns, and within a lane the first comes first. When the
 * queue is full, the newcomer takes the place of the youngest of the longest lane, if that lane is longer than the
 * newcomer's own: a project that floods the service fills its own share of the queue and not that of the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/pool.h"

#define LANE_NAME_BYTES 72

struct admission_settings {
        uint32_t running_max;
        uint32_t queue_max; /* runs that wait although no more may run */
        uint64_t bytes_max; /* of what waiting runs hold in memory, together; one alone may be larger */
        uint64_t wait_max_ns;
};

struct admission_lane;

/* One run's place, embedded in the run. */
struct admission_ticket {
        struct admission_lane *lane; /* NULL: not in the queue */
        struct admission_ticket *ahead, *behind;
        uint64_t entered_ns;
        uint64_t bytes;
        bool cold;
};

struct admission_lane {
        char name[LANE_NAME_BYTES];
        struct admission_ticket *first, *last;
        uint32_t count;
        struct admission_lane *next; /* in the ring of lanes that have somebody waiting */
};

struct admission {
        struct admission_settings settings;
        struct admission_lane *turn; /* the lane before the one whose turn it is; NULL: nobody waits */
        uint32_t waiting, running;
        uint32_t waiting_cold; /* of those that wait */
        uint64_t waiting_bytes;
        uint64_t run_ns; /* how long a run holds its sandbox: a moving average */
        uint64_t refused_total, expired_total;
};

enum admission_verdict { ADMISSION_WAITS, ADMISSION_FULL };

void admission_init(struct admission *admission, const struct admission_settings *settings);
void admission_deinit(struct admission *admission);

/*
 * Puts a run, which holds `bytes` of memory, into the lane of its project. ADMISSION_FULL: turned away. On
 * ADMISSION_WAITS, `*ret_displaced` may be another run that had to go for it, already out of the queue, else NULL.
 * Negative errno if there is no memory.
 */
int admission_enter(struct admission *admission, struct admission_ticket *ticket, const char *lane, uint64_t bytes,
                    uint64_t now_ns, struct admission_ticket **ret_displaced);
/* The same for a run that is cold. */
int admission_enter_cold(struct admission *admission, struct admission_ticket *ticket, const char *lane, uint64_t bytes,
                         uint64_t now_ns, struct admission_ticket **ret_displaced);
/* Puts a run whose sandbox came to nothing back at the head of its lane, its wait as before. */
int admission_return(struct admission *admission, struct admission_ticket *ticket, const char *lane);

/* Runs that could start at once if the pool had sandboxes for them: cold ones do not count. */
uint32_t admission_demand(const struct admission *admission);
/* Whose turn it is; NULL if nobody waits or no more may run. It stays in the queue. */
struct admission_ticket *admission_peek(const struct admission *admission);
/* Lets one run through and counts it as running; NULL if nobody waits or no more may run. */
struct admission_ticket *admission_next(struct admission *admission);
/* The same among those that are cold. */
struct admission_ticket *admission_next_cold(struct admission *admission);
/* The sandbox of a run that was let through has ended after so long. */
void admission_release(struct admission *admission, uint64_t ran_ns);

/* Takes one run that has waited too long out of the queue, or NULL. Ask again after each. */
struct admission_ticket *admission_expired(struct admission *admission, uint64_t now_ns);
/* Takes a run out, wherever it stands; nothing happens if it is not in the queue. */
void admission_cancel(struct admission *admission, struct admission_ticket *ticket);
/* When the first of those that wait will have waited too long. */
uint64_t admission_next_ns(const struct admission *admission);

/* In how many seconds a client that is turned away now may come back with a chance: 1 … 60. */
uint32_t admission_retry_after_s(const struct admission *admission);
