/* JSON as it is written; see json_out.h. */
#include "run/json_out.h"

#include <inttypes.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/text.h"

#define SIZE_FIRST 1024

void json_out_init(struct json_out *out, size_t expected) {
        *out = (struct json_out){.bytes = NULL};
        json_out_reserve(out, expected < SIZE_FIRST ? SIZE_FIRST : expected);
}

void json_out_deinit(struct json_out *out) {
        free(out->bytes);
        *out = (struct json_out){.bytes = NULL};
}

void json_out_reserve(struct json_out *out, size_t more) {
        if (out->failed || out->size - out->used >= more)
                return;
        size_t wanted = out->used + more;
        if (wanted < out->size + out->size / 2)
                wanted = out->size + out->size / 2;
        char *bytes = realloc(out->bytes, wanted);
        if (!bytes) {
                out->failed = true;
                return;
        }
        out->bytes = bytes;
        out->size = wanted;
}

static void put(struct json_out *out, const char *bytes, size_t length) {
        json_out_reserve(out, length);
        if (out->failed || length == 0)
                return;
        memcpy(out->bytes + out->used, bytes, length);
        out->used += length;
}

void json_out_text(struct json_out *out, const char *text) {
        put(out, text, strlen(text));
}

/* Puts the comma that is due before a member or value, and notes that one stands here now. */
static void separate(struct json_out *out) {
        if (out->comma)
                put(out, ",", 1);
        out->comma = true;
}

void json_out_open(struct json_out *out, char bracket) {
        separate(out);
        put(out, &bracket, 1);
        out->comma = false;
}

void json_out_close(struct json_out *out, char bracket) {
        put(out, &bracket, 1);
        out->comma = true;
}

void json_out_key(struct json_out *out, const char *key) {
        json_out_string(out, key);
        put(out, ":", 1);
        out->comma = false;
}

static void put_escaped(struct json_out *out, unsigned char c) {
        static const char short_forms[32] = {
                ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
        };
        char text[8];
        if (c == '"' || c == '\\')
                snprintf(text, sizeof(text), "\\%c", c);
        else if (short_forms[c])
                snprintf(text, sizeof(text), "\\%c", short_forms[c]);
        else
                snprintf(text, sizeof(text), "\\u%04x", c);
        json_out_text(out, text);
}

static bool is_plain(unsigned char c) {
        return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

void json_out_quote_begin(struct json_out *out) {
        separate(out);
        put(out, "\"", 1);
}

void json_out_quote_part(struct json_out *out, const char *bytes, size_t length) {
        const unsigned char *at = (const unsigned char *)bytes;
        size_t i = 0, copied = 0; /* bytes from `copied` to `i` are fit to be copied as they are */
        if (length == 0)
                return;
        json_out_reserve(out, length);
        while (i < length) {
                bool valid = true;
                if (is_plain(at[i])) {
                        i++;
                        continue;
                }
                size_t step = at[i] < 0x80 ? 1 : text_step(at + i, length - i, &valid);
                if (at[i] >= 0x80 && valid) {
                        i += step;
                        continue;
                }
                put(out, bytes + copied, i - copied);
                if (valid)
                        put_escaped(out, at[i]);
                else
                        json_out_text(out, TEXT_REPLACEMENT);
                i += step > 0 ? step : length - i;
                copied = i;
        }
        put(out, bytes + copied, length - copied);
}

void json_out_quote_end(struct json_out *out) {
        put(out, "\"", 1);
}

void json_out_bytes(struct json_out *out, const char *bytes, size_t length) {
        json_out_quote_begin(out);
        json_out_quote_part(out, bytes, length);
        json_out_quote_end(out);
}

void json_out_string(struct json_out *out, const char *text) {
        if (text)
                json_out_bytes(out, text, strlen(text));
        else
                json_out_null(out);
}

void json_out_int(struct json_out *out, int64_t value) {
        char text[24];
        snprintf(text, sizeof(text), "%" PRId64, value);
        separate(out);
        json_out_text(out, text);
}

void json_out_milli(struct json_out *out, uint64_t thousandths) {
        char text[32];
        int length =
                snprintf(text, sizeof(text), "%" PRIu64 ".%03u", thousandths / 1000, (unsigned)(thousandths % 1000));
        while (text[length - 1] == '0')
                text[--length] = '\0';
        if (text[length - 1] == '.')
                text[--length] = '\0';
        separate(out);
        json_out_text(out, text);
}

void json_out_bool(struct json_out *out, bool value) {
        separate(out);
        json_out_text(out, value ? "true" : "false");
}

void json_out_null(struct json_out *out) {
        separate(out);
        json_out_text(out, "null");
}

void json_out_raw(struct json_out *out, const char *json, size_t length) {
        separate(out);
        put(out, json, length);
}

void json_out_base64(struct json_out *out, const void *bytes, size_t length) {
        json_out_quote_begin(out);
        json_out_reserve(out, length / 3 * 4 + 8);
        if (!out->failed && length > 0) {
                if (length > INT_MAX) {
                        out->failed = true;
                        return;
                }
                /* Writes a NUL after the text, for which there is room. */
                int written = EVP_EncodeBlock((unsigned char *)out->bytes + out->used, bytes, (int)length);
                out->used += (size_t)written;
        }
        json_out_quote_end(out);
}

void json_out_member_string(struct json_out *out, const char *key, const char *text) {
        json_out_key(out, key);
        json_out_string(out, text);
}

void json_out_member_int(struct json_out *out, const char *key, int64_t value) {
        json_out_key(out, key);
        json_out_int(out, value);
}

void json_out_member_milli(struct json_out *out, const char *key, uint64_t thousandths) {
        json_out_key(out, key);
        json_out_milli(out, thousandths);
}

void json_out_member_bool(struct json_out *out, const char *key, bool value) {
        json_out_key(out, key);
        json_out_bool(out, value);
}
