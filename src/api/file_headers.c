/* Headers of kept files; see file_headers.h. */
#include "api/file_headers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* ---- ranges */

static const char *skip_space(const char *text) {
        return text + strspn(text, " \t");
}

/* Digits, and what stands after them. A number too large for the type is as large as can be: beyond any file. */
static bool parse_position(const char **text, uint64_t *ret) {
        const char *from = *text;
        bool huge = false;
        *ret = 0;
        for (; **text >= '0' && **text <= '9'; (*text)++)
                huge = huge || __builtin_mul_overflow(*ret, 10, ret) ||
                       __builtin_add_overflow(*ret, (uint64_t)(**text - '0'), ret);
        if (huge)
                *ret = UINT64_MAX;
        return *text > from;
}

static struct range part(uint64_t first, uint64_t last, uint64_t size) {
        if (first >= size)
                return (struct range){.kind = RANGE_UNSATISFIABLE};
        if (last > size - 1)
                last = size - 1;
        return (struct range){.kind = RANGE_PART, .offset = first, .length = last - first + 1};
}

struct range range_parse(const char *header, uint64_t size) {
        const struct range whole = {.kind = RANGE_WHOLE, .length = size};
        uint64_t first, last = UINT64_MAX;
        if (!header || strncasecmp(header, "bytes=", strlen("bytes=")) != 0)
                return whole;
        header = skip_space(header + strlen("bytes="));
        bool has_first = parse_position(&header, &first);
        if (*header++ != '-')
                return whole;
        bool has_last = parse_position(&header, &last);
        if (*skip_space(header) || (!has_first && !has_last)) /* a comma: several */
                return whole;
        if (has_first) {
                if (!has_last)
                        last = UINT64_MAX;
                return last < first ? whole : part(first, last, size);
        }
        if (last == 0) /* the last 0 bytes */
                return (struct range){.kind = RANGE_UNSATISFIABLE};
        return part(last < size ? size - last : 0, UINT64_MAX, size);
}

/* ---- validators */

/* One entity tag at the start, and what stands after it; NULL where there is none. */
static const char *skip_etag(const char *text) {
        const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;
        return end ? end + 1 : NULL;
}

bool etag_is_listed(const char *header, const char *etag) {
        if (!header)
                return false;
        const char *at = skip_space(header);
        if (*at == '*')
                return !*skip_space(at + 1);
        while (*at) {
                if (strncmp(at, "W/", 2) == 0)
                        at += 2;
                const char *end = skip_etag(at);
                if (!end) /* no list of entity tags */
                        return false;
                if ((size_t)(end - at) == strlen(etag) && strncmp(at, etag, strlen(etag)) == 0)
                        return true;
                at = end + strspn(end, " \t,");
        }
        return false;
}

bool etag_allows_range(const char *header, const char *etag) {
        return !header || strcmp(header, etag) == 0;
}

/* ---- how it is shown */

bool media_type_is_harmless(const char *media_type) {
        static const char *const harmless[] = {"image/png",  "image/jpeg", "image/gif",
                                               "image/webp", "text/plain", "text/csv"};
        for (size_t i = 0; i < ARRAY_SIZE(harmless); i++)
                if (strcmp(media_type, harmless[i]) == 0)
                        return true;
        return false;
}

/* What every client takes within quotes. "%" is left out because some decode it there. */
static bool is_plain(char c) {
        return c >= ' ' && c <= '~' && !strchr("\"\\%", c);
}

static char *put_fallback(char *to, const char *name) {
        for (; *name; name++)
                *to++ = is_plain(*name) ? *name : '_';
        return to;
}

/* RFC 8187, attr-char: what needs no escape. */
static char *put_extended(char *to, const char *name) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~";
        static const char digits[] = "0123456789ABCDEF";
        for (; *name; name++) {
                unsigned char c = (unsigned char)*name;
                if (strchr(plain, c)) {
                        *to++ = (char)c;
                        continue;
                }
                *to++ = '%';
                *to++ = digits[c >> 4];
                *to++ = digits[c & 15];
        }
        return to;
}

void disposition_print(const char *name, bool attachment, char text[DISPOSITION_BYTES]) {
        const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
        char shortened[1025];
        bool plain = true;

        snprintf(shortened, sizeof(shortened), "%s", *base ? base : "file");
        for (const char *c = shortened; *c; c++)
                plain = plain && is_plain(*c);
        char *to = stpcpy(text, attachment ? "attachment; filename=\"" : "inline; filename=\"");
        to = stpcpy(put_fallback(to, shortened), "\"");
        if (!plain)
                to = put_extended(stpcpy(to, "; filename*=UTF-8''"), shortened);
        *to = '\0';
}
