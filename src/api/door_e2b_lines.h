/*
 * E2B's form of a run: the events of a streamed run, as its lines of JSON.
 *
 * Runs in the api process. Pure. The events are the service's own; what stands in them came from a sandbox.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "run/json_out.h"

/*
 * Whole server-sent events to whole lines. `number`: how many runs the context has had, this one included. What stands
 * in no event, such as the comments that keep a connection alive, keeps it alive here too.
 */
void e2b_lines(struct json_out *out, const char *events, size_t length, int64_t number, uint64_t now_ns);
