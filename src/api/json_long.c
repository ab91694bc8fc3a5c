/* Long strings of a JSON body; see json_long.h. */
#include "api/json_long.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "run/text.h"

#define QUOTED_MARK_MAX (JSON_LONG_MARK_BYTES + 24)

/* ---- one string: from what stands between its quotes to its bytes */

static bool has_control(const char *bytes, size_t length) {
        unsigned char found = 0;
        for (size_t i = 0; i < length; i++)
                found |= (unsigned char)bytes[i] < 0x20;
        return found;
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits after "\u", or -1. */
static int32_t read_unit(const char *from, const char *end) {
        int32_t unit = 0;
        if (end - from < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                int digit = hex_digit(from[i]);
                if (digit < 0)
                        return -1;
                unit = unit * 16 + digit;
        }
        return unit;
}

static char *put_character(char *to, uint32_t c) {
        if (c < 0x80) {
                *to++ = (char)c;
        } else if (c < 0x800) {
                *to++ = (char)(0xc0 | c >> 6);
                *to++ = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
                *to++ = (char)(0xe0 | c >> 12);
                *to++ = (char)(0x80 | (c >> 6 & 0x3f));
                *to++ = (char)(0x80 | (c & 0x3f));
        } else {
                *to++ = (char)(0xf0 | c >> 18);
                *to++ = (char)(0x80 | (c >> 12 & 0x3f));
                *to++ = (char)(0x80 | (c >> 6 & 0x3f));
                *to++ = (char)(0x80 | (c & 0x3f));
        }
        return to;
}

/* `from` is behind "\u". Characters above U+FFFF are two units, "\ud83d\ude00"; one of them alone is no character. */
static const char *unescape_unicode(const char *from, const char *end, char **to) {
        int32_t unit = read_unit(from, end);
        if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff))
                return NULL;
        from += 4;
        uint32_t c = (uint32_t)unit;
        if (unit >= 0xd800 && unit <= 0xdbff) {
                if (end - from < 6 || from[0] != '\\' || from[1] != 'u')
                        return NULL;
                int32_t low = read_unit(from + 2, end);
                if (low < 0xdc00 || low > 0xdfff)
                        return NULL;
                from += 6;
                c = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
        }
        *to = put_character(*to, c);
        return from;
}

/* `from` is behind the backslash. Returns where it goes on, or NULL. */
static const char *unescape(const char *from, const char *end, char **to) {
        static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        if (from == end)
                return NULL;
        if (*from == 'u')
                return unescape_unicode(from + 1, end, to);
        const char *letter = *from ? strchr(letters, *from) : NULL;
        if (!letter)
                return NULL;
        *(*to)++ = values[letter - letters];
        return from + 1;
}

/* No escape is shorter than what it stands for. What is wrong is a phrase in *ret_wrong, if the result is NULL. */
static json_t *read_string(const char *from, size_t length, const char **ret_wrong) {
        const char *end = from + length;
        CLEANUP_FREE char *bytes = malloc(length + 1);
        char *to = bytes;

        *ret_wrong = NULL;
        if (!bytes)
                return NULL;
        while (from < end) {
                const char *backslash = memchr(from, '\\', (size_t)(end - from));
                size_t run = (size_t)((backslash ? backslash : end) - from);
                *ret_wrong = has_control(from, run)                ? "control character"
                             : text_valid_prefix(from, run) != run ? "bytes that are not UTF-8"
                                                                   : NULL;
                if (*ret_wrong)
                        return NULL;
                to = mempcpy(to, from, run);
                from += run;
                if (backslash && !(from = unescape(backslash + 1, end, &to))) {
                        *ret_wrong = "invalid escape";
                        return NULL;
                }
        }
        return json_stringn_nocheck(bytes, (size_t)(to - bytes));
}

/* ---- the body */

/* Length of the string whose opening quote is before `from`, or `length` if it never ends. */
static size_t find_end(const char *from, size_t length) {
        size_t i = 0;
        while (i < length && from[i] != '"')
                i += from[i] == '\\' ? 2 : 1;
        return i < length ? i : length;
}

static bool is_name(const char *behind, size_t length) {
        size_t i = 0;
        while (i < length && memchr(" \t\r\n", behind[i], 4))
                i++;
        return i < length && behind[i] == ':';
}

static int keep(struct json_long *taken, json_t *string) {
        if (taken->count == taken->size) {
                size_t size = taken->size ? taken->size * 2 : 16;
                json_t **strings = reallocarray(taken->strings, size, sizeof(*strings));
                if (!strings)
                        return -ENOMEM;
                taken->strings = strings;
                taken->size = size;
        }
        taken->strings[taken->count++] = string;
        return 0;
}

static int make_mark(struct json_long *taken) {
        uint64_t random[2];
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return -EIO;
        snprintf(taken->mark, sizeof(taken->mark), "long-%016llx%016llx-", (unsigned long long)random[0],
                 (unsigned long long)random[1]);
        return 0;
}

static int take_string(struct json_long *taken, const char *bytes, size_t at, size_t length, size_t whole,
                       struct err *e) {
        const char *wrong;
        if (is_name(bytes + at + length + 1, whole - at - length - 1))
                return err_set(e, -EINVAL, "A name in the body is %zu bytes long.", length);
        json_t *string = read_string(bytes + at, length, &wrong);
        if (wrong)
                return err_set(e, -EINVAL, "The body is not valid JSON: %s in the string that begins at byte %zu.",
                               wrong, at);
        if (!string || keep(taken, string) < 0) {
                json_decref(string);
                return err_set(e, -ENOMEM, "The service has no memory left for this body.");
        }
        taken->rest_length += (size_t)sprintf(taken->rest + taken->rest_length, "%s%zu", taken->mark, taken->count - 1);
        return 0;
}

/* The rest is smaller than the body: a mark is shorter than what it stands for. */
static int take_all(struct json_long *taken, const char *bytes, size_t length, size_t threshold, struct err *e) {
        size_t copied = 0;
        for (size_t i = 0; i < length; i++) {
                const char *quote = memchr(bytes + i, '"', length - i);
                if (!quote)
                        break;
                i = (size_t)(quote - bytes) + 1;
                size_t string = find_end(bytes + i, length - i);
                if (string >= threshold && i + string < length) {
                        memcpy(taken->rest + taken->rest_length, bytes + copied, i - copied);
                        taken->rest_length += i - copied;
                        int r = take_string(taken, bytes, i, string, length, e);
                        if (r < 0)
                                return r;
                        copied = i + string;
                }
                i += string;
        }
        memcpy(taken->rest + taken->rest_length, bytes + copied, length - copied);
        taken->rest_length += length - copied;
        return 0;
}

int json_long_take(struct json_long *taken, const char *bytes, size_t length, size_t threshold, struct err *e) {
        *taken = (struct json_long){.rest = NULL};
        if (length < threshold)
                return 0;
        int r = make_mark(taken);
        if (r < 0)
                return err_set(e, r, "The service has no random numbers.");
        taken->rest = malloc(length + QUOTED_MARK_MAX * (length / (threshold + 2) + 1));
        if (!taken->rest)
                return err_set(e, -ENOMEM, "The service has no memory left for this body.");
        r = take_all(taken, bytes, length, threshold, e);
        if (r < 0)
                json_long_deinit(taken);
        return r;
}

/* ---- putting back */

/* Any string of the tree that begins with the mark is ours: a client would have had to guess 128 bits. */
static json_t *find_taken(const struct json_long *taken, const json_t *value) {
        size_t mark = strlen(taken->mark);
        if (!json_is_string(value) || strncmp(json_string_value(value), taken->mark, mark) != 0)
                return NULL;
        size_t index = strtoul(json_string_value(value) + mark, NULL, 10);
        return index < taken->count ? taken->strings[index] : NULL;
}

int json_long_restore(struct json_long *taken, json_t *tree) {
        const char *key;
        json_t *value, *string;
        void *next;
        size_t index;
        int r = 0;

        if (taken->count == 0)
                return 0;
        json_object_foreach_safe(tree, next, key, value) {
                string = find_taken(taken, value);
                if (string && json_object_set(tree, key, string) < 0)
                        r = -ENOMEM;
                if (!string && r == 0)
                        r = json_long_restore(taken, value);
        }
        json_array_foreach(tree, index, value) {
                string = find_taken(taken, value);
                if (string && json_array_set(tree, index, string) < 0)
                        r = -ENOMEM;
                if (!string && r == 0)
                        r = json_long_restore(taken, value);
        }
        return r;
}

void json_long_deinit(struct json_long *taken) {
        for (size_t i = 0; i < taken->count; i++)
                json_decref(taken->strings[i]);
        free(taken->strings);
        free(taken->rest);
        *taken = (struct json_long){.rest = NULL};
}
