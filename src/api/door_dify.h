/*
 * The front door of dify-sandbox: POST /v1/sandbox/run, as the code node of Dify calls it.
 *
 * Runs in the api process; bodies come from the network.
 */
#pragma once

struct api;
struct http_request;

void door_dify_handle_run(struct api *api, struct http_request *request);
