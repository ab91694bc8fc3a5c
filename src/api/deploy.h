/*
 * Deploying: from an image, sent as an archive or named in a registry, to an agent whose tools can be called.
 *
 * Runs in the api process. Two sandboxes do the work, one after the other: an import makes a read-only file of the image,
 * and a call without network finds the tools in it. Only when both have ended well is the agent changed, in one
 * transaction; whatever fails before leaves it as it was. Archive, reference and all that the sandboxes say are hostile.
 */
#pragma once

#include <jansson.h>

struct api;
struct http_request;

/* Handler of PUT /v1/agents/{name}/image: the archive is the body, in a file. */
void deploy_handle_archive(struct api *api, struct http_request *request);

/*
 * Of PUT /v1/agents/{name} with an image. Takes the request over, and the reference to `tools`, which are declared instead
 * of those that are found; NULL: none are.
 */
void deploy_start(struct api *api, struct http_request *request, const char *reference, json_t *tools);
