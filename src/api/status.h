/*
 * What the service says about itself: /healthz, /readyz, /metrics, /v1/environment, /v1/status.
 *
 * Runs in the api process.
 */
#pragma once

struct api;
struct http_request;

void status_handle_healthz(struct api *api, struct http_request *request);
void status_handle_readyz(struct api *api, struct http_request *request);
void status_handle_metrics(struct api *api, struct http_request *request);
void status_handle_environment(struct api *api, struct http_request *request);
void status_handle_status(struct api *api, struct http_request *request);
