/* How often each key may ask; see ratelimit.h. */
#include "api/ratelimit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"

#define MINUTE_NS (60 * NS_PER_S)

/*
 * The bucket is kept as one moment: when it would be full. Each request moves it by the time in which one request is
 * refilled; it may lie at most a minute ahead. A bucket whose moment has passed is full, and need not be kept.
 */
struct bucket {
        int64_t key_id;
        uint64_t full_at_ns;
};

struct ratelimit {
        uint64_t each_ns;
        struct bucket *buckets;
        size_t count, size;
};

int ratelimit_new(int64_t per_minute, struct ratelimit **ret) {
        struct ratelimit *limit = calloc(1, sizeof(*limit));
        if (!limit)
                return -ENOMEM;
        limit->each_ns = MINUTE_NS / (uint64_t)per_minute;
        *ret = limit;
        return 0;
}

void ratelimit_free(struct ratelimit *limit) {
        if (!limit)
                return;
        free(limit->buckets);
        free(limit);
}

static void forget_full(struct ratelimit *limit, uint64_t now_ns) {
        size_t kept = 0;
        for (size_t i = 0; i < limit->count; i++)
                if (limit->buckets[i].full_at_ns > now_ns)
                        limit->buckets[kept++] = limit->buckets[i];
        limit->count = kept;
}

static struct bucket *find(struct ratelimit *limit, int64_t key_id, uint64_t now_ns) {
        for (size_t i = 0; i < limit->count; i++)
                if (limit->buckets[i].key_id == key_id)
                        return &limit->buckets[i];
        if (limit->count == limit->size)
                forget_full(limit, now_ns);
        if (limit->count == limit->size) {
                size_t size = limit->size ? limit->size * 2 : 64;
                struct bucket *buckets = reallocarray(limit->buckets, size, sizeof(*buckets));
                if (!buckets)
                        return NULL;
                limit->buckets = buckets;
                limit->size = size;
        }
        limit->buckets[limit->count] = (struct bucket){.key_id = key_id, .full_at_ns = now_ns};
        return &limit->buckets[limit->count++];
}

uint64_t ratelimit_take(struct ratelimit *limit, int64_t key_id, uint64_t now_ns) {
        struct bucket *bucket = find(limit, key_id, now_ns);
        if (!bucket)
                return limit->each_ns;
        if (bucket->full_at_ns < now_ns)
                bucket->full_at_ns = now_ns;
        uint64_t full_at_ns = bucket->full_at_ns + limit->each_ns;
        if (full_at_ns > now_ns + MINUTE_NS)
                return full_at_ns - now_ns - MINUTE_NS;
        bucket->full_at_ns = full_at_ns;
        return 0;
}
