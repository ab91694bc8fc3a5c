/* The warm pool; see pool.h. */
#include "sched/pool.h"

#include <assert.h>
#include <stddef.h>

void pool_init(struct pool *pool, const struct pool_settings *settings) {
        *pool = (struct pool){.settings = *settings};
}

static uint32_t total(const struct pool *pool) {
        return pool->parked + pool->creating + pool->leased + pool->retiring;
}

static bool can_create(const struct pool *pool) {
        return pool->open && !pool->stopping && pool->creating < pool->settings.creating_max &&
               total(pool) < pool->settings.total_max;
}

/* From when on one more is wanted; SCHED_NEVER if there are enough. */
static uint64_t wanted_from(const struct pool *pool, uint32_t demand) {
        uint64_t coming = (uint64_t)pool->parked + pool->creating;
        if (!can_create(pool) || coming >= (uint64_t)pool->settings.target + demand)
                return SCHED_NEVER;
        uint64_t from = coming < demand ? 0 : pool->quiet_until_ns;
        return from > pool->blocked_until_ns ? from : pool->blocked_until_ns;
}

bool pool_create_wanted(const struct pool *pool, uint32_t demand, uint64_t now_ns) {
        if (now_ns < wanted_from(pool, demand))
                return false;
        /* After a failure one at a time: a template that cannot fork is not asked for three children at once. */
        return pool->failures == 0 || pool->creating == 0;
}

void pool_creating(struct pool *pool) {
        pool->creating++;
}

static void note_failure(struct pool *pool, uint64_t now_ns) {
        const struct pool_settings *settings = &pool->settings;
        uint64_t pause = settings->backoff_first_ns;
        for (uint32_t i = 0; i < pool->failures && pause < settings->backoff_max_ns; i++)
                pause *= 2;
        if (pause > settings->backoff_max_ns)
                pause = settings->backoff_max_ns;
        pool->failures++;
        pool->failed_total++;
        pool->blocked_until_ns = now_ns + pause;
}

void pool_ready(struct pool *pool, struct pool_member *member, uint64_t now_ns) {
        assert(pool->creating > 0);
        pool->creating--;
        pool->created_total++;
        *member = (struct pool_member){.state = POOL_PARKED, .parked_at_ns = now_ns, .older = pool->newest};
        if (pool->newest)
                pool->newest->newer = member;
        else
                pool->oldest = member;
        pool->newest = member;
        pool->parked++;
}

void pool_failed(struct pool *pool, uint64_t now_ns) {
        assert(pool->creating > 0);
        pool->creating--;
        note_failure(pool, now_ns);
}

void pool_encourage(struct pool *pool) {
        pool->failures = 0;
        pool->blocked_until_ns = 0;
}

void pool_set_open(struct pool *pool, bool open) {
        pool->open = open;
}

void pool_stop(struct pool *pool) {
        pool->stopping = true;
}

bool pool_empty(const struct pool *pool) {
        return total(pool) == 0;
}

static void unpark(struct pool *pool, struct pool_member *member) {
        if (member->older)
                member->older->newer = member->newer;
        else
                pool->oldest = member->newer;
        if (member->newer)
                member->newer->older = member->older;
        else
                pool->newest = member->older;
        member->older = member->newer = NULL;
        pool->parked--;
}

struct pool_member *pool_lease(struct pool *pool, uint64_t now_ns) {
        struct pool_member *member = pool->oldest;
        if (!member)
                return NULL;
        unpark(pool, member);
        member->state = POOL_LEASED;
        pool->leased++;
        /* It lived until it was needed: earlier failures are history. Its birth alone would prove nothing, see
         * pool_gone. */
        pool_encourage(pool);
        pool->quiet_until_ns = now_ns + pool->settings.quiet_ns;
        return member;
}

void pool_discard(struct pool *pool, struct pool_member *member) {
        assert(member->state == POOL_LEASED && pool->leased > 0);
        member->state = POOL_RETIRING;
        pool->leased--;
        pool->retiring++;
        pool->quiet_until_ns = 0;
}

/* When the oldest parked one gets too old. */
static uint64_t overdue_at(const struct pool *pool) {
        return pool->oldest ? pool->oldest->parked_at_ns + pool->settings.age_max_ns : SCHED_NEVER;
}

struct pool_member *pool_overdue(struct pool *pool, uint64_t now_ns) {
        struct pool_member *member = pool->oldest;
        /* One at a time, so that a pool whose members are all of one age does not empty itself at once. */
        bool due = pool->stopping || (now_ns >= overdue_at(pool) && pool->retiring == 0);
        if (!member || !due)
                return NULL;
        unpark(pool, member);
        member->state = POOL_RETIRING;
        pool->retiring++;
        return member;
}

static void be_quiet(struct pool *pool, uint64_t now_ns) {
        pool->quiet_until_ns = pool->held > 0 ? now_ns + pool->settings.quiet_ns : now_ns;
}

void pool_hold(struct pool *pool, uint64_t now_ns) {
        pool->held++;
        be_quiet(pool, now_ns);
}

void pool_release(struct pool *pool, uint64_t now_ns) {
        assert(pool->held > 0);
        pool->held--;
        if (pool->held == 0)
                be_quiet(pool, now_ns);
}

void pool_gone(struct pool *pool, struct pool_member *member, uint64_t now_ns) {
        switch (member->state) {
        case POOL_PARKED:
                unpark(pool, member);
                if (now_ns < member->parked_at_ns + pool->settings.settled_ns)
                        note_failure(pool, now_ns);
                break;
        case POOL_LEASED:
                assert(pool->leased > 0);
                pool->leased--;
                be_quiet(pool, now_ns);
                break;
        case POOL_RETIRING:
                assert(pool->retiring > 0);
                pool->retiring--;
                break;
        }
}

uint64_t pool_next_ns(const struct pool *pool, uint32_t demand, uint64_t now_ns) {
        uint64_t next = pool->retiring > 0 ? SCHED_NEVER : overdue_at(pool);
        uint64_t wanted = wanted_from(pool, demand);
        bool waits_for_time = wanted > now_ns && (pool->failures == 0 || pool->creating == 0);
        return waits_for_time && wanted < next ? wanted : next;
}
