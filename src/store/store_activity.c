/* Times of last activity that are not written yet; see store_activity.h. */
#include "store/store_activity.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define FIRST_SIZE 64

/* ---- a map: open addressing, never more than half full, nothing is ever taken out alone */

static struct activity_entry *place_of(const struct activity_map *map, int64_t id) {
        size_t at = (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 20);
        for (;; at++) {
                struct activity_entry *entry = &map->entries[at & (map->size - 1)];
                if (entry->id == id || entry->id == 0)
                        return entry;
        }
}

static int64_t map_get(const struct activity_map *map, int64_t id) {
        return map->size ? place_of(map, id)->ms : 0;
}

static int grow(struct activity_map *map) {
        struct activity_map larger = {.size = map->size ? map->size * 2 : FIRST_SIZE, .used = map->used};
        larger.entries = calloc(larger.size, sizeof(*larger.entries));
        if (!larger.entries)
                return -ENOMEM;
        for (size_t i = 0; i < map->size; i++)
                if (map->entries[i].id)
                        *place_of(&larger, map->entries[i].id) = map->entries[i];
        free(map->entries);
        *map = larger;
        return 0;
}

static int map_put(struct activity_map *map, int64_t id, int64_t ms) {
        if (map->used * 2 >= map->size) {
                int r = grow(map);
                if (r < 0)
                        return r;
        }
        struct activity_entry *entry = place_of(map, id);
        if (!entry->id)
                map->used++;
        entry->id = id;
        if (ms > entry->ms)
                entry->ms = ms;
        return 0;
}

static void map_clear(struct activity_map *map) {
        free(map->entries);
        *map = (struct activity_map){.size = 0};
}

/* ---- under the lock */

int activity_init(struct activity *activity) {
        *activity = (struct activity){.noted.size = 0};
        return -pthread_mutex_init(&activity->lock, NULL);
}

void activity_deinit(struct activity *activity) {
        map_clear(&activity->noted);
        map_clear(&activity->taken);
        pthread_mutex_destroy(&activity->lock);
}

int activity_note(struct activity *activity, int64_t id, int64_t ms) {
        pthread_mutex_lock(&activity->lock);
        int r = map_put(&activity->noted, id, ms);
        pthread_mutex_unlock(&activity->lock);
        return r;
}

int64_t activity_of(struct activity *activity, int64_t id) {
        pthread_mutex_lock(&activity->lock);
        int64_t noted = map_get(&activity->noted, id), taken = map_get(&activity->taken, id);
        pthread_mutex_unlock(&activity->lock);
        return noted > taken ? noted : taken;
}

bool activity_is_noted(struct activity *activity) {
        pthread_mutex_lock(&activity->lock);
        bool noted = activity->noted.used > 0;
        pthread_mutex_unlock(&activity->lock);
        return noted;
}

const struct activity_map *activity_take(struct activity *activity) {
        pthread_mutex_lock(&activity->lock);
        activity->taken = activity->noted;
        activity->noted = (struct activity_map){.size = 0};
        pthread_mutex_unlock(&activity->lock);
        return &activity->taken;
}

/* Without memory to note them again, times are lost: the conversations seem idle for longer than they are. */
void activity_settle(struct activity *activity, bool written) {
        pthread_mutex_lock(&activity->lock);
        for (size_t i = 0; !written && i < activity->taken.size; i++)
                if (activity->taken.entries[i].id)
                        map_put(&activity->noted, activity->taken.entries[i].id, activity->taken.entries[i].ms);
        map_clear(&activity->taken);
        pthread_mutex_unlock(&activity->lock);
}
