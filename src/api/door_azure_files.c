/*
 * Azure's dynamic sessions: files; see door_azure.h.
 *
 * Files of a session are the latest kept files of its conversation. A file that is sent is written by a run in the
 * session, so that it is in the working directory and is kept like all that runs write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/door_azure.h"
#include "api/door_call.h"
#include "api/door_multipart.h"
#include "api/http.h"
#include "base/cleanup.h"
#include "run/json_out.h"

#define FILE_BYTES_MAX (4 << 20) /* of a file that is kept */
#define ARRIVAL ".arrived"       /* its name until it is moved into place */
#define OLD_VERSION "2024-02-02-preview"

struct files {
        struct door_call call; /* first */
        bool old;              /* OLD_VERSION */
        json_t *list;          /* what was listed so far */
        char *wanted, *identifier;
};

static struct files *files_of(struct door_call *call) {
        return (struct files *)(void *)call;
}

static void files_deinit(struct door_call *call) {
        json_decref(files_of(call)->list);
        free(files_of(call)->wanted);
        free(files_of(call)->identifier);
}

static bool begin(struct api *api, struct http_request *request, const char *wanted, struct door_call **ret) {
        const char *identifier, *version = http_query(request, "api-version");
        if (!door_begin(api, request, sizeof(struct files), files_deinit, ret) ||
            !(identifier = azure_identifier(*ret)))
                return false;
        struct files *files = files_of(*ret);
        files->old = version && strcmp(version, OLD_VERSION) == 0;
        files->identifier = strdup(identifier);
        files->wanted = strdup(wanted);
        files->list = json_array();
        if (files->identifier && files->wanted && files->list)
                return true;
        door_refuse(*ret, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
        return false;
}

static json_t *describe(const struct files *files, const json_t *file) {
        json_t *name = json_object_get(file, "name"), *size = json_object_get(file, "size");
        json_t *time = json_object_get(file, "created_at");
        if (files->old)
                return json_pack("{s:{s:O, s:O, s:O*}}", "properties", "filename", name, "size", size,
                                 "lastModifiedTime", time);
        return json_pack("{s:O, s:s, s:O, s:O, s:O*}", "name", name, "type", "file", "contentType",
                         json_object_get(file, "media_type"), "sizeInBytes", size, "lastModifiedAt", time);
}

/* ---- lists */

static void ask_for_page(struct door_call *call, const char *after);

static void finish_list(struct door_call *call);

static void on_page(struct door_call *call, unsigned status, json_t *reply) {
        struct files *files = files_of(call);
        const char *next = json_string_value(json_object_get(reply, "next"));
        if (status != 200 && status != 404) { /* 404: nothing has run yet */
                door_pass_error(call, status, reply);
                return;
        }
        json_array_extend(files->list, json_object_get(reply, "files"));
        if (next)
                ask_for_page(call, next);
        else
                finish_list(call);
}

static void ask_for_page(struct door_call *call, const char *after) {
        CLEANUP_FREE char *query = NULL, *target = NULL;
        if (asprintf(&query, "/files?latest=1&limit=200%s%s", after ? "&after=" : "", after ? after : "") >= 0)
                target = door_target("/v1/conversations/", files_of(call)->identifier, query);
        door_ask(call, "GET", target, NULL, on_page);
}

static void on_content(struct door_call *call, unsigned status, json_t *reply) {
        if (status != 200) {
                door_pass_error(call, status, reply);
                return;
        }
        http_reply_bytes(call->request, 200, "application/octet-stream", call->body, call->body_length);
        door_end(call);
}

static const json_t *find(const json_t *list, const char *name) {
        size_t i;
        json_t *file;
        json_array_foreach((json_t *)(uintptr_t)list, i,
                           file) if (strcmp(json_string_value(json_object_get(file, "name")), name) == 0) return file;
        return NULL;
}

static void send_file(struct door_call *call) {
        const struct files *files = files_of(call);
        const json_t *file = find(files->list, files->wanted);
        if (!file) {
                door_refuse(call, HTTP_NOT_FOUND, NULL, "There is no kept file \"%.200s\" in this session.",
                            files->wanted);
                return;
        }
        CLEANUP_FREE char *target = door_target("/v1/files/", json_string_value(json_object_get(file, "file_id")), "");
        door_ask(call, "GET", target, NULL, on_content);
}

static void finish_list(struct door_call *call) {
        struct files *files = files_of(call);
        json_t *list = json_array(), *file;
        size_t i;
        if (*files->wanted) {
                json_decref(list);
                send_file(call);
                return;
        }
        json_array_foreach(files->list, i, file) json_array_append_new(list, describe(files, file));
        door_reply(call, 200, json_pack("{s:o}", "value", list));
}

void azure_handle_files_list(struct api *api, struct http_request *request) {
        struct door_call *call;
        if (begin(api, request, "", &call))
                ask_for_page(call, NULL);
}

void azure_handle_files_get(struct api *api, struct http_request *request) {
        struct door_call *call;
        if (begin(api, request, request->params[0], &call))
                ask_for_page(call, NULL);
}

/* ---- sending one */

static void on_written(struct door_call *call, unsigned status, json_t *reply) {
        struct files *files = files_of(call);
        const json_t *file = find(json_object_get(reply, "files"), files->wanted);
        const char *errors = json_string_value(json_object_get(reply, "stderr"));
        if (status != 200)
                door_pass_error(call, status, reply);
        else if (!file)
                door_refuse(call, HTTP_INVALID_REQUEST, "file", "The file could not be written or kept: %.400s",
                            errors && *errors ? errors : "the project may keep no more.");
        else if (files->old)
                door_reply(call, 200, json_pack("{s:[o]}", "value", describe(files, file)));
        else
                door_reply(call, 200, describe(files, file));
}

static json_t *base64_of(const struct multipart_file *file) {
        struct json_out out;
        json_out_init(&out, file->length * 4 / 3 + 8);
        json_out_base64(&out, file->bytes, file->length);
        json_t *value = out.failed ? NULL : json_loadb(out.bytes, out.used, JSON_DECODE_ANY, NULL);
        json_out_deinit(&out);
        return value;
}

/* One expression without a value, which leaves no name behind in the session. */
static json_t *code_to_place(const char *name) {
        json_t *text = json_string(name);
        CLEANUP_FREE char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL; /* Python reads a text alike */
        json_decref(text);
        return quoted ? json_sprintf("__import__('os').renames('" ARRIVAL "', %s)", quoted) : NULL;
}

static json_t *run_to_write(const struct files *files, const struct multipart_file *file, json_t *code) {
        return json_pack("{s:s, s:o, s:b, s:[{s:s, s:o}]}", "conversation_id", files->identifier, "code", code,
                         "inline_files", 0, "files", "name", ARRIVAL, "content_base64", base64_of(file));
}

void azure_handle_files_upload(struct api *api, struct http_request *request) {
        struct door_call *call;
        struct multipart_file file;
        struct err e = {0};
        json_t *code;
        const char *folder = http_query(request, "path");
        int r = multipart_find_file(http_header(request, "Content-Type"), request->body, request->body_length, &file,
                                    &e);
        if (!begin(api, request, r == 0 ? file.name : "", &call))
                return;
        if (folder && strcmp(folder, "/mnt/data") != 0 && strcmp(folder, "/mnt/data/") != 0 && strcmp(folder, "/") != 0)
                door_refuse(call, HTTP_INVALID_REQUEST, "path", "path must be /mnt/data.");
        else if (r < 0)
                door_refuse_err(call, &e);
        else if (file.length > FILE_BYTES_MAX)
                door_refuse(call, HTTP_TOO_LARGE, "file", "The file has %zu bytes; at most %d are kept here.",
                            file.length, FILE_BYTES_MAX);
        else if (!(code = code_to_place(file.name)))
                door_refuse(call, HTTP_INVALID_REQUEST, "file", "The name of the file must be UTF-8.");
        else
                door_execute(call, AZURE_AGENT, run_to_write(files_of(call), &file, code), on_written);
}
