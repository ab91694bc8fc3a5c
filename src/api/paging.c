/* Lists in pages; see paging.h. */
#include "api/paging.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/http.h"

/* ---- pages */

bool page_read(struct http_request *request, size_t initial, size_t max, struct page *page) {
        const char *limit = http_query(request, "limit");
        const char *after = http_query(request, "after");
        char *end;
        page->limit = initial;
        page->after = after ? after : "";
        if (!limit)
                return true;
        errno = 0;
        long number = strtol(limit, &end, 10);
        if (errno || end == limit || *end || number < 1 || (size_t)number > max) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "limit", "limit must be 1 to %zu.", max);
                return false;
        }
        page->limit = (size_t)number;
        return true;
}

void page_answer(struct http_request *request, const char *name, json_t *list, const char *next) {
        http_reply_json(request, 200, json_pack("{s:o, s:s?}", name, list, "next", next));
}

void answer_store_failure(struct http_request *request) {
        http_reply_error(request, HTTP_INTERNAL, NULL, "The database failed; the service's log says more.");
}

/* ---- points in time */

static size_t print_time(int64_t milliseconds, char *text, size_t size) {
        time_t seconds = milliseconds / 1000;
        struct tm utc;
        gmtime_r(&seconds, &utc);
        return strftime(text, size, "%Y-%m-%dT%H:%M:%S", &utc);
}

json_t *time_json(int64_t milliseconds) {
        char text[32];
        print_time(milliseconds, text, sizeof(text));
        return json_sprintf("%sZ", text);
}

json_t *time_ms_json(int64_t milliseconds) {
        char text[32];
        print_time(milliseconds, text, sizeof(text));
        return json_sprintf("%s.%03dZ", text, (int)(milliseconds % 1000));
}

/* ---- cursors: two numbers, as hexadecimal digits */

void cursor_print(struct store_cursor cursor, char text[CURSOR_TEXT_BYTES]) {
        snprintf(text, CURSOR_TEXT_BYTES, "%" PRIx64 "-%" PRIx64, (uint64_t)cursor.ms, (uint64_t)cursor.id);
}

/* One number, not negative, and what stands after it. strtoull would take signs and spaces as well. */
static bool parse_number(const char **text, int64_t *ret) {
        size_t digits = strspn(*text, "0123456789abcdef");
        if (digits == 0 || digits > 15)
                return false;
        *ret = (int64_t)strtoull(*text, NULL, 16);
        *text += digits;
        return true;
}

bool cursor_parse(const char *text, struct store_cursor *ret) {
        *ret = (struct store_cursor){0};
        if (!*text)
                return true;
        return parse_number(&text, &ret->ms) && *text++ == '-' && parse_number(&text, &ret->id) && !*text;
}
