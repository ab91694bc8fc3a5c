/*
 * A run is kept, as if a sandbox had done it: for tests of what is shown of kept runs.
 *
 * Body: {"conversation", "agent", "code", "stdout", "files": [{"name", "media_type", "content_base64"}]}, of which only
 * the first is needed. The answer is {"run_id", "files": [id …]}, after the run is on the disk.
 */
#pragma once

struct api;
struct http_request;

void harness_keep(struct api *api, struct http_request *request);
