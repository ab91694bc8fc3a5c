/*
 * Projects and their keys: handlers of /v1/projects….
 *
 * Runs in the api process; only admin keys get here.
 */
#pragma once

struct api;
struct http_request;

void admin_handle_projects_list(struct api *api, struct http_request *request);
void admin_handle_projects_create(struct api *api, struct http_request *request);
void admin_handle_projects_get(struct api *api, struct http_request *request);
void admin_handle_keys_list(struct api *api, struct http_request *request);
void admin_handle_keys_create(struct api *api, struct http_request *request);
void admin_handle_keys_get(struct api *api, struct http_request *request);
void admin_handle_keys_delete(struct api *api, struct http_request *request);
