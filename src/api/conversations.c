/* Conversations with their runs and files; see conversations.h. */
#include "api/conversations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/conversation_events.h"
#include "api/files.h"
#include "api/http.h"
#include "api/paging.h"
#include "api/runs.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "session/sessions.h"
#include "store/conversations.h"

#define PAGE_DEFAULT 50
#define PAGE_MAX 200

static void answer_no_conversation(struct http_request *request) {
        http_reply_error(request, HTTP_NOT_FOUND, NULL,
                         "This project has no conversation of this id: it never had a run, was deleted, or is over. "
                         "GET /v1/conversations (platformctl conversations list) lists those there are.");
}

static json_t *conversation_json(const struct config *config, const struct store_conversation *conversation) {
        int64_t expires_ms = conversation->active_ms + config->conversation_ttl_s * 1000;
        return json_pack("{s:s, s:s?, s:o, s:o, s:o, s:I, s:I, s:I}", "conversation_id", conversation->name, "agent",
                         *conversation->agent ? conversation->agent : NULL, "created_at",
                         time_ms_json(conversation->created_ms), "active_at", time_ms_json(conversation->active_ms),
                         "expires_at", time_ms_json(expires_ms), "run_count", (json_int_t)conversation->runs,
                         "file_count", (json_int_t)conversation->files, "bytes", (json_int_t)conversation->bytes);
}

/* ---- conversations */

static bool read_cursor(struct http_request *request, const struct page *page, struct store_cursor *cursor) {
        if (cursor_parse(page->after, cursor))
                return true;
        http_reply_error(request, HTTP_INVALID_REQUEST, "after",
                         "after must be the value of `next` from the page before; leave it out for the first page.");
        return false;
}

void conversations_handle_list(struct api *api, struct http_request *request) {
        const struct store_filter filter = {http_query(request, "agent"), http_query(request, "q")};
        struct store_cursor cursor;
        struct page page;
        char next[CURSOR_TEXT_BYTES];

        if (!page_read(request, PAGE_DEFAULT, PAGE_MAX, &page) || !read_cursor(request, &page, &cursor))
                return;
        CLEANUP_FREE struct store_conversation *all = calloc(page.limit + 1, sizeof(*all));
        int count = all ? store_conversation_list(api->store, request->auth.project_id, &filter, cursor, all,
                                                  page.limit + 1)
                        : -ENOMEM;
        if (count < 0) {
                answer_store_failure(request);
                return;
        }
        bool more = (size_t)count > page.limit;
        json_t *list = json_array();
        for (size_t i = 0; i < (more ? page.limit : (size_t)count); i++)
                json_array_append_new(list, conversation_json(api->config, &all[i]));
        if (more) {
                const struct store_conversation *last = &all[page.limit - 1];
                cursor_print((struct store_cursor){.ms = last->active_ms, .id = last->id}, next);
        }
        page_answer(request, "conversations", list, more ? next : NULL);
}

static bool find(struct api *api, struct http_request *request, const char *name, struct store_conversation *ret) {
        int r = store_conversation_find(api->store, request->auth.project_id, name, ret);
        if (r == STORE_E_NOT_FOUND)
                answer_no_conversation(request);
        else if (r != 0)
                answer_store_failure(request);
        return r == 0;
}

bool conversation_require(struct api *api, struct http_request *request, const char *name) {
        struct store_conversation conversation;
        return find(api, request, name, &conversation);
}

json_t *conversation_describe(struct api *api, int64_t project_id, const char *name) {
        struct store_conversation conversation;
        return store_conversation_find(api->store, project_id, name, &conversation) == 0
                       ? conversation_json(api->config, &conversation)
                       : NULL;
}

void conversations_handle_get(struct api *api, struct http_request *request) {
        struct store_conversation conversation;
        if (find(api, request, request->params[0], &conversation))
                http_reply_json(request, 200, conversation_json(api->config, &conversation));
}

void conversations_handle_delete(struct api *api, struct http_request *request) {
        const char *name = request->params[0];
        sessions_end(api->sessions, request->auth.project_id, name, SESSION_LOSS_DELETED);
        int r = store_conversation_delete(api->store, request->auth.project_id, name);
        if (r == STORE_E_NOT_FOUND) {
                answer_no_conversation(request);
        } else if (r != 0) {
                answer_store_failure(request);
        } else {
                log_info("a conversation was deleted", "project", request->auth.project, "request", request->id);
                audit_add(api, request, AUDIT_CONVERSATION_DELETE, name, NULL);
                conversation_events_end(api->events, request->auth.project_id, name);
                http_reply_empty(request, 204);
        }
}

/* ---- what it holds: pages that go on after an id */

static void answer_bad_after(struct http_request *request, const char *of) {
        http_reply_error(request, HTTP_INVALID_REQUEST, "after",
                         "after must be the id of a %s of this conversation; leave it out for the first page.", of);
}

static void answer_no_list(struct http_request *request, int result, const char *what) {
        if (result == STORE_E_NOT_FOUND)
                answer_bad_after(request, what);
        else
                answer_store_failure(request);
}

void conversations_handle_runs(struct api *api, struct http_request *request) {
        const char *name = request->params[0];
        struct page page;
        size_t count = 0;

        if (!page_read(request, PAGE_DEFAULT, PAGE_MAX, &page) || !conversation_require(api, request, name))
                return;
        CLEANUP_FREE struct store_run *runs = calloc(page.limit + 1, sizeof(*runs));
        int r = runs ? store_run_list(api->store, request->auth.project_id, name, page.after, runs, page.limit + 1,
                                      &count)
                     : -ENOMEM;
        if (r != 0) {
                answer_no_list(request, r, "run");
                return;
        }
        bool more = count > page.limit;
        json_t *list = json_array();
        for (size_t i = 0; i < (more ? page.limit : count); i++)
                json_array_append_new(list, run_json(&runs[i]));
        page_answer(request, "runs", list, more ? runs[page.limit - 1].id : NULL);
}

/* "?latest=1": of each name the last one only. False: the request was refused. */
static bool read_latest(struct http_request *request, bool *ret) {
        const char *text = http_query(request, "latest");
        *ret = text && strcmp(text, "1") == 0;
        if (!text || *ret || strcmp(text, "0") == 0)
                return true;
        http_reply_error(request, HTTP_INVALID_REQUEST, "latest",
                         "latest must be 1 (of each name the last version) or 0 (every version).");
        return false;
}

void conversations_handle_files(struct api *api, struct http_request *request) {
        const char *name = request->params[0];
        struct page page;
        size_t count = 0;
        bool latest;

        if (!page_read(request, PAGE_DEFAULT, PAGE_MAX, &page) || !read_latest(request, &latest) ||
            !conversation_require(api, request, name))
                return;
        CLEANUP_FREE struct store_file *files = calloc(page.limit + 1, sizeof(*files));
        int r = files ? store_file_list(api->store, request->auth.project_id, name, latest, page.after, files,
                                        page.limit + 1, &count)
                      : -ENOMEM;
        if (r != 0) {
                answer_no_list(request, r, "file");
                return;
        }
        bool more = count > page.limit;
        json_t *list = json_array();
        for (size_t i = 0; i < (more ? page.limit : count); i++)
                json_array_append_new(list, file_json(&files[i]));
        page_answer(request, "files", list, more ? files[page.limit - 1].id : NULL);
}
