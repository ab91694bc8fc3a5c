/*
 * News of a run, from its stream of events: what it prints, and that it still runs, as notifications/progress.
 *
 * Runs in the api process. The events are the service's own (execute_events.h); their text is untrusted.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct loop_source;
struct mcp_reply;

#define MCP_PROGRESS_TEXT_MAX 4096 /* of one notification; what is printed faster is cut in front */

struct mcp_progress {
        struct mcp_reply *reply;
        struct loop *loop;
        json_t *token;
        uint64_t began_ns;
        struct loop_source *timer;
        char text[MCP_PROGRESS_TEXT_MAX]; /* printed, not yet told */
        size_t length;
        char *last; /* what the last event, `done` or `error`, had; malloc()ed */
        bool failed;
};

void mcp_progress_begin(struct mcp_progress *progress, struct mcp_reply *reply, json_t *token);
void mcp_progress_deinit(struct mcp_progress *progress);
/* Whole events. */
void mcp_progress_take(struct mcp_progress *progress, const char *bytes, size_t length);
