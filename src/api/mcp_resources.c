/*
 * Resources of the MCP server: the files that runs of the conversation wrote.
 *
 * Runs in the api process. Addresses come from the network; names and contents of files were made by untrusted code. A
 * file is read as GET /v1/files/{id} would, so each is there for those who may have it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/mcp_private.h"
#include "api/mcp_result.h"
#include "api/subrequest.h"
#include "base/cleanup.h"
#include "run/json_out.h"
#include "run/text.h"

#define PAGE "100"
#define FILE_ID_MAX 64

struct mcp_read {
        struct mcp_reply *reply;
        struct subrequest *sub;
        char uri[sizeof(MCP_FILE_URI) + FILE_ID_MAX];
};

static void refuse(struct mcp_reply *reply, int code, const char *message, const char *param) {
        struct mcp_error e = {.code = 0};
        mcp_error_set(&e, code, "%s", message);
        e.data = param ? json_pack("{s:s}", "param", param) : NULL;
        mcp_reply_error(reply, &e);
}

static void on_cancel(void *data) {
        struct mcp_read *read = data;
        subrequest_cancel(read->sub);
        free(read);
}

/* Takes `target`, and `read` with it. */
static void ask(struct mcp_read *read, char *target, const struct subrequest_sink *sink) {
        struct mcp_reply *reply = read->reply;
        if (target && subrequest_start(reply->request, "GET", target, NULL, sink, read, &read->sub) == 0) {
                http_release_body(reply->request);
                mcp_reply_later(reply, false, on_cancel, read);
        } else {
                free(read);
                mcp_reply_result(reply, NULL);
        }
        free(target);
}

static struct mcp_read *read_new(struct mcp_reply *reply) {
        struct mcp_read *read = calloc(1, sizeof(*read));
        if (read)
                read->reply = reply;
        else
                mcp_reply_result(reply, NULL);
        return read;
}

/* An answer that is no 200. */
static void pass_on(struct mcp_reply *reply, unsigned status, const void *body, size_t length) {
        json_t *tree = json_loadb(body, length, JSON_ALLOW_NUL, NULL);
        struct mcp_error e = {.code = 0};
        json_t *result = mcp_result_of_refusal(status, tree, NULL, &e);
        json_decref(tree);
        if (!e.code) { /* only tools have results that are errors */
                const json_t *first = json_array_get(json_object_get(result, "content"), 0);
                mcp_error_set(&e, MCP_INTERNAL_ERROR, "%s", json_string_value(json_object_get(first, "text")));
        }
        json_decref(result);
        mcp_reply_error(reply, &e);
}

/* ---- lists */

static json_t *describe_file(const json_t *file) {
        const char *id = json_string_value(json_object_get(file, "file_id"));
        return json_pack("{s:o, s:O, s:O, s:O, s:{s:O}}", "uri", json_sprintf(MCP_FILE_URI "%s", id ? id : ""), "name",
                         json_object_get(file, "name"), "mimeType", json_object_get(file, "media_type"), "size",
                         json_object_get(file, "size"), "annotations", "lastModified",
                         json_object_get(file, "created_at"));
}

static void on_list(void *data, unsigned status, const char *content_type, const void *body, size_t length) {
        struct mcp_read *read = data;
        struct mcp_reply *reply = read->reply;
        (void)content_type;
        free(read);
        if (status == 400) {
                refuse(reply, MCP_INVALID_PARAMS, "cursor must be the nextCursor of an earlier answer.", "cursor");
                return;
        }
        if (status != 200 && status != 404) { /* a conversation begins with its first run */
                pass_on(reply, status, body, length);
                return;
        }
        json_t *tree = json_loadb(body, length, 0, NULL), *list = json_array(), *file;
        json_t *next = json_object_get(tree, "next");
        size_t i;
        json_array_foreach(json_object_get(tree, "files"), i, file)
                json_array_append_new(list, describe_file(file));
        json_t *result = json_pack("{s:o}", "resources", list);
        if (json_is_string(next))
                json_object_set(result, "nextCursor", next);
        json_decref(tree);
        mcp_reply_cacheable(reply, result);
}

void mcp_resources_list(struct mcp_reply *reply, json_t *params) {
        static const struct subrequest_sink sink = {.on_reply = on_list};
        const char *cursor = mcp_text(params, "cursor");
        if (!cursor && json_object_get(params, "cursor")) {
                refuse(reply, MCP_INVALID_PARAMS, "cursor must be the nextCursor of an earlier answer.", "cursor");
                return;
        }
        if (!reply->scope.conversation[0]) {
                mcp_reply_cacheable(reply, json_pack("{s:[]}", "resources"));
                return;
        }
        struct mcp_read *read = read_new(reply);
        if (!read)
                return;
        CLEANUP_FREE char *after = cursor ? subrequest_escape(cursor) : strdup("");
        char *target = NULL;
        if (after && asprintf(&target, "/v1/conversations/%s/files?latest=1&limit=" PAGE "%s%s",
                              reply->scope.conversation, cursor ? "&after=" : "", after) < 0)
                target = NULL;
        ask(read, target, &sink);
}

void mcp_resources_templates(struct mcp_reply *reply, json_t *params) {
        (void)params;
        mcp_reply_cacheable(reply, json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "resourceTemplates", "uriTemplate",
                                             MCP_FILE_URI "{file_id}", "name", "file", "title", "A file of a run",
                                             "description",
                                             "A file that run_python wrote, by the file_id that its result "
                                             "has."));
}

/* ---- contents */

/* malloc()ed, or NULL. */
static char *encode(const void *bytes, size_t length, size_t *ret_length) {
        struct json_out out;
        json_out_init(&out, length / 3 * 4 + 16);
        json_out_base64(&out, bytes, length); /* with quotes around it */
        if (out.failed) {
                json_out_deinit(&out);
                return NULL;
        }
        *ret_length = out.used;
        return out.bytes;
}

static json_t *contents(const char *uri, const char *content_type, const void *bytes, size_t length) {
        size_t type = content_type ? strcspn(content_type, ";") : 0, encoded;
        bool is_text = type > 0 &&
                       (strncmp(content_type, "text/", 5) == 0 || strncmp(content_type, "application/json", type) == 0);
        json_t *one = json_pack("{s:s, s:o*}", "uri", uri, "mimeType", type ? json_stringn(content_type, type) : NULL);
        if (is_text && text_valid_prefix(bytes, length) == length) {
                json_object_set_new(one, "text", json_stringn_nocheck(bytes, length));
                return one;
        }
        CLEANUP_FREE char *text = encode(bytes, length, &encoded);
        if (!text || encoded < 2) {
                json_decref(one);
                return NULL;
        }
        json_object_set_new(one, "blob", json_stringn_nocheck(text + 1, encoded - 2));
        return one;
}

static void refuse_unknown(struct mcp_reply *reply) {
        refuse(reply, mcp_has_handshake(reply->revision) ? MCP_RESOURCE_NOT_FOUND : MCP_INVALID_PARAMS,
               "There is no such resource: files go with their conversation.", "uri");
}

static void on_file(void *data, unsigned status, const char *content_type, const void *body, size_t length) {
        struct mcp_read *read = data;
        struct mcp_reply *reply = read->reply;
        json_t *one = status == 200 ? contents(read->uri, content_type, body, length) : NULL;
        free(read);
        if (status == 404)
                refuse_unknown(reply);
        else if (status != 200)
                pass_on(reply, status, body, length);
        else
                mcp_reply_cacheable(reply, one ? json_pack("{s:[o]}", "contents", one) : NULL);
}

void mcp_resources_read(struct mcp_reply *reply, json_t *params) {
        static const struct subrequest_sink sink = {.on_reply = on_file};
        const char *uri = mcp_text(params, "uri");
        size_t prefix = strlen(MCP_FILE_URI);
        char *target = NULL;
        if (!uri) {
                refuse(reply, MCP_INVALID_PARAMS, "params.uri must be the address of a resource.", "uri");
                return;
        }
        if (strncmp(uri, MCP_FILE_URI, prefix) != 0 ||
            !name_is_of(uri + prefix, NAME_LETTERS NAME_DIGITS, NAME_LETTERS NAME_DIGITS "_", FILE_ID_MAX)) {
                refuse_unknown(reply);
                return;
        }
        struct mcp_read *read = read_new(reply);
        if (!read)
                return;
        snprintf(read->uri, sizeof(read->uri), "%s", uri);
        if (asprintf(&target, "/v1/files/%s", uri + prefix) < 0)
                target = NULL;
        ask(read, target, &sink);
}
