/* Names that are unique for ever; see ids.h. */
#include "run/ids.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ULID_RANDOM_BYTES 10
#define ULID_CHARACTERS 26
#define DRAW_BYTES 256 /* the most that getrandom(2) gives without any way to fail or to be interrupted */

/* Random bytes are drawn in batches: a system call for each of a run's ids would be a good part of its cost. */
static void draw(uint8_t *bytes, size_t count) {
        static uint8_t pool[DRAW_BYTES];
        static size_t left;
        if (left < count) {
                if (getrandom(pool, sizeof(pool), 0) != (ssize_t)sizeof(pool))
                        abort(); /* an id that may repeat is worse than no service */
                left = sizeof(pool);
        }
        left -= count;
        memcpy(bytes, pool + left, count);
        memset(pool + left, 0, count);
}

static void put_base32(char *to, uint64_t value, int characters) {
        static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        for (int i = characters - 1; i >= 0; i--, value >>= 5)
                to[i] = digits[value & 31];
}

static uint64_t big_endian_40(const uint8_t *bytes) {
        uint64_t value = 0;
        for (int i = 0; i < 5; i++)
                value = value << 8 | bytes[i];
        return value;
}

void id_new(char id[ID_TEXT_BYTES], const char *prefix) {
        struct timespec now;
        uint8_t random[ULID_RANDOM_BYTES];
        char ulid[ULID_CHARACTERS + 1] = "";

        clock_gettime(CLOCK_REALTIME, &now);
        draw(random, sizeof(random));
        put_base32(ulid, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, 10);
        put_base32(ulid + 10, big_endian_40(random), 8);
        put_base32(ulid + 18, big_endian_40(random + 5), 8);
        snprintf(id, ID_TEXT_BYTES, "%s%s", prefix, ulid);
}

void id_of_sandbox(char id[ID_TEXT_BYTES], struct sandbox_id sandbox) {
        snprintf(id, ID_TEXT_BYTES, "sbx_%016" PRIx64 "%016" PRIx64, sandbox.high, sandbox.low);
}
