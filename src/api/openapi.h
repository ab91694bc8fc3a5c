/*
 * GET /openapi.json: the description of the interface, docs/openapi.json, which is part of the program.
 *
 * Runs in the api process.
 */
#pragma once

struct api;
struct http_request;

void openapi_handle(struct api *api, struct http_request *request);
