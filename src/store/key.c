/* API keys; see key.h. */
#include "store/key.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"

#define RANDOM_BYTES 32
#define HINT_CHARACTERS 9 /* the prefix and 20 bits: says which key, helps nobody to guess it */

int key_generate(char text[KEY_TEXT_BYTES]) {
        unsigned char random[RANDOM_BYTES];
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return -EIO;
        memcpy(text, KEY_PREFIX, strlen(KEY_PREFIX));
        hex_write(random, sizeof(random), text + strlen(KEY_PREFIX));
        explicit_bzero(random, sizeof(random));
        return 0;
}

int key_hash(const char *text, size_t length, struct key_hash *ret) {
        return SHA256((const unsigned char *)text, length, ret->bytes) ? 0 : -EIO;
}

bool key_hash_equal(const struct key_hash *a, const struct key_hash *b) {
        return CRYPTO_memcmp(a->bytes, b->bytes, KEY_HASH_BYTES) == 0;
}

/* A key that an operator chose may be short: less than half of it is shown. */
void key_hint(const char *text, char hint[KEY_HINT_BYTES]) {
        size_t shown = strlen(text) / 2;
        if (shown > HINT_CHARACTERS)
                shown = HINT_CHARACTERS;
        if (strncmp(text, KEY_PREFIX, strlen(KEY_PREFIX)) != 0)
                shown = 0;
        snprintf(hint, KEY_HINT_BYTES, "%.*s…", (int)shown, text);
}
