/* Strict base64; see base64.h. */
#include "run/base64.h"

#include <errno.h>
#include <stdint.h>

/* The value of each character of the alphabet, plus one; 0 for all others. */
static const uint8_t places[256] = {
        ['A'] = 1, 2,  3,  4,  5,          6,  7,  8,  9,  10, 11,         12, 13, 14, 15,         16,
        17,        18, 19, 20, 21,         22, 23, 24, 25, 26, ['a'] = 27, 28, 29, 30, 31,         32,
        33,        34, 35, 36, 37,         38, 39, 40, 41, 42, 43,         44, 45, 46, 47,         48,
        49,        50, 51, 52, ['0'] = 53, 54, 55, 56, 57, 58, 59,         60, 61, 62, ['+'] = 63, ['/'] = 64,
};

/* Decodes `digits` (2 to 4) characters of one group. Returns the number of good characters, `digits` if all are. */
static size_t decode_group(const char *text, size_t digits, unsigned char *to) {
        uint32_t bits = 0;
        for (size_t i = 0; i < 4; i++) {
                uint32_t place = i < digits ? places[(unsigned char)text[i]] : 1;
                if (place == 0)
                        return i;
                bits = bits << 6 | (place - 1);
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

/* Whole groups as long as all is well: uploads are megabytes. Returns the number of characters taken. */
static size_t decode_quickly(const char *text, size_t digits, unsigned char *to) {
        const unsigned char *from = (const unsigned char *)text;
        size_t i = 0;
        for (; i + 4 <= digits; i += 4, to += 3) {
                uint32_t a = places[from[i]], b = places[from[i + 1]], c = places[from[i + 2]], d = places[from[i + 3]];
                if (!a || !b || !c || !d)
                        break;
                uint32_t bits = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
                to[0] = (unsigned char)(bits >> 16);
                to[1] = (unsigned char)(bits >> 8);
                to[2] = (unsigned char)bits;
        }
        return i;
}

int base64_decode(const char *text, size_t length, unsigned char *to, size_t *ret_length, size_t *ret_wrong) {
        size_t digits = length, written = 0;
        if (length % 4 != 0) {
                *ret_wrong = length;
                return -EINVAL;
        }
        while (digits > 0 && length - digits < 2 && text[digits - 1] == '=')
                digits--;
        size_t quick = decode_quickly(text, digits, to);
        written = quick / 4 * 3;
        for (size_t i = quick; i < digits; i += 4) {
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
