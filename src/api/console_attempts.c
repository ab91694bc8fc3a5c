/* Slowing down those who try keys; see console_attempts.h. */
#include "api/console_attempts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"

#define ADDRESSES_MAX 4096

/* Whoever has an IPv6 address has a whole network of them, so its first half is what counts. */
struct source {
        unsigned char bytes[8];
        unsigned char family;
};

struct attempt {
        struct source source;
        unsigned failures;
        uint64_t failed_ns, free_ns;
};

struct console_attempts {
        size_t count;
        struct attempt all[ADDRESSES_MAX];
};

int console_attempts_new(struct console_attempts **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

void console_attempts_free(struct console_attempts *attempts) {
        free(attempts);
}

static struct source source_of(const char *address) {
        static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:a.b.c.d */
        struct source source = {.family = 4};
        unsigned char six[16];
        if (inet_pton(AF_INET, address, source.bytes) == 1 || inet_pton(AF_INET6, address, six) != 1)
                return source;
        if (memcmp(six, mapped, sizeof(mapped)) == 0) {
                memcpy(source.bytes, six + sizeof(mapped), 4);
                return source;
        }
        source.family = 6;
        memcpy(source.bytes, six, sizeof(source.bytes));
        return source;
}

static bool same(const struct source *a, const struct source *b) {
        return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool is_forgotten(const struct attempt *attempt, uint64_t now_ns) {
        return now_ns - attempt->failed_ns >= CONSOLE_ATTEMPTS_FORGET_S * NS_PER_S;
}

static struct attempt *find(struct console_attempts *attempts, const struct source *source, uint64_t now_ns) {
        for (size_t i = 0; i < attempts->count; i++)
                if (same(&attempts->all[i].source, source)) {
                        if (is_forgotten(&attempts->all[i], now_ns))
                                attempts->all[i].failures = 0;
                        return &attempts->all[i];
                }
        return NULL;
}

/* A place for a new address: an unused one, or that of the address that failed longest ago. */
static struct attempt *place(struct console_attempts *attempts) {
        struct attempt *oldest = &attempts->all[0];
        if (attempts->count < ADDRESSES_MAX)
                return &attempts->all[attempts->count++];
        for (size_t i = 1; i < attempts->count; i++)
                if (attempts->all[i].failed_ns < oldest->failed_ns)
                        oldest = &attempts->all[i];
        return oldest;
}

uint64_t console_attempts_wait_ns(struct console_attempts *attempts, const char *address, uint64_t now_ns) {
        const struct source source = source_of(address);
        const struct attempt *attempt = find(attempts, &source, now_ns);
        return attempt && attempt->failures && attempt->free_ns > now_ns ? attempt->free_ns - now_ns : 0;
}

/* 1 s after the first that is not free, then twice as long each time. */
static uint64_t wait_after(unsigned failures) {
        unsigned doublings = failures - CONSOLE_ATTEMPTS_FREE;
        if (failures < CONSOLE_ATTEMPTS_FREE)
                return 0;
        return doublings > 5 || (1U << doublings) > CONSOLE_ATTEMPTS_WAIT_S ? CONSOLE_ATTEMPTS_WAIT_S * NS_PER_S
                                                                            : (1U << doublings) * NS_PER_S;
}

void console_attempts_failed(struct console_attempts *attempts, const char *address, uint64_t now_ns) {
        const struct source source = source_of(address);
        struct attempt *attempt = find(attempts, &source, now_ns);
        if (!attempt) {
                attempt = place(attempts);
                *attempt = (struct attempt){.source = source};
        }
        if (attempt->failures < 1000)
                attempt->failures++;
        attempt->failed_ns = now_ns;
        attempt->free_ns = now_ns + wait_after(attempt->failures);
}
