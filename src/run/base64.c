/* Strict base64; see base64.h. */
#include "run/base64.h"

#include <errno.h>
#include <stdint.h>

/* Value of a character, or 64 if it is none of the alphabet. */
static uint32_t value_of(unsigned char c) {
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* Decodes `digits` (2 to 4) characters of one group. Returns the number of good characters, `digits` if all are. */
static size_t decode_group(const char *text, size_t digits, unsigned char *to) {
        uint32_t bits = 0;
        for (size_t i = 0; i < 4; i++) {
                uint32_t value = i < digits ? value_of((unsigned char)text[i]) : 0;
                if (value > 63)
                        return i;
                bits = bits << 6 | value;
        }
        unsigned char bytes[3] = {(unsigned char)(bits >> 16), (unsigned char)(bits >> 8), (unsigned char)bits};
        for (size_t i = 0; i < 3; i++) {
                if (i < digits - 1)
                        to[i] = bytes[i];
                else if (bytes[i])
                        return digits - 1; /* bits that belong to no byte */
        }
        return digits;
}

int base64_decode(const char *text, size_t length, unsigned char *to, size_t *ret_length, size_t *ret_wrong) {
        size_t digits = length, written = 0;
        if (length % 4 != 0) {
                *ret_wrong = length;
                return -EINVAL;
        }
        while (digits > 0 && length - digits < 2 && text[digits - 1] == '=')
                digits--;
        for (size_t i = 0; i < digits; i += 4) {
                size_t here = digits - i < 4 ? digits - i : 4;
                size_t good = here < 2 ? 0 : decode_group(text + i, here, to + written);
                if (here < 2 || good < here) {
                        *ret_wrong = i + good;
                        return -EINVAL;
                }
                written += here - 1;
        }
        *ret_length = written;
        return 0;
}
