/*
 * The reply of POST /v1/execute, composed from a run that has ended.
 *
 * Runs in the api process.
 */
#pragma once

#include "run/json_out.h"

struct execute_request;
struct run;
struct session_note;
struct store_new_file;

/* What is not the run's own. */
struct reply_view {
        const struct session_note *note;
        const struct store_new_file *files; /* what became of the files that were to be kept; NULL: they were not */
        bool inline_files;                  /* the contents of these files go with it */
};

/* Members that the replies of snippets and of calls share: stdout, stderr and whether they were cut; usage. */
void reply_write_output(struct json_out *out, const struct run *run);
void reply_write_usage(struct json_out *out, const struct run *run);

/* Writes the whole reply as one JSON object. Look at out->failed. `libraries`: what is installed, for hints. */
void execute_reply_write(struct json_out *out, const struct run *run, const struct execute_request *execute,
                         const char *libraries, const struct reply_view *view);
