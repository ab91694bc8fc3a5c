/* Endpoints that show the audit log; see audit.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/http.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "store/audit.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000
#define NUMBER_BYTES 24
#define NUMBER_DIGITS_MAX 18

/* A number of a line, which is never 0. */
static bool parse_number(const char *text, uint64_t *ret) {
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > NUMBER_DIGITS_MAX || text[digits] || text[0] == '0')
                return false;
        *ret = strtoull(text, NULL, 10);
        return true;
}

static json_t *head_json(const struct audit_place *head) {
        return json_pack("{s:I, s:s}", "seq", (json_int_t)head->seq, "hash", head->hash);
}

/* ---- lines */

/* A line that somebody has been at, so that it is no JSON any more, is shown as what it is. */
static int add_line(void *data, const char *line, size_t length) {
        json_t *parsed = json_loadb(line, length, 0, NULL);
        if (!parsed)
                parsed = json_pack("{s:s}", "action", "audit.damaged");
        return json_array_insert_new(data, 0, parsed) < 0 ? -ENOMEM : 0;
}

void audit_handle_list(struct api *api, struct http_request *request) {
        char next[NUMBER_BYTES] = "";
        uint64_t first, after;
        struct page page;

        audit_flush(api);
        struct audit_place head = store_audit_head(api->store, &first);
        after = head.seq + 1;
        if (!page_read(request, PAGE_DEFAULT, PAGE_MAX, &page))
                return;
        if (*page.after && !parse_number(page.after, &after)) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "after",
                                 "after must be the number of a line, such as \"next\" of the page before.");
                return;
        }
        if (after > head.seq + 1)
                after = head.seq + 1;
        uint64_t from = after > page.limit ? after - page.limit : 1;
        json_t *list = json_array();
        int r = list ? store_audit_read(api->store, from, after - 1, add_line, list) : -ENOMEM;
        if (r < 0) {
                json_decref(list);
                answer_store_failure(request);
                return;
        }
        if (from > first)
                snprintf(next, sizeof(next), "%" PRIu64, from);
        http_reply_json(request, 200,
                        json_pack("{s:o, s:s?, s:o}", "audit", list, "next", *next ? next : NULL, "head",
                                  head_json(&head)));
}

/* ---- files */

void audit_handle_segments(struct api *api, struct http_request *request) {
        CLEANUP_FREE struct store_audit_segment *segments = NULL;
        size_t count = 0;
        uint64_t first;
        audit_flush(api);
        struct audit_place head = store_audit_head(api->store, &first);
        json_t *list = json_array();
        int r = store_audit_segments(api->store, &segments, &count);
        for (size_t i = 0; r == 0 && i < count; i++)
                json_array_append_new(list, json_pack("{s:I, s:I, s:o}", "first", (json_int_t)segments[i].first,
                                                      "bytes", (json_int_t)segments[i].bytes, "url",
                                                      json_sprintf("/v1/audit/segments/%" PRIu64, segments[i].first)));
        if (r == 0) {
                http_reply_json(request, 200, json_pack("{s:o, s:o}", "segments", list, "head", head_json(&head)));
                return;
        }
        json_decref(list);
        answer_store_failure(request);
}

void audit_handle_segment(struct api *api, struct http_request *request) {
        uint64_t first, bytes = 0;
        int fd = -1;
        audit_flush(api);
        int r = parse_number(request->params[0], &first) ? store_audit_open(api->store, first, &fd, &bytes)
                                                         : STORE_E_NOT_FOUND;
        if (r == STORE_E_NOT_FOUND)
                http_reply_error(request, HTTP_NOT_FOUND, NULL,
                                 "No file of the audit log begins with line \"%.24s\"; GET /v1/audit/segments lists "
                                 "them.",
                                 request->params[0]);
        else if (r < 0)
                answer_store_failure(request);
        else
                http_reply_file(request, 200, "application/x-ndjson", fd, 0, bytes);
}
