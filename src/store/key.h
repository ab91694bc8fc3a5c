/*
 * API keys: making, recognising, hashing, comparing.
 *
 * Runs in the api process. A key is 256 random bits, so a plain SHA-256 is all that is needed to keep it; the key
 * itself is shown once and never stored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define KEY_PREFIX "csk_" /* recognisable in logs and by secret scanners */
#define KEY_TEXT_BYTES (sizeof(KEY_PREFIX) + 64)
#define KEY_HASH_BYTES 32
#define KEY_HINT_BYTES 16 /* the start of a key, to tell keys apart in a list */

struct key_hash {
        unsigned char bytes[KEY_HASH_BYTES];
};

/* 0 or a negative errno. */
int key_generate(char text[KEY_TEXT_BYTES]);
int key_hash(const char *text, size_t length, struct key_hash *ret);
/* In a time that does not depend on where they differ. */
bool key_hash_equal(const struct key_hash *a, const struct key_hash *b);
void key_hint(const char *text, char hint[KEY_HINT_BYTES]);
