/*
 * The front door of E2B's code interpreter: POST /execute, /contexts, and so much of the control plane as its clients
 * need for a sandbox of their own with a key.
 *
 * Runs in the api process; bodies and headers come from the network.
 *
 * A context is a conversation of the agent "e2b" (door_execute), named "e2b:SANDBOX:CONTEXT": the interpreter, the
 * files and the runs of it are there under this name like those of any other. Nothing else is kept: a sandbox is a name
 * only, made up here at random or by the client, and exists in its contexts. Its context "default" is there from the
 * start, as with E2B.
 */
#pragma once

#include <stdbool.h>

struct api;
struct http_request;

void e2b_handle_execute(struct api *api, struct http_request *request);

/* door_e2b_contexts.c */
void e2b_handle_contexts_create(struct api *api, struct http_request *request);
void e2b_handle_contexts_list(struct api *api, struct http_request *request);
void e2b_handle_contexts_restart(struct api *api, struct http_request *request);
void e2b_handle_contexts_delete(struct api *api, struct http_request *request);
void e2b_handle_sandboxes_create(struct api *api, struct http_request *request);
void e2b_handle_sandboxes_connect(struct api *api, struct http_request *request);
void e2b_handle_sandboxes_delete(struct api *api, struct http_request *request);

#define E2B_AGENT "e2b"
#define E2B_DEFAULT "default"
#define E2B_NAME_MAX 56 /* of a sandbox, and of a context: a conversation's name has 128 */
#define E2B_CONVERSATION_BYTES 128

/* The conversation of a context of the request's sandbox. False: one of the names is none; that was ANSWERED. */
bool e2b_conversation(struct http_request *request, const char *context, char to[E2B_CONVERSATION_BYTES]);
bool e2b_conversation_in(struct http_request *request, const char *sandbox, const char *context,
                         char to[E2B_CONVERSATION_BYTES]);
/* The languages that E2B knows under these names are Python's. */
bool e2b_is_python(const char *language);
