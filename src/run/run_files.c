/* The files that a run hands back; see run_files.h. */
#include "run/run_files.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/ids.h"
#include "run/json_out.h"
#include "run/media_type.h"
#include "run/text.h"
#include "base/cleanup.h"
#include "base/hex.h"

#define SHA256_BYTES 32

const char *skip_reason_name(enum skip_reason reason) {
        switch (reason) {
        case SKIP_TOO_LARGE:
                return "too_large";
        case SKIP_TOTAL_TOO_LARGE:
                return "total_too_large";
        case SKIP_TOO_MANY:
                return "too_many";
        case SKIP_NOT_REGULAR:
                return "not_a_regular_file";
        case SKIP_UNREADABLE:
                return "unreadable";
        case SKIP_NAME:
                return "name";
        }
        return "unreadable";
}

void rendered_list_deinit(struct rendered_list *list) {
        for (size_t i = 0; i < list->count; i++)
                free(list->items[i].json);
        free(list->items);
        *list = (struct rendered_list){.items = NULL};
}

int rendered_list_add(struct rendered_list *list, char *json, size_t length) {
        if (list->count == list->size) {
                size_t size = list->size > 0 ? 2 * list->size : 8;
                struct rendered *items = reallocarray(list->items, size, sizeof(*items));
                if (!items) {
                        free(json);
                        return -ENOMEM;
                }
                list->items = items;
                list->size = size;
        }
        list->items[list->count++] = (struct rendered){.json = json, .length = length};
        list->bytes += length;
        return 0;
}

void run_files_init(struct run_files *files) {
        *files = (struct run_files){.odd_names = NULL};
}

void run_files_deinit(struct run_files *files) {
        rendered_list_deinit(&files->files);
        rendered_list_deinit(&files->skipped);
        for (size_t i = 0; i < files->odd_count; i++)
                free(files->odd_names[i]);
        free(files->odd_names);
        for (size_t i = 0; i < files->kept_count; i++) {
                free(files->kept[i].name);
                free(files->kept[i].block);
        }
        free(files->kept);
        run_files_init(files);
}

#define ODD_SUFFIX " (name not UTF-8)"
#define ODD_NUMBER_BYTES 8 /* of " (512)" and NUL: there are no more names than that */

/*
 * The name as UTF-8, malloc()ed. One that is not UTF-8 is shown with the bytes at fault as %XX and "%" itself as %25,
 * and with a suffix that says so.
 */
static char *show_name(const char *name, size_t length, bool is_utf8) {
        char *text = malloc(3 * length + sizeof(ODD_SUFFIX) + ODD_NUMBER_BYTES), *to = text;
        if (!text)
                return NULL;
        for (size_t i = 0; i < length;) {
                bool valid;
                size_t step = text_step((const unsigned char *)name + i, length - i, &valid);
                step = step > 0 ? step : length - i;
                if (is_utf8 || (valid && name[i] != '%')) {
                        memcpy(to, name + i, step);
                        to += step;
                } else
                        for (size_t j = i; j < i + step; j++)
                                to += sprintf(to, "%%%02X", (unsigned char)name[j]);
                i += step;
        }
        memcpy(to, is_utf8 ? "" : ODD_SUFFIX, is_utf8 ? 1 : sizeof(ODD_SUFFIX));
        return text;
}

static bool is_taken(const struct run_files *files, const char *text) {
        for (size_t i = 0; i < files->odd_count; i++)
                if (strcmp(files->odd_names[i], text) == 0)
                        return true;
        return false;
}

/* Adds a number to a shown name that another file has already, and remembers it. False without memory. */
static bool keep_apart(struct run_files *files, char *text) {
        char *number = text + strlen(text);
        for (unsigned i = 2; is_taken(files, text) && i < 1000; i++)
                snprintf(number, ODD_NUMBER_BYTES, " (%u)", i);
        char **names = reallocarray(files->odd_names, files->odd_count + 1, sizeof(*names));
        if (!names)
                return false;
        files->odd_names = names;
        names[files->odd_count] = strdup(text);
        return names[files->odd_count] && ++files->odd_count;
}

/*
 * The name as it is shown, malloc()ed. Two files never show the same one, also if one bears by right the name that was
 * made up for the other.
 */
static char *shown_name(struct run_files *files, const struct work_file *file) {
        const size_t suffix = sizeof(ODD_SUFFIX) - 1;
        bool is_utf8 = text_valid_prefix(file->name, file->name_length) == file->name_length;
        if (is_utf8 && !memmem(file->name, file->name_length, ODD_SUFFIX, suffix))
                return strndup(file->name, file->name_length);
        char *text = show_name(file->name, file->name_length, is_utf8);
        if (text && keep_apart(files, text))
                return text;
        free(text);
        return NULL;
}

int run_file_hash(struct run_file *file) {
        unsigned char digest[SHA256_BYTES];
        if (EVP_Digest(file->bytes, (size_t)file->size, digest, NULL, EVP_sha256(), NULL) != 1)
                return -ENOMEM;
        hex_write(digest, sizeof(digest), file->sha256);
        return 0;
}

void run_file_write(const struct run_file *file, bool inline_content, struct json_out *out) {
        json_out_open(out, '{');
        json_out_member_string(out, "file_id", file->id);
        json_out_member_string(out, "name", file->name);
        json_out_member_int(out, "size", (int64_t)file->size);
        json_out_member_string(out, "media_type", file->media_type);
        json_out_member_string(out, "sha256", file->sha256);
        if (inline_content) {
                json_out_key(out, "content_base64");
                json_out_base64(out, file->bytes, (size_t)file->size);
        } else {
                char url[sizeof("/v1/files/") + ID_TEXT_BYTES];
                snprintf(url, sizeof(url), "/v1/files/%s", file->id);
                json_out_member_string(out, "url", file->is_kept ? url : NULL);
        }
        json_out_close(out, '}');
}

static void write_skipped(const char *name, uint64_t size, const char *reason, struct json_out *out) {
        json_out_open(out, '{');
        json_out_member_string(out, "name", name);
        json_out_member_int(out, "size", size < INT64_MAX ? (int64_t)size : INT64_MAX);
        json_out_member_string(out, "reason", reason);
        json_out_close(out, '}');
}

void run_file_write_skipped(const struct run_file *file, const char *reason, struct json_out *out) {
        write_skipped(file->name, file->size, reason, out);
}

static const struct rendered *add_rendered(struct run_files *files, struct rendered_list *list, struct json_out *out) {
        if (out->failed)
                json_out_deinit(out);
        else if (rendered_list_add(list, out->bytes, out->used) == 0)
                return &list->items[list->count - 1];
        files->failed = true;
        return NULL;
}

static const struct rendered *add_skipped(struct run_files *files, const struct work_file *file) {
        CLEANUP_FREE char *name = shown_name(files, file);
        struct json_out out;
        json_out_init(&out, file->name_length + 128);
        out.failed = out.failed || !name;
        write_skipped(name, file->size, skip_reason_name(file->skipped), &out);
        if (file->skipped == SKIP_TOO_LARGE || file->skipped == SKIP_TOTAL_TOO_LARGE)
                files->skipped_for_size = true;
        return add_rendered(files, &files->skipped, &out);
}

/* Takes its name and its content over. */
static int add_kept(struct run_files *files, const struct run_file *file) {
        struct run_file *kept = reallocarray(files->kept, files->kept_count + 1, sizeof(*kept));
        if (!kept)
                return -ENOMEM;
        files->kept = kept;
        kept[files->kept_count++] = *file;
        return 0;
}

/* Where the channel has the content already, or a copy. False without memory. */
static bool hold_content(struct run_file *held, const struct work_file *file) {
        if (file->block) {
                held->bytes = file->bytes;
                held->block = TAKE_PTR(*file->block);
                return true;
        }
        held->bytes = held->block = malloc((size_t)file->size + 1); /* an empty one is not NULL */
        if (held->block)
                memcpy(held->block, file->bytes, (size_t)file->size);
        return held->block;
}

/* Takes the name over. */
static void keep_file(struct run_files *files, struct run_file *held, const struct work_file *file) {
        held->is_kept = true;
        if (hold_content(held, file) && add_kept(files, held) == 0)
                return;
        files->failed = true;
        free(held->block);
        free(held->name);
}

static const struct rendered *render_file(struct run_files *files, struct run_file *file, const char *bytes,
                                          bool inline_content) {
        struct json_out out;
        file->bytes = bytes;
        if (run_file_hash(file) < 0) {
                files->failed = true;
                free(file->name);
                return NULL;
        }
        json_out_init(&out, strlen(file->name) + 256 + (inline_content ? (size_t)file->size / 3 * 4 : 0));
        run_file_write(file, inline_content, &out);
        free(file->name);
        return add_rendered(files, &files->files, &out);
}

const struct rendered *run_files_add(struct run_files *files, const struct work_file *file, bool inline_content,
                                     bool keep) {
        if (file->skipped)
                return add_skipped(files, file);
        struct run_file made = {.size = file->size, .media_type = media_type_of(file->name, file->name_length)};
        id_new(made.id, "file_");
        made.name = shown_name(files, file);
        if (!made.name) {
                files->failed = true;
                return NULL;
        }
        if (!keep)
                return render_file(files, &made, file->bytes, inline_content);
        keep_file(files, &made, file);
        return NULL;
}
