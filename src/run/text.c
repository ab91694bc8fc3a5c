/* Bytes as text; see text.h and table 3-7 of the Unicode standard. */
#include "run/text.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character that a first byte announces, and the range of its second byte. 0: no first byte. */
static size_t announced(unsigned char first, unsigned char *low, unsigned char *high) {
        *low = 0x80;
        *high = 0xbf;
        if (first >= 0xc2 && first <= 0xdf)
                return 2;
        if (first >= 0xe0 && first <= 0xef) {
                if (first == 0xe0)
                        *low = 0xa0; /* shorter forms are not allowed */
                else if (first == 0xed)
                        *high = 0x9f; /* surrogates neither */
                return 3;
        }
        if (first >= 0xf0 && first <= 0xf4) {
                if (first == 0xf0)
                        *low = 0x90;
                else if (first == 0xf4)
                        *high = 0x8f; /* above U+10FFFF */
                return 4;
        }
        return 0;
}

size_t text_step(const unsigned char *bytes, size_t length, bool *ret_valid) {
        unsigned char low, high;
        *ret_valid = false;
        if (bytes[0] < 0x80) {
                *ret_valid = true;
                return 1;
        }
        size_t wanted = announced(bytes[0], &low, &high);
        if (wanted == 0)
                return 1;
        for (size_t i = 1; i < wanted; i++) {
                if (i == length)
                        return 0;
                if (bytes[i] < low || bytes[i] > high)
                        return i;
                low = 0x80;
                high = 0xbf;
        }
        *ret_valid = true;
        return wanted;
}

/* Output is nearly always ASCII: eight bytes at a time. */
static size_t ascii_prefix(const unsigned char *bytes, size_t length) {
        size_t i = 0;
        for (; i + 8 <= length; i += 8) {
                uint64_t eight;
                memcpy(&eight, bytes + i, sizeof(eight));
                if (eight & UINT64_C(0x8080808080808080))
                        break;
        }
        while (i < length && bytes[i] < 0x80)
                i++;
        return i;
}

size_t text_valid_prefix(const char *bytes, size_t length) {
        const unsigned char *at = (const unsigned char *)bytes;
        size_t i = 0;
        while (i < length) {
                bool valid;
                i += ascii_prefix(at + i, length - i);
                if (i == length)
                        break;
                size_t step = text_step(at + i, length - i, &valid);
                if (!valid)
                        break;
                i += step;
        }
        return i;
}

size_t text_cut_off(const char *bytes, size_t length) {
        const unsigned char *at = (const unsigned char *)bytes;
        for (size_t back = 1; back <= 3 && back <= length; back++) {
                bool valid;
                if ((at[length - back] & 0xc0) == 0x80)
                        continue;
                return text_step(at + length - back, back, &valid) == 0 ? back : 0;
        }
        return 0;
}

size_t text_left_over(const char *bytes, size_t length) {
        size_t i = 0;
        while (i < length && i < 3 && ((unsigned char)bytes[i] & 0xc0) == 0x80)
                i++;
        return i;
}
