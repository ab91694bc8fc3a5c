/*
 * GET /v1/sessions and DELETE /v1/conversations/{id}/session: what is alive, and ending it.
 *
 * Runs in the api process.
 */
#pragma once

struct api;
struct http_request;

void live_sessions_handle_list(struct api *api, struct http_request *request);
void live_sessions_handle_end(struct api *api, struct http_request *request);
