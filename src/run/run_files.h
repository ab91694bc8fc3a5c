/*
 * The files that a run hands back, as the JSON that goes into its reply.
 *
 * Runs in the api process. Names and contents are hostile bytes: a name is shown, never used as a path; a content is
 * hashed and encoded, never looked into. Each file is rendered as soon as it is there, so that its content is held
 * once, in the form in which it is sent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/work_channel.h"

struct rendered {
        char *json; /* one object; not NUL-terminated */
        size_t length;
};

struct rendered_list {
        struct rendered *items;
        size_t count, size;
        size_t bytes; /* of all items */
};

struct run_files {
        struct rendered_list files, skipped;
        char **odd_names; /* shown for names that are not UTF-8, or that look like such a one */
        size_t odd_count;
        bool skipped_for_size;    /* something was too large, alone or together */
        uint32_t skipped_unnamed; /* left out without being named, as they were too many */
        bool failed;              /* no memory for one of them */
};

void run_files_init(struct run_files *files);
void run_files_deinit(struct run_files *files);

/* Takes one file or skipped file in. Returns its JSON object, which stays with `files`, or NULL without memory. */
const struct rendered *run_files_add(struct run_files *files, const struct work_file *file, bool inline_content);

/* Appends one JSON text, which belongs to the list from then on, also on failure. 0 or -ENOMEM. */
int rendered_list_add(struct rendered_list *list, char *json, size_t length);
void rendered_list_deinit(struct rendered_list *list);

const char *skip_reason_name(enum skip_reason reason);
