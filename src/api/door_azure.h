/*
 * The front door of Azure Container Apps' dynamic sessions: code in the session of an identifier, and its files.
 *
 * Runs in the api process; bodies, queries and names come from the network.
 *
 * A session is the conversation of the agent "azure" (door_execute) that has the identifier as its name. Two versions
 * of the interface are spoken, each under its own paths: 2024-02-02-preview, whose bodies have `properties`, and the
 * later ones.
 */
#pragma once

#include <jansson.h>

struct api;
struct door_call;
struct http_request;

void azure_handle_executions(struct api *api, struct http_request *request);
void azure_handle_code_execute(struct api *api, struct http_request *request); /* 2024-02-02-preview */
void azure_handle_session_delete(struct api *api, struct http_request *request);

/* door_azure_files.c */
void azure_handle_files_list(struct api *api, struct http_request *request);
void azure_handle_files_upload(struct api *api, struct http_request *request);
void azure_handle_files_get(struct api *api, struct http_request *request);

#define AZURE_AGENT "azure"

/* The request's identifier, or NULL: there is none that could be one, and the call is over. */
const char *azure_identifier(struct door_call *call);
/* What the text of a value stands for, as far as JSON has it: numbers, truth, plain texts and lists of numbers. */
json_t *azure_value(const char *text);
