/* Error replies; see http_error.h. */
#include "api/http_error.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/json.h"
#include "base/cleanup.h"
#include "base/hex.h"

static const struct kind {
        unsigned status;
        const char *type;
        const char *phrase;
        const char *retry_after;
} kinds[HTTP_ERRORS] = {
        [HTTP_INVALID_REQUEST] = {400, "invalid_request", "Bad Request", NULL},
        [HTTP_UNAUTHORIZED] = {401, "unauthorized", "Unauthorized", NULL},
        [HTTP_FORBIDDEN] = {403, "forbidden", "Forbidden", NULL},
        [HTTP_NOT_FOUND] = {404, "not_found", "Not Found", NULL},
        [HTTP_METHOD_NOT_ALLOWED] = {405, "method_not_allowed", "Method Not Allowed", NULL},
        [HTTP_REQUEST_TIMEOUT] = {408, "request_timeout", "Request Timeout", NULL},
        [HTTP_CONFLICT] = {409, "conflict", "Conflict", NULL},
        [HTTP_TOO_LARGE] = {413, "too_large", "Content Too Large", NULL},
        [HTTP_UNSUPPORTED_MEDIA_TYPE] = {415, "unsupported_media_type", "Unsupported Media Type", NULL},
        [HTTP_RANGE_NOT_SATISFIABLE] = {416, "range_not_satisfiable", "Range Not Satisfiable", NULL},
        [HTTP_HEADERS_TOO_LARGE] = {431, "too_large", "Request Header Fields Too Large", NULL},
        [HTTP_SESSION_LIMIT] = {429, "session_limit", "Too Many Requests", NULL},
        [HTTP_QUOTA_EXCEEDED] = {429, "quota_exceeded", "Too Many Requests", NULL},
        [HTTP_RATE_LIMITED] = {429, "rate_limited", "Too Many Requests", "1"},
        [HTTP_INTERNAL] = {500, "internal", "Internal Server Error", NULL},
        [HTTP_OVERLOADED] = {503, "overloaded", "Service Unavailable", "1"},
};

unsigned http_error_status(enum http_error kind) {
        assert(kind < HTTP_ERRORS);
        return kinds[kind].status;
}

const char *http_error_type(enum http_error kind) {
        assert(kind < HTTP_ERRORS);
        return kinds[kind].type;
}

bool http_error_is_refusal(enum http_error kind) {
        switch (kind) {
        case HTTP_UNAUTHORIZED:
        case HTTP_FORBIDDEN:
        case HTTP_SESSION_LIMIT:
        case HTTP_QUOTA_EXCEEDED:
        case HTTP_RATE_LIMITED:
                return true;
        default:
                return false;
        }
}

const char *http_error_retry_after(enum http_error kind) {
        assert(kind < HTTP_ERRORS);
        return kinds[kind].retry_after;
}

json_t *http_error_body(enum http_error kind, const char *param, const char *message) {
        /* Messages may quote what a client sent, cut at any byte. */
        json_t *error = json_pack("{s:s, s:o}", "type", http_error_type(kind), "message",
                                  json_string_lossy(message, strlen(message)));
        if (error && param && *param)
                json_object_set_new(error, "param", json_string_lossy(param, strlen(param)));
        return json_pack("{s:o}", "error", error);
}

char *http_error_raw(enum http_error kind, const char *message, size_t *ret_length) {
        json_t *tree = http_error_body(kind, NULL, message);
        CLEANUP_FREE char *body = json_dumps(tree, JSON_COMPACT);
        const char *retry_after = http_error_retry_after(kind);
        char id[REQUEST_ID_BYTES + 1];
        char *reply;

        json_decref(tree);
        if (!body)
                return NULL;
        http_new_id(id);
        int length =
                asprintf(&reply,
                         "HTTP/1.1 %u %s\r\n"
                         "Content-Type: application/json\r\n"
                         "Content-Length: %zu\r\n"
                         "Cache-Control: no-store\r\n"
                         "X-Content-Type-Options: nosniff\r\n"
                         "X-Request-Id: %s\r\n"
                         "%s%s%s"
                         "Connection: close\r\n"
                         "\r\n"
                         "%s",
                         kinds[kind].status, kinds[kind].phrase, strlen(body), id, retry_after ? "Retry-After: " : "",
                         retry_after ? retry_after : "", retry_after ? "\r\n" : "", body);
        if (length < 0)
                return NULL;
        *ret_length = (size_t)length;
        return reply;
}

void http_new_id(char id[REQUEST_ID_BYTES + 1]) {
        unsigned char random[REQUEST_ID_BYTES / 2];
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                abort(); /* cannot fail for so few bytes since Linux 3.17 */
        hex_write(random, sizeof(random), id);
}
