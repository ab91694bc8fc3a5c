/*
 * E2B's form of a run: the events of a streamed run, as its lines of JSON.
 *
 * Runs in the api process. Pure. The events are the service's own; what stands in them came from a sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/json_out.h"

/*
 * What is printed comes in as many pieces as there were writes, and Python's print() makes two. Clients show each piece
 * as a line, so that the end of an unfinished one is held back: until it comes, or e2b_lines_flush is called.
 */
struct e2b_lines {
        struct {
                char *bytes;
                size_t length;
        } held[2];      /* of standard output, and of standard error */
        int64_t number; /* how many runs the context has had, this one included */
};

/*
 * Whole server-sent events to whole lines of JSON. What stands in no event, such as the comments that keep a connection
 * alive, keeps it alive here too.
 */
void e2b_lines_write(struct e2b_lines *lines, struct json_out *out, const char *events, size_t length, uint64_t now_ns);
/* Writes what is held back. */
void e2b_lines_flush(struct e2b_lines *lines, struct json_out *out, uint64_t now_ns);
bool e2b_lines_hold(const struct e2b_lines *lines);
void e2b_lines_deinit(struct e2b_lines *lines);
