/*
 * Agents and their settings: handlers of /v1/agents….
 *
 * Runs in the api process; any key of the project gets here. Bodies come from the network.
 */
#pragma once

#include <jansson.h>

struct api;
struct http_request;

void agents_handle_list(struct api *api, struct http_request *request);
void agents_handle_get(struct api *api, struct http_request *request);
void agents_handle_put(struct api *api, struct http_request *request);
void agents_handle_delete(struct api *api, struct http_request *request);

/* agent_env.c */
void agents_handle_env_list(struct api *api, struct http_request *request);
void agents_handle_env_put(struct api *api, struct http_request *request);
void agents_handle_env_delete(struct api *api, struct http_request *request);

/* An agent as it is shown. A new reference, or NULL. */
json_t *agent_full_json(struct api *api, const struct http_request *request, const char *name);

/* TERMINAL. The project has no agent of that name. */
void answer_no_agent(struct http_request *request, const char *name);
