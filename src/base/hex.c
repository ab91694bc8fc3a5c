/* Hexadecimal digits; see hex.h. */
#include "base/hex.h"

static char digit(unsigned value) {
        return (char)('0' + value + (((9U - value) >> 8) & ('a' - '0' - 10)));
}

void hex_write(const void *bytes, size_t count, char *text) {
        const unsigned char *from = bytes;
        for (size_t i = 0; i < count; i++) {
                *text++ = digit(from[i] >> 4);
                *text++ = digit(from[i] & 15U);
        }
        *text = '\0';
}
