/*
 * Slowing down those who try keys: after some wrong ones, an address has to wait, longer each time.
 *
 * Runs in the api process. Pure: the clock is an argument. Addresses are those of peers, as text; behind a proxy that
 * is the proxy's for everybody, so the wait is bounded by a minute.
 */
#pragma once

#include <stdint.h>

#define CONSOLE_ATTEMPTS_FREE 5       /* wrong keys that cost no waiting */
#define CONSOLE_ATTEMPTS_WAIT_S 60    /* the longest wait */
#define CONSOLE_ATTEMPTS_FORGET_S 900 /* after the last wrong key */

struct console_attempts;

/* 0 or a negative errno. */
int console_attempts_new(struct console_attempts **ret);
void console_attempts_free(struct console_attempts *attempts);

/* How long the address has to wait before it may try a key; 0: it may now. */
uint64_t console_attempts_wait_ns(struct console_attempts *attempts, const char *address, uint64_t now_ns);
/* It has tried a wrong one. A right one changes nothing, so that it cannot be used to hide guesses. */
void console_attempts_failed(struct console_attempts *attempts, const char *address, uint64_t now_ns);
