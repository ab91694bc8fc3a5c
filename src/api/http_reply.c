/* Replies that are whole: JSON, bytes, errors; see http.h. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/audit.h"
#include "api/door.h"
#include "api/http_exchange.h"
#include "api/json.h"
#include "base/cleanup.h"

#define FILE_BLOCK_BYTES 65536

/* Sent when there is no memory for the answer itself. */
static const char out_of_memory[] =
        "{\"error\":{\"type\":\"internal\",\"message\":\"The service has no memory left for this answer.\"}}";

static bool has_header(const struct http_exchange *exchange, const char *name) {
        for (size_t i = 0; i < exchange->header_count; i++)
                if (strcasecmp(exchange->headers[i].name, name) == 0)
                        return true;
        return false;
}

static void add_headers(struct http_exchange *exchange, struct MHD_Response *response, const char *content_type) {
        if (content_type)
                MHD_add_response_header(response, "Content-Type", content_type);
        if (!has_header(exchange, "Cache-Control"))
                MHD_add_response_header(response, "Cache-Control", "no-store");
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(response, "X-Request-Id", exchange->request.id);
        if (*exchange->request.trace)
                MHD_add_response_header(response, "traceparent", exchange->request.trace);
        for (size_t i = 0; i < exchange->header_count; i++)
                MHD_add_response_header(response, exchange->headers[i].name, exchange->headers[i].value);
}

void exchange_set_response(struct http_exchange *exchange, unsigned status, struct MHD_Response *response,
                           const char *content_type) {
        if (!response) {
                status = 500;
                content_type = "application/json";
                response = MHD_create_response_from_buffer(sizeof(out_of_memory) - 1, (void *)(uintptr_t)out_of_memory,
                                                           MHD_RESPMEM_PERSISTENT);
        }
        if (!response) { /* not even that: close without an answer */
                exchange->dropped = true;
                return;
        }
        add_headers(exchange, response, content_type);
        exchange->status = status;
        exchange->response = response;
}

/* ---- the wire: responses of libmicrohttpd */

struct file_part {
        int fd;
        uint64_t offset, length;
};

static ssize_t read_part(void *data, uint64_t position, char *buffer, size_t size) {
        const struct file_part *part = data;
        if (position >= part->length)
                return MHD_CONTENT_READER_END_OF_STREAM;
        if (size > part->length - position)
                size = (size_t)(part->length - position);
        ssize_t count = pread(part->fd, buffer, size, (off_t)(part->offset + position));
        return count > 0 ? count : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_part(void *data) {
        struct file_part *part = data;
        close(part->fd);
        free(part);
}

static struct MHD_Response *file_response(const struct reply_content *content) {
        struct MHD_Response *response = NULL;
        struct file_part *part = malloc(sizeof(*part));
        if (part) {
                *part = (struct file_part){.fd = content->fd, .offset = content->offset, .length = content->length};
                response = MHD_create_response_from_callback(content->length, FILE_BLOCK_BYTES, read_part, part,
                                                             free_part);
        }
        if (!response) {
                close(content->fd);
                free(part);
        }
        return response;
}

static struct MHD_Response *bytes_response(const struct reply_content *content) {
        bool taken = content->kind == CONTENT_TAKEN;
        struct MHD_Response *response = NULL;
        if (content->bytes)
                response = MHD_create_response_from_buffer(content->length, content->bytes,
                                                           taken ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
        if (!response && taken)
                free(content->bytes);
        return response;
}

void wire_reply(struct http_exchange *exchange, unsigned status, const char *content_type,
                const struct reply_content *content) {
        exchange_set_response(exchange, status,
                              content->kind == CONTENT_FILE ? file_response(content) : bytes_response(content),
                              content_type);
}

/* ---- what handlers call */

static void reply(struct http_request *request, unsigned status, const char *content_type,
                  const struct reply_content *content) {
        struct http_exchange *exchange = exchange_of(request);
        assert(!exchange->ended && !exchange->status);
        exchange->outlet->reply(exchange, status, content_type, content);
        exchange_end(exchange);
}

void http_reply_header(struct http_request *request, const char *name, const char *value) {
        struct http_exchange *exchange = exchange_of(request);
        assert(!exchange->status && exchange->header_count < REPLY_HEADERS_MAX);
        char *copy = strdup(value);
        if (!copy)
                return;
        exchange->headers[exchange->header_count].name = name;
        exchange->headers[exchange->header_count++].value = copy;
}

void http_reply_take(struct http_request *request, unsigned status, const char *content_type, char *bytes,
                     size_t length) {
        reply(request, status, content_type,
              &(struct reply_content){.kind = CONTENT_TAKEN, .bytes = bytes, .length = length});
}

void http_reply_static(struct http_request *request, unsigned status, const char *content_type, const void *bytes,
                       size_t length) {
        reply(request, status, content_type,
              &(struct reply_content){.kind = CONTENT_STATIC, .bytes = (char *)(uintptr_t)bytes, .length = length});
}

void http_reply_bytes(struct http_request *request, unsigned status, const char *content_type, const void *bytes,
                      size_t length) {
        char *copy = malloc(length + 1);
        if (copy)
                memcpy(copy, bytes, length);
        http_reply_take(request, status, content_type, copy, length);
}

void http_reply_json(struct http_request *request, unsigned status, json_t *body) {
        char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
        json_decref(body);
        http_reply_take(request, status, "application/json", text, text ? strlen(text) : 0);
}

void http_reply_file(struct http_request *request, unsigned status, const char *content_type, int fd, uint64_t offset,
                     uint64_t length) {
        reply(request, status, content_type,
              &(struct reply_content){.kind = CONTENT_FILE, .fd = fd, .offset = offset, .length = length});
}

void http_reply_empty(struct http_request *request, unsigned status) {
        http_reply_static(request, status, NULL, "", 0);
}

/* At a front door, errors look as its clients know them, those from before its handler too. */
static void reply_error_body(struct http_request *request, enum http_error kind, const char *param,
                             const char *message) {
        unsigned status = http_error_status(kind);
        enum door door = route_door(request->route);
        if (door == DOOR_NONE) {
                http_reply_json(request, status, http_error_body(kind, param, message));
                return;
        }
        json_t *clean = json_string_lossy(message, strlen(message));
        json_t *body = door_error_body(door, status, http_error_type(kind), json_string_value(clean));
        json_decref(clean);
        http_reply_json(request, door_error_status(door, status), body);
}

void http_reply_error(struct http_request *request, enum http_error kind, const char *param, const char *format, ...) {
        struct http_exchange *exchange = exchange_of(request);
        const char *retry_after = http_error_retry_after(kind);
        char message[1024];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
        if (retry_after && !has_header(exchange, "Retry-After"))
                http_reply_header(request, "Retry-After", retry_after);
        if (kind == HTTP_UNAUTHORIZED)
                http_reply_header(request, "WWW-Authenticate", "Bearer");
        if (http_error_is_refusal(kind))
                audit_refused(exchange->server->api, request, http_error_type(kind), param);
        reply_error_body(request, kind, param, message);
}

void http_drop(struct http_request *request) {
        struct http_exchange *exchange = exchange_of(request);
        exchange->dropped = true;
        exchange_end(exchange);
}
