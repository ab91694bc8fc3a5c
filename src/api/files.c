/* Kept files; see files.h. */
#include "api/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/file_headers.h"
#include "api/http.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "store/conversations.h"

/*
 * An address is of one content for ever, but the content may be deleted with its conversation: nobody but the reader
 * keeps it, and not for long.
 */
#define CACHE_CONTROL "private, max-age=3600, immutable"
/* Were the content opened as a page all the same: no script, no request, no part in the origin that it came from. */
#define CONTENT_POLICY "sandbox; default-src 'none'"

json_t *file_json(const struct store_file *file) {
        return json_pack("{s:s, s:o, s:I, s:s, s:s, s:s, s:s, s:o, s:b, s:o}", "file_id", file->id, "name",
                         json_string_nocheck(file->name), "size", (json_int_t)file->size, "media_type",
                         file->media_type, "sha256", file->sha256, "run_id", file->run_id, "conversation_id",
                         file->conversation, "created_at", time_ms_json(file->created_ms), "latest",
                         (int)file->latest, "url", json_sprintf("/v1/files/%s", file->id));
}

/* "?download=1": as an attachment, whatever it is. False: the request was refused. */
static bool read_download(struct http_request *request, bool *ret) {
        const char *text = http_query(request, "download");
        *ret = text && strcmp(text, "1") == 0;
        if (!text || *ret || strcmp(text, "0") == 0)
                return true;
        http_reply_error(request, HTTP_INVALID_REQUEST, "download",
                         "download must be 1 (as an attachment) or 0 (as the file's type has it).");
        return false;
}

static void add_headers(struct http_request *request, const struct store_file *file, const char *etag, bool download) {
        char disposition[DISPOSITION_BYTES];
        disposition_print(file->name, download || !media_type_is_harmless(file->media_type), disposition);
        http_reply_header(request, "Content-Disposition", disposition);
        http_reply_header(request, "Content-Security-Policy", CONTENT_POLICY);
        http_reply_header(request, "Cache-Control", CACHE_CONTROL);
        http_reply_header(request, "Vary", "Authorization, Cookie, X-Project"); /* two users of one browser */
        http_reply_header(request, "ETag", etag);
        http_reply_header(request, "Accept-Ranges", "bytes");
}

static struct range read_range(struct http_request *request, const char *etag, uint64_t size) {
        bool wanted = strcmp(request->method, "GET") == 0 && etag_allows_range(http_header(request, "If-Range"), etag);
        return range_parse(wanted ? http_header(request, "Range") : NULL, size);
}

static void answer_unsatisfiable(struct http_request *request, uint64_t size) {
        char content_range[48];
        snprintf(content_range, sizeof(content_range), "bytes */%" PRIu64, size);
        http_reply_header(request, "Content-Range", content_range);
        http_reply_error(request, HTTP_RANGE_NOT_SATISFIABLE, "Range",
                         "The file has %" PRIu64 " bytes; Range asks for a part beyond its end.", size);
}

/* Text is UTF-8, as nearly all of it is; without the word a browser would take it for Latin-1. */
static void print_type(const char *media_type, char *text, size_t size) {
        snprintf(text, size, "%s%s", media_type, strncmp(media_type, "text/", 5) == 0 ? "; charset=utf-8" : "");
}

static void answer_content(struct http_request *request, const struct store_file *file, int fd,
                           const struct range *range) {
        char type[STORE_MEDIA_TYPE_MAX + 32], content_range[96];
        if (range->kind == RANGE_PART) {
                snprintf(content_range, sizeof(content_range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRId64, range->offset,
                         range->offset + range->length - 1, file->size);
                http_reply_header(request, "Content-Range", content_range);
        }
        print_type(file->media_type, type, sizeof(type));
        http_reply_file(request, range->kind == RANGE_PART ? 206 : 200, type, fd, range->offset, range->length);
}

void files_handle_get(struct api *api, struct http_request *request) {
        struct store_file file;
        char etag[STORE_SHA256_TEXT + 3];
        bool download;

        if (!read_download(request, &download))
                return;
        int r = store_file_get(api->store, request->auth.project_id, request->params[0], &file);
        if (r == STORE_E_NOT_FOUND) {
                http_reply_error(request, HTTP_NOT_FOUND, NULL,
                                 "There is no file of this id: files go with their conversation. GET "
                                 "/v1/conversations/{id}/files (platformctl files list) lists those it has.");
                return;
        }
        if (r != 0) {
                answer_store_failure(request);
                return;
        }
        snprintf(etag, sizeof(etag), "\"%s\"", file.sha256);
        struct range range = read_range(request, etag, (uint64_t)file.size);
        bool known = etag_is_listed(http_header(request, "If-None-Match"), etag);
        if (!known && range.kind == RANGE_UNSATISFIABLE) {
                answer_unsatisfiable(request, (uint64_t)file.size);
                return;
        }
        int fd = known ? -1 : store_file_open(api->store, &file);
        if (!known && fd < 0) {
                answer_store_failure(request);
                return;
        }
        add_headers(request, &file, etag, download);
        if (known)
                http_reply_empty(request, 304);
        else
                answer_content(request, &file, fd, &range);
}
