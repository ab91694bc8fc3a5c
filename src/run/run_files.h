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

#include "run/ids.h"
#include "run/work_channel.h"

#define SHA256_TEXT_BYTES 65

struct json_out;

struct rendered {
        char *json; /* one object; not NUL-terminated */
        size_t length;
};

struct rendered_list {
        struct rendered *items;
        size_t count, size;
        size_t bytes; /* of all items */
};

/* A file whose content is held, for the store. */
struct run_file {
        char id[ID_TEXT_BYTES];
        char *name; /* UTF-8, as it is shown */
        const char *media_type;
        char sha256[SHA256_TEXT_BYTES]; /* of one that is kept: "" until the store has worked it out */
        uint64_t size;
        const char *bytes;
        char *block;  /* malloc()ed, in which the bytes of a kept file are */
        bool is_kept; /* it has a url */
};

struct run_files {
        struct rendered_list files, skipped;
        struct run_file *kept;
        size_t kept_count;
        char **odd_names; /* shown for names that are not UTF-8, or that look like such a one */
        size_t odd_count;
        bool skipped_for_size;    /* something was too large, alone or together */
        uint32_t skipped_unnamed; /* left out without being named, as they were too many */
        bool failed;              /* no memory for one of them */
};

void run_files_init(struct run_files *files);
void run_files_deinit(struct run_files *files);

/*
 * Takes one file or skipped file in. Returns its JSON object, which stays with `files`, or NULL without memory. One that
 * is to be kept is not rendered yet, as its fate is not known: then it is NULL, too, and the file is in `kept`.
 */
const struct rendered *run_files_add(struct run_files *files, const struct work_file *file, bool inline_content,
                                     bool keep);
/* Works out the hash of a kept file that the store did not take. 0 or -ENOMEM. */
int run_file_hash(struct run_file *file);
/* Renders a kept file, whose hash is known. */
void run_file_write(const struct run_file *file, bool inline_content, struct json_out *out);
/* Renders one that could not be kept. */
void run_file_write_skipped(const struct run_file *file, const char *reason, struct json_out *out);

/* Appends one JSON text, which belongs to the list from then on, also on failure. 0 or -ENOMEM. */
int rendered_list_add(struct rendered_list *list, char *json, size_t length);
void rendered_list_deinit(struct rendered_list *list);

const char *skip_reason_name(enum skip_reason reason);
