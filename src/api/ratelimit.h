/*
 * How often each key may ask: a bucket of requests for each key, which refills evenly over a minute.
 *
 * Runs in the api process. Pure: the clock is an argument. Only keys that are valid get a bucket.
 */
#pragma once

#include <stdint.h>

struct ratelimit;

/* `per_minute` over 0. 0 or a negative errno. */
int ratelimit_new(int64_t per_minute, struct ratelimit **ret);
void ratelimit_free(struct ratelimit *limit);

/* Takes one request from the key's bucket. Returns 0, or how many nanoseconds until the next one is there. */
uint64_t ratelimit_take(struct ratelimit *limit, int64_t key_id, uint64_t now_ns);
