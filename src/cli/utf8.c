/* UTF-8; see utf8.h. */
#include "cli/utf8.h"

#include <string.h>

size_t utf8_length(unsigned char first) {
        if (first < 0x80)
                return 1;
        if (first >= 0xc2 && first <= 0xdf)
                return 2;
        if (first >= 0xe0 && first <= 0xef)
                return 3;
        return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t utf8_decode(const unsigned char *bytes, size_t length, uint32_t *ret) {
        static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t wanted = length > 0 ? utf8_length(bytes[0]) : 0;
        if (wanted == 0 || wanted > length)
                return 0;
        uint32_t character = wanted == 1 ? bytes[0] : bytes[0] & (0x7fU >> wanted);
        for (size_t i = 1; i < wanted; i++) {
                if ((bytes[i] & 0xc0) != 0x80)
                        return 0;
                character = character << 6 | (bytes[i] & 0x3f);
        }
        if (character < smallest[wanted] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
                return 0;
        *ret = character;
        return wanted;
}

size_t utf8_valid_prefix(const char *bytes, size_t length) {
        size_t valid = 0;
        while (valid < length) {
                uint32_t character;
                size_t used = utf8_decode((const unsigned char *)bytes + valid, length - valid, &character);
                if (used == 0)
                        break;
                valid += used;
        }
        return valid;
}

size_t utf8_columns(const char *text) {
        size_t columns = 0;
        for (; *text; text++)
                columns += ((unsigned char)*text & 0xc0) != 0x80;
        return columns;
}
