/* Base64; see base64.h. */
#include "cli/base64.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t length) {
        const unsigned char *in = bytes;
        if (length > SIZE_MAX / 2)
                return NULL;
        char *text = malloc((length + 2) / 3 * 4 + 1), *out = text;
        if (!text)
                return NULL;
        for (size_t i = 0; i < length; i += 3) {
                size_t left = length - i;
                uint32_t group =
                        (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
                *out++ = alphabet[group >> 18];
                *out++ = alphabet[group >> 12 & 63];
                *out++ = left > 1 ? alphabet[group >> 6 & 63] : '=';
                *out++ = left > 2 ? alphabet[group & 63] : '=';
        }
        *out = '\0';
        return text;
}

static int value_of(char c) {
        const char *place = c ? strchr(alphabet, c) : NULL;
        return place ? (int)(place - alphabet) : -1;
}

int base64_decode(const char *text, size_t length, void **ret, size_t *ret_length) {
        size_t padding = length >= 2 && text[length - 1] == '=' ? 1 + (text[length - 2] == '=') : 0;
        if (length % 4 != 0)
                return -EINVAL;
        unsigned char *bytes = malloc(length / 4 * 3 + 1), *out = bytes;
        if (!bytes)
                return -ENOMEM;
        for (size_t i = 0; i < length; i += 4) {
                uint32_t group = 0;
                for (size_t j = i; j < i + 4; j++) {
                        int value = j >= length - padding ? 0 : value_of(text[j]);
                        if (value < 0) {
                                free(bytes);
                                return -EINVAL;
                        }
                        group = group << 6 | (uint32_t)value;
                }
                *out++ = (unsigned char)(group >> 16);
                *out++ = (unsigned char)(group >> 8);
                *out++ = (unsigned char)group;
        }
        *ret = bytes;
        *ret_length = length / 4 * 3 - padding;
        return 0;
}
