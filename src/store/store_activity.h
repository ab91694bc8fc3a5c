/*
 * Times of last activity that are not written yet: a map from a conversation's number to a time. Private to the store.
 *
 * Every use of a conversation changes its time, and must not cost a commit. So times are kept here and written together
 * with the next change, or some seconds later. The loop's thread notes and asks, the writer's takes; a lock is between
 * them. What the writer has taken can still be asked for until it is on the disk.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct activity_entry {
        int64_t id, ms; /* id 0: a free place */
};

struct activity_map {
        struct activity_entry *entries;
        size_t size, used; /* size: a power of two, or 0 */
};

struct activity {
        pthread_mutex_t lock;
        struct activity_map noted, taken;
};

int activity_init(struct activity *activity);
void activity_deinit(struct activity *activity);

/* -ENOMEM: nothing was noted. */
int activity_note(struct activity *activity, int64_t id, int64_t ms);
/* 0: nothing is noted for it. */
int64_t activity_of(struct activity *activity, int64_t id);
bool activity_is_noted(struct activity *activity);

/* What is to be written now: the map stays as it is until activity_settle. */
const struct activity_map *activity_take(struct activity *activity);
/* It has been written; or it has not, and is noted again. */
void activity_settle(struct activity *activity, bool written);
