/* Keeps runs that never were; see http_harness_keep.h. */
#include "http_harness_keep.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/conversation_events.h"
#include "api/http.h"
#include "run/base64.h"
#include "run/ids.h"
#include "store/conversations.h"

#define FILES_MAX_KEPT 16

struct kept {
        struct api *api;
        struct http_request *request;
        json_t *body;
        struct store_new_run run;
        struct store_new_file files[FILES_MAX_KEPT];
        char *reply;
};

static const char *text_of(const struct kept *kept, const char *name) {
        const char *text = json_string_value(json_object_get(kept->body, name));
        return text ? text : "";
}

/* On the writer's thread: nothing changes the body meanwhile. */
static const char *write_reply(void *data, size_t *ret_length) {
        struct kept *kept = data;
        json_t *reply = json_pack("{s:s, s:s, s:s}", "run_id", kept->run.run.id, "conversation_id",
                                  kept->run.run.conversation, "stdout", text_of(kept, "stdout"));
        kept->reply = json_dumps(reply, JSON_COMPACT);
        *ret_length = kept->reply ? strlen(kept->reply) : 0;
        json_decref(reply);
        return kept->reply;
}

static void on_saved(void *data, int result) {
        struct kept *kept = data;
        json_t *ids = json_array();
        for (size_t i = 0; i < kept->run.file_count; i++) {
                json_array_append_new(ids, json_string(kept->files[i].file.id));
                free((void *)(uintptr_t)kept->files[i].bytes);
        }
        if (result == 0)
                conversation_events_publish(kept->api->events, &kept->run.run);
        http_reply_json(kept->request, result == 0 ? 200 : 500,
                        json_pack("{s:s, s:o}", "run_id", kept->run.run.id, "files", ids));
        json_decref(kept->body);
        free(kept->reply);
        free(kept);
}

static void take_file(struct kept *kept, size_t index, json_t *object) {
        struct store_new_file *file = &kept->files[index];
        const char *name = json_string_value(json_object_get(object, "name"));
        const char *type = json_string_value(json_object_get(object, "media_type"));
        json_t *content = json_object_get(object, "content_base64");
        size_t length, wrong;
        unsigned char *bytes = malloc(BASE64_DECODED_MAX(json_string_length(content)) + 1);
        assert(bytes && name && type && content);
        int r = base64_decode(json_string_value(content), json_string_length(content), bytes, &length, &wrong);
        assert(r == 0);
        id_new(file->file.id, "file_");
        snprintf(file->file.name, sizeof(file->file.name), "%s", name);
        snprintf(file->file.media_type, sizeof(file->file.media_type), "%s", type);
        file->file.size = (int64_t)length;
        file->bytes = bytes;
}

static void describe(struct kept *kept, const struct store_conversation *conversation) {
        struct store_run *run = &kept->run.run;
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        id_new(run->id, "run_");
        run->project_id = kept->request->auth.project_id;
        run->exit_code = 3;
        run->started_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
        run->wall_us = 1500;
        run->cpu_us = 1250;
        run->memory_max_bytes = 4096;
        snprintf(run->conversation, sizeof(run->conversation), "%s", conversation->name);
        snprintf(run->agent, sizeof(run->agent), "%s", conversation->agent);
        snprintf(run->sandbox_id, sizeof(run->sandbox_id), "sbx_0123456789abcdef0123456789abcdef");
        snprintf(run->outcome, sizeof(run->outcome), "error");
        kept->run.conversation_id = conversation->id;
        kept->run.code = text_of(kept, "code");
        kept->run.code_length = strlen(kept->run.code);
        kept->run.files = kept->files;
        kept->run.write_reply = write_reply;
        kept->run.done = on_saved;
        kept->run.data = kept;
}

void harness_keep(struct api *api, struct http_request *request) {
        struct kept *kept = calloc(1, sizeof(*kept));
        struct store_conversation conversation;
        json_t *file;
        size_t i;

        assert(kept);
        kept->api = api;
        kept->request = request;
        kept->body = json_loadb(request->body, request->body_length, 0, NULL);
        assert(kept->body);
        int r = store_conversation_use(api->store, request->auth.project_id, text_of(kept, "conversation"),
                                       text_of(kept, "agent"), &conversation);
        assert(r == 0);
        json_array_foreach(json_object_get(kept->body, "files"), i, file)
                take_file(kept, i, file);
        kept->run.file_count = i;
        kept->run.run.files = (int64_t)i;
        describe(kept, &conversation);
        r = store_run_save(api->store, &kept->run);
        assert(r == 0);
}
