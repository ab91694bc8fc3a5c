/* E2B's code interpreter: contexts, and sandboxes as their names; see door_e2b.h. */
#include <stdio.h>
#include <string.h>

#include "api/door_call.h"
#include "api/door_e2b.h"
#include "api/http.h"
#include "api/http_error.h"
#include "base/cleanup.h"

#define WORK_FOLDER "/mnt/data"
#define CONTEXTS_MAX 200 /* of a sandbox, that are listed: a page of conversations */

#define ROUNDS_MAX 100 /* somebody may go on to make contexts while the others are deleted */

static const char *const context_fields[] = {"language", "cwd", NULL};

/* What a client sets for a sandbox that has no meaning here, or that it sends without being asked to. */
static const char *const sandbox_fields[] = {
        "templateID",          "timeout",    "metadata", "autoPause",
        "autoPauseMemory",     "autoResume", "secure",   "allow_internet_access",
        "allowInternetAccess", NULL,
};

struct context {
        struct door_call call; /* first */
        char name[E2B_NAME_MAX + 1];
        char conversation[E2B_CONVERSATION_BYTES];
        json_t *names;   /* of conversations to be deleted */
        unsigned rounds; /* in which that was done */
};

static struct context *context_of(struct door_call *call) {
        return (struct context *)(void *)call;
}

static void context_deinit(struct door_call *call) {
        json_decref(context_of(call)->names);
}

static bool begin(struct api *api, struct http_request *request, struct door_call **ret) {
        return door_begin(api, request, sizeof(struct context), context_deinit, ret);
}

static json_t *describe(const char *name) {
        return json_pack("{s:s, s:s, s:s}", "id", name, "language", "python", "cwd", WORK_FOLDER);
}

/* Made up here: so much of a random id as a name may have. */
static void make_name(char to[E2B_NAME_MAX + 1]) {
        char id[REQUEST_ID_BYTES + 1];
        http_new_id(id);
        snprintf(to, E2B_NAME_MAX + 1, "%s", id);
}

/* ---- contexts */

static void on_created(struct door_call *call, unsigned status, json_t *reply) {
        if (status == 200)
                door_reply(call, 200, describe(context_of(call)->name));
        else
                door_pass_error(call, status, reply);
}

/* A run of nothing makes the conversation and starts its interpreter, so that a context that cannot be had is said now.
 */
void e2b_handle_contexts_create(struct api *api, struct http_request *request) {
        struct door_call *call;
        const char *language, *folder;
        struct err e = {0};
        json_t *body;
        if (!begin(api, request, &call) || !(body = door_body(call, context_fields)))
                return;
        struct context *context = context_of(call);
        make_name(context->name);
        if (door_text(body, "language", &language, &e) < 0 || door_text(body, "cwd", &folder, &e) < 0)
                door_refuse_err(call, &e);
        else if (language && !e2b_is_python(language))
                door_refuse(call, HTTP_INVALID_REQUEST, "language",
                            "language must be \"python\": only Python is run here.");
        else if (folder && strcmp(folder, WORK_FOLDER) != 0)
                door_refuse(call, HTTP_INVALID_REQUEST, "cwd",
                            "cwd must be " WORK_FOLDER ", which is where code runs here.");
        else if (!e2b_conversation(request, context->name, context->conversation))
                door_end(call);
        else
                door_execute(call, E2B_AGENT,
                             json_pack("{s:s, s:s}", "code", "", "conversation_id", context->conversation), on_created);
        json_decref(body);
}

/* The name of a context of the sandbox whose conversations begin so, or NULL. */
static const char *name_in(const json_t *conversation, const char *prefix) {
        const char *id = json_string_value(json_object_get(conversation, "conversation_id"));
        size_t length = strlen(prefix);
        return id && strncmp(id, prefix, length) == 0 ? id + length : NULL;
}

static void on_list(struct door_call *call, unsigned status, json_t *reply) {
        json_t *contexts, *conversation;
        size_t i;
        if (status != 200) {
                door_pass_error(call, status, reply);
                return;
        }
        contexts = json_pack("[o]", describe(E2B_DEFAULT));
        json_array_foreach(json_object_get(reply, "conversations"), i, conversation) {
                const char *name = name_in(conversation, context_of(call)->conversation);
                if (name && strcmp(name, E2B_DEFAULT) != 0)
                        json_array_append_new(contexts, describe(name));
        }
        door_reply(call, 200, contexts);
}

/* `conversation` is what the names of the sandbox's conversations begin with. */
static void ask_for_list(struct door_call *call, door_answer_fn then) {
        char after[64];
        const char *prefix = context_of(call)->conversation;
        snprintf(after, sizeof(after), "&agent=" E2B_AGENT "&limit=%d", CONTEXTS_MAX);
        CLEANUP_FREE char *target = door_target("/v1/conversations?q=", prefix, after);
        door_ask(call, "GET", target, NULL, then);
}

/* Asks for the conversations of a sandbox; NULL: of the request's. */
static void list(struct api *api, struct http_request *request, const char *sandbox, door_answer_fn then) {
        struct door_call *call;
        if (!begin(api, request, &call))
                return;
        char *name = context_of(call)->conversation;
        if (sandbox ? !e2b_conversation_in(request, sandbox, E2B_DEFAULT, name)
                    : !e2b_conversation(request, E2B_DEFAULT, name)) {
                door_end(call);
                return;
        }
        name[strlen(name) - strlen(E2B_DEFAULT)] = '\0';
        ask_for_list(call, then);
}

void e2b_handle_contexts_list(struct api *api, struct http_request *request) {
        list(api, request, NULL, on_list);
}

static void on_changed(struct door_call *call, unsigned status, json_t *reply) {
        bool is_default = strcmp(context_of(call)->name, E2B_DEFAULT) == 0;
        if (status == 404 && !is_default)
                door_refuse(call, HTTP_NOT_FOUND, NULL, "There is no such context: it was deleted, or has expired.");
        else if (status == 404 || status / 100 == 2)
                door_reply_empty(call, 204);
        else
                door_pass_error(call, status, reply);
}

/* Deletes the part of the context's conversation that `what` names. */
static void change(struct api *api, struct http_request *request, const char *what) {
        struct door_call *call;
        if (!begin(api, request, &call))
                return;
        struct context *context = context_of(call);
        if (!e2b_conversation(request, request->params[0], context->conversation)) {
                door_end(call);
                return;
        }
        snprintf(context->name, sizeof(context->name), "%s", request->params[0]);
        CLEANUP_FREE char *target = door_target("/v1/conversations/", context->conversation, what);
        door_ask(call, "DELETE", target, NULL, on_changed);
}

void e2b_handle_contexts_restart(struct api *api, struct http_request *request) {
        change(api, request, "/session");
}

void e2b_handle_contexts_delete(struct api *api, struct http_request *request) {
        change(api, request, "");
}

/* ---- sandboxes */

/*
 * The client sends this token with everything that it asks of the sandbox, and its key with nothing: so the token is
 * the key that it has just sent.
 */
static void reply_sandbox(struct door_call *call, unsigned status, const char *name) {
        char storage[DOOR_KEY_BYTES];
        const char *key = door_key(call->request, storage);
        door_reply(call, status,
                   json_pack("{s:s, s:s, s:s, s:s, s:s?, s:n}", "templateID", "code-interpreter-v1", "sandboxID", name,
                             "clientID", "sandbox", "envdVersion", "0.2.0", "trafficAccessToken", key, "domain"));
}

void e2b_handle_sandboxes_create(struct api *api, struct http_request *request) {
        struct door_call *call;
        json_t *body;
        if (!begin(api, request, &call) || !(body = door_body(call, sandbox_fields)))
                return;
        json_decref(body);
        make_name(context_of(call)->name);
        reply_sandbox(call, 201, context_of(call)->name);
}

void e2b_handle_sandboxes_connect(struct api *api, struct http_request *request) {
        struct door_call *call;
        if (!begin(api, request, &call))
                return;
        if (e2b_conversation_in(request, request->params[0], E2B_DEFAULT, context_of(call)->conversation))
                reply_sandbox(call, 200, request->params[0]);
        else
                door_end(call);
}

static void on_list_to_delete(struct door_call *call, unsigned status, json_t *reply);

/* Until a list is empty: it has so many at the most. */
static void delete_next(struct door_call *call, unsigned status, json_t *reply) {
        json_t *names = context_of(call)->names;
        size_t count = json_array_size(names);
        if (status >= 300 && status != 404) {
                door_pass_error(call, status, reply);
                return;
        }
        if (count == 0) {
                ask_for_list(call, on_list_to_delete);
                return;
        }
        CLEANUP_FREE char *target =
                door_target("/v1/conversations/", json_string_value(json_array_get(names, count - 1)), "");
        json_array_remove(names, count - 1);
        door_ask(call, "DELETE", target, NULL, delete_next);
}

static void on_list_to_delete(struct door_call *call, unsigned status, json_t *reply) {
        struct context *context = context_of(call);
        json_t *conversation;
        size_t i;
        json_decref(context->names);
        context->names = json_array();
        json_array_foreach(json_object_get(reply, "conversations"), i,
                           conversation) if (name_in(conversation, context->conversation))
                json_array_append(context->names, json_object_get(conversation, "conversation_id"));
        bool enough = json_array_size(context->names) == 0 || context->rounds++ == ROUNDS_MAX;
        if (status == 200 && enough)
                door_reply_empty(call, 204);
        else
                delete_next(call, status, reply);
}

void e2b_handle_sandboxes_delete(struct api *api, struct http_request *request) {
        list(api, request, request->params[0], on_list_to_delete);
}
