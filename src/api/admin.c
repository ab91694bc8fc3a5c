/* Projects and their keys; see admin.h. */
#include "api/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/audit.h"
#include "api/http.h"
#include "api/json.h"
#include "api/names.h"
#include "api/paging.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "run/ids.h"
#include "store/store.h"

#define PAGE_DEFAULT 100
#define PAGE_MAX 1000

/* ---- what clients see */

static json_t *project_json(const struct store_project *project) {
        return json_pack("{s:s, s:o}", "name", project->name, "created_at", time_json(project->created_ms));
}

static json_t *key_json(const struct store_key *key) {
        return json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", key->public_id, "project", key->project, "label",
                         key->label, "hint", key->hint, "created_at", time_json(key->created_ms));
}

/* ---- projects */

void admin_handle_projects_list(struct api *api, struct http_request *request) {
        struct page page;
        if (!page_read(request, PAGE_DEFAULT, PAGE_MAX, &page))
                return;
        CLEANUP_FREE struct store_project *projects = calloc(page.limit + 1, sizeof(*projects));
        int count = projects ? store_project_list(api->store, page.after, projects, page.limit + 1) : -ENOMEM;
        if (count < 0) {
                answer_store_failure(request);
                return;
        }
        bool more = (size_t)count > page.limit;
        json_t *list = json_array();
        for (size_t i = 0; i < (more ? page.limit : (size_t)count); i++)
                json_array_append_new(list, project_json(&projects[i]));
        page_answer(request, "projects", list, more ? projects[page.limit - 1].name : NULL);
}

static void answer_project_made(struct api *api, struct http_request *request, const struct store_project *project) {
        audit_add(api, request, AUDIT_PROJECT_CREATE, project->name, NULL);
        http_reply_json(request, 201, project_json(project));
}

void admin_handle_projects_create(struct api *api, struct http_request *request) {
        json_t *body, *name;
        const struct json_field fields[] = {
                {.name = "name", .want = JSON_WANT_STRING, .required = true, .value = &name},
        };
        struct store_project project;

        if (!json_decode_request(request, fields, ARRAY_SIZE(fields), &body))
                return;
        if (!name_is_valid(json_string_value(name))) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "name", "name must be " NAME_RULE ".");
                json_decref(body);
                return;
        }
        int r = store_project_create(api->store, json_string_value(name), &project);
        if (r == STORE_E_EXISTS)
                http_reply_error(request, HTTP_CONFLICT, "name", "There is a project \"%s\" already.",
                                 json_string_value(name));
        else if (r < 0)
                answer_store_failure(request);
        else
                answer_project_made(api, request, &project);
        json_decref(body);
}

/* The project that the path names; the request is answered if there is none. */
static bool find_project(struct api *api, struct http_request *request, struct store_project *project) {
        int r = store_project_find(api->store, request->params[0], project);
        if (r == STORE_E_NOT_FOUND)
                http_reply_error(request, HTTP_NOT_FOUND, NULL,
                                 "There is no project \"%.64s\". GET /v1/projects (platformctl projects list) lists "
                                 "those there are.",
                                 request->params[0]);
        else if (r < 0)
                answer_store_failure(request);
        return r == 0;
}

void admin_handle_projects_get(struct api *api, struct http_request *request) {
        struct store_project project;
        if (find_project(api, request, &project))
                http_reply_json(request, 200, project_json(&project));
}

/* ---- keys */

void admin_handle_keys_list(struct api *api, struct http_request *request) {
        struct store_project project;
        struct page page;
        if (!find_project(api, request, &project) || !page_read(request, PAGE_DEFAULT, PAGE_MAX, &page))
                return;
        CLEANUP_FREE struct store_key *keys = calloc(page.limit + 1, sizeof(*keys));
        int count = keys ? store_key_list(api->store, project.id, page.after, keys, page.limit + 1) : -ENOMEM;
        if (count < 0) {
                answer_store_failure(request);
                return;
        }
        bool more = (size_t)count > page.limit;
        json_t *list = json_array();
        for (size_t i = 0; i < (more ? page.limit : (size_t)count); i++)
                json_array_append_new(list, key_json(&keys[i]));
        page_answer(request, "keys", list, more ? keys[page.limit - 1].public_id : NULL);
}

static int make_key(struct store_key *key, const struct store_project *project, const char *label,
                    char text[KEY_TEXT_BYTES]) {
        char id[ID_TEXT_BYTES];
        *key = (struct store_key){.project_id = project->id};
        id_new(id, "key_");
        snprintf(key->public_id, sizeof(key->public_id), "%s", id);
        snprintf(key->project, sizeof(key->project), "%s", project->name);
        snprintf(key->label, sizeof(key->label), "%s", label);
        int r = key_generate(text);
        if (r < 0)
                return r;
        key_hint(text, key->hint);
        return key_hash(text, strlen(text), &key->hash);
}

void admin_handle_keys_create(struct api *api, struct http_request *request) {
        json_t *body, *label;
        const struct json_field fields[] = {
                {.name = "label", .want = JSON_WANT_STRING, .max = STORE_LABEL_MAX, .value = &label},
        };
        struct store_project project;
        struct store_key key;
        char text[KEY_TEXT_BYTES];

        if (!find_project(api, request, &project) || !json_decode_request(request, fields, ARRAY_SIZE(fields), &body))
                return;
        int r = make_key(&key, &project, label ? json_string_value(label) : "", text);
        if (r == 0)
                r = store_key_create(api->store, &key);
        json_decref(body);
        if (r != 0) {
                answer_store_failure(request);
                return;
        }
        log_info("a key was made", "key", key.public_id, "project", key.project, "request", request->id);
        audit_add(api, request, AUDIT_KEY_CREATE, key.public_id, json_pack("{s:s}", "project", key.project));
        json_t *reply = key_json(&key);
        json_object_set_new(reply, "key", json_string(text)); /* shown this once */
        explicit_bzero(text, sizeof(text));
        http_reply_json(request, 201, reply);
}

static void answer_no_key(struct http_request *request) {
        http_reply_error(request, HTTP_NOT_FOUND, NULL,
                         "This project has no key \"%.64s\". GET /v1/projects/{name}/keys (platformctl keys list) lists "
                         "those it has.",
                         request->params[1]);
}

void admin_handle_keys_get(struct api *api, struct http_request *request) {
        struct store_project project;
        struct store_key key;
        if (!find_project(api, request, &project))
                return;
        int r = store_key_get(api->store, project.id, request->params[1], &key);
        if (r == STORE_E_NOT_FOUND)
                answer_no_key(request);
        else if (r < 0)
                answer_store_failure(request);
        else
                http_reply_json(request, 200, key_json(&key));
}

void admin_handle_keys_delete(struct api *api, struct http_request *request) {
        struct store_project project;
        if (!find_project(api, request, &project))
                return;
        int r = store_key_revoke(api->store, project.id, request->params[1]);
        if (r == STORE_E_NOT_FOUND) {
                answer_no_key(request);
        } else if (r < 0) {
                answer_store_failure(request);
        } else {
                log_info("a key was revoked", "key", request->params[1], "project", project.name, "request",
                         request->id);
                audit_add(api, request, AUDIT_KEY_REVOKE, request->params[1],
                          json_pack("{s:s}", "project", project.name));
                http_reply_empty(request, 204);
        }
}
