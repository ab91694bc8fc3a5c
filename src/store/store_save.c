/*
 * Keeping a run with its files: what the writer does for store_run_save; see conversations.h.
 *
 * Runs in the api process; functions named write_… on the writer's thread.
 */
#include <errno.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "store/conversations.h"
#include "store/store_private.h"

/* ---- where it belongs, and what may be kept */

static int find_conversation(struct sql *sql, struct store_new_run *new) {
        sqlite3_stmt *s = sql_statement(sql, new->conversation_id ? SQL_RUN_CONVERSATION : SQL_RUN_CONVERSATION_NAMED);
        sqlite3_bind_int64(s, 1, new->run.project_id);
        if (new->conversation_id)
                sqlite3_bind_int64(s, 2, new->conversation_id);
        else
                sql_bind_text(s, 2, new->run.conversation);
        int r = sql_step(sql, s);
        if (r == 0) {
                new->conversation_id = sqlite3_column_int64(s, 0);
                sql_copy_text(s, 1, new->run.conversation, sizeof(new->run.conversation));
        }
        return sql_end(s, r);
}

static int read_usage(struct sql *sql, int64_t project_id, struct store_usage *ret) {
        sqlite3_stmt *s = sql_statement(sql, SQL_USAGE_GET);
        *ret = (struct store_usage){.bytes = 0};
        sqlite3_bind_int64(s, 1, project_id);
        int r = sql_step(sql, s);
        if (r == 0)
                *ret = (struct store_usage){.bytes = sqlite3_column_int64(s, 0), .files = sqlite3_column_int64(s, 1)};
        sql_end(s, r);
        return r < 0 ? r : 0;
}

int store_usage_get(struct store *store, int64_t project_id, struct store_usage *ret) {
        return read_usage(&store->reader, project_id, ret);
}

int store_usage_all(struct store *store, struct store_usage *ret) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_USAGE_ALL);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                *ret = (struct store_usage){.bytes = sqlite3_column_int64(s, 0), .files = sqlite3_column_int64(s, 1)};
        return sql_end(s, r);
}

static bool fits(const struct store_quota *quota, const struct store_usage *usage, const struct store_file *file) {
        if (quota->files && usage->files >= quota->files)
                return false;
        return !quota->bytes || usage->bytes + file->size <= quota->bytes;
}

/* Fills in what the files get from the run. `added` is what the run and those that are kept add to the usage. */
static void decide_fates(struct store_new_run *new, struct store_usage used, struct store_usage *added) {
        *added = (struct store_usage){.bytes = (int64_t) new->code_length};
        used.bytes += added->bytes;
        for (size_t i = 0; i < new->file_count; i++) {
                struct store_file *file = &new->files[i].file;
                file->project_id = new->run.project_id;
                snprintf(file->conversation, sizeof(file->conversation), "%s", new->run.conversation);
                snprintf(file->run_id, sizeof(file->run_id), "%s", new->run.id);
                file->created_ms = sql_now_ms();
                file->latest = fits(&new->quota, &used, file);
                new->files[i].fate = file->latest ? STORE_FILE_KEPT : STORE_FILE_OVER_QUOTA;
                if (!file->latest)
                        continue;
                used.bytes += file->size;
                used.files++;
                added->bytes += file->size;
                added->files++;
        }
        new->run.files = added->files;
}

/* ---- rows */

static int write_run_row(struct sql *sql, const struct store_new_run *new, int64_t *ret_row) {
        const struct store_run *run = &new->run;
        sqlite3_stmt *s = sql_statement(sql, SQL_RUN_INSERT);
        sql_bind_text(s, 1, run->id);
        sqlite3_bind_int64(s, 2, new->conversation_id);
        sql_bind_text(s, 3, run->agent);
        sql_bind_text(s, 4, run->sandbox_id);
        sql_bind_text(s, 5, run->outcome);
        sqlite3_bind_int(s, 6, run->exit_code);
        sqlite3_bind_int(s, 7, run->stateful);
        sqlite3_bind_int64(s, 8, run->started_ms);
        sqlite3_bind_int64(s, 9, run->wall_us);
        sqlite3_bind_int64(s, 10, run->cpu_us);
        sqlite3_bind_int64(s, 11, run->memory_max_bytes);
        sqlite3_bind_int64(s, 12, run->files);
        sqlite3_bind_int64(s, 13, run->results);
        sql_bind_text(s, 14, run->tool);
        int r = sql_step(sql, s);
        if (r == 0)
                *ret_row = sqlite3_column_int64(s, 0);
        r = sql_finish(sql, s, r);
        return r == STORE_E_NOT_FOUND ? STORE_E_EXISTS : r;
}

static int write_details(struct sql *sql, const struct store_new_run *new, int64_t row, struct store_usage *added) {
        size_t length = 0;
        const char *reply = new->write_reply(new->data, &length);
        sqlite3_stmt *s = sql_statement(sql, SQL_RUN_DETAILS_INSERT);
        if (!reply)
                return -ENOMEM;
        sqlite3_bind_int64(s, 1, row);
        sqlite3_bind_blob64(s, 2, new->code_length ? new->code : "", new->code_length, SQLITE_STATIC);
        sqlite3_bind_blob64(s, 3, reply, length, SQLITE_STATIC);
        added->bytes += (int64_t)length;
        return sql_run(sql, s);
}

static int name_content(struct store_file *file, const void *bytes) {
        unsigned char digest[SHA256_DIGEST_LENGTH];
        if (!SHA256(bytes, (size_t)file->size, digest))
                return -ENOMEM;
        hex_write(digest, sizeof(digest), file->sha256);
        return 0;
}

static int take_blob(struct sql *sql, const struct store_file *file, int64_t *ret_blob, bool *ret_is_new) {
        sqlite3_stmt *s = sql_statement(sql, SQL_BLOB_TAKE);
        sql_bind_text(s, 1, file->sha256);
        sqlite3_bind_int64(s, 2, file->size);
        int r = sql_step(sql, s);
        if (r == 0) {
                *ret_blob = sqlite3_column_int64(s, 0);
                *ret_is_new = sqlite3_column_int64(s, 1) == 1;
        }
        return sql_finish(sql, s, r);
}

/* The hash takes about as long as the disk needs: it is worked out while that is at work, at the price of writing some
 * contents in vain. */
static int write_content(struct store *store, struct store_new_file *new, int64_t *ret_blob) {
        struct blob_pending written;
        bool is_new = false;
        int r = blobs_write(&store->blobs, new->bytes, (size_t) new->file.size, &written);
        if (r < 0)
                return r;
        r = name_content(&new->file, new->bytes);
        if (r == 0)
                r = take_blob(&store->database, &new->file, ret_blob, &is_new);
        if (r == 0 && is_new)
                return blobs_put(&store->blobs, &written, new->file.sha256);
        blobs_drop(&store->blobs, &written);
        return r;
}

/*
 * The contents come first, before rows and the reply: the disk writes them meanwhile. `blob_ids` has a place for each
 * file.
 */
static int write_contents(struct store *store, struct store_new_run *new, int64_t *blob_ids) {
        int r = 0;
        for (size_t i = 0; r == 0 && i < new->file_count; i++)
                if (new->files[i].fate == STORE_FILE_KEPT)
                        r = write_content(store, &new->files[i], &blob_ids[i]);
        return r;
}

static int write_file_row(struct sql *sql, const struct store_new_run *new, const struct store_file *file,
                          int64_t run_row, int64_t blob_id) {
        sqlite3_stmt *s = sql_statement(sql, SQL_FILE_NOT_LATEST);
        sqlite3_bind_int64(s, 1, new->conversation_id);
        sql_bind_text(s, 2, file->name);
        int r = sql_run(sql, s);
        if (r < 0)
                return r;
        s = sql_statement(sql, SQL_FILE_INSERT);
        sql_bind_text(s, 1, file->id);
        sqlite3_bind_int64(s, 2, new->conversation_id);
        sqlite3_bind_int64(s, 3, run_row);
        sql_bind_text(s, 4, file->name);
        sqlite3_bind_int64(s, 5, file->size);
        sql_bind_text(s, 6, file->media_type);
        sqlite3_bind_int64(s, 7, blob_id);
        sqlite3_bind_int64(s, 8, file->created_ms);
        r = sql_finish(sql, s, sql_step(sql, s));
        return r == STORE_E_NOT_FOUND ? STORE_E_EXISTS : r;
}

static int write_file_rows(struct sql *sql, const struct store_new_run *new, int64_t run_row, const int64_t *blob_ids) {
        int r = 0;
        for (size_t i = 0; r == 0 && i < new->file_count; i++)
                if (new->files[i].fate == STORE_FILE_KEPT)
                        r = write_file_row(sql, new, &new->files[i].file, run_row, blob_ids[i]);
        return r;
}

static int write_counts(struct sql *sql, const struct store_new_run *new, const struct store_usage *added) {
        sqlite3_stmt *s = sql_statement(sql, SQL_CONVERSATION_COUNT);
        sqlite3_bind_int64(s, 1, new->conversation_id);
        sqlite3_bind_int64(s, 2, sql_now_ms());
        sqlite3_bind_int64(s, 3, added->files);
        sqlite3_bind_int64(s, 4, added->bytes);
        sqlite3_bind_int(s, 5, new->run.stateful);
        if (new->not_kept)
                sql_bind_text(s, 6, new->not_kept);
        int r = sql_run(sql, s);
        if (r < 0)
                return r;
        s = sql_statement(sql, SQL_USAGE_ADD);
        sqlite3_bind_int64(s, 1, new->run.project_id);
        sqlite3_bind_int64(s, 2, added->bytes);
        sqlite3_bind_int64(s, 3, added->files);
        return sql_run(sql, s);
}

static int write_rows(struct sql *sql, const struct store_new_run *new, const int64_t *blob_ids,
                      struct store_usage *added) {
        int64_t run_row = 0;
        int r = write_run_row(sql, new, &run_row);
        if (r == 0)
                r = write_details(sql, new, run_row, added);
        if (r == 0)
                r = write_file_rows(sql, new, run_row, blob_ids);
        return r == 0 ? write_counts(sql, new, added) : r;
}

/* ---- */

static int write_run(struct store *store, void *data) {
        struct store_new_run *new = data;
        struct store_usage usage, added;
        int r = find_conversation(&store->database, new);
        if (r == 0)
                r = read_usage(&store->database, new->run.project_id, &usage);
        if (r != 0)
                return r;
        CLEANUP_FREE int64_t *blob_ids = calloc(new->file_count + 1, sizeof(*blob_ids));
        if (!blob_ids)
                return -ENOMEM;
        decide_fates(new, usage, &added);
        r = write_contents(store, new, blob_ids);
        return r == 0 ? write_rows(&store->database, new, blob_ids, &added) : r;
}

static bool is_sound(const struct store_new_file *new) {
        return new->file.size >= 0 && (new->bytes || !new->file.size);
}

int store_run_save(struct store *store, struct store_new_run *run) {
        size_t weight = run->code_length;
        for (size_t i = 0; i < run->file_count; i++) {
                if (!is_sound(&run->files[i]))
                        return -EINVAL;
                weight += (size_t)run->files[i].file.size;
        }
        return writer_submit(store, write_run, run, weight, run->done, run->data);
}
