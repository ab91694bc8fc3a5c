/* Runs and files that were kept: listing and reading; see conversations.h. Runs in the api process, the loop's thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/conversations.h"
#include "store/store_private.h"

/* ---- places in lists */

/* The row of the item with which the page before ended. */
static int find_place(struct store *store, enum sql_statement which, const char *after, int64_t conversation_id,
                      int64_t *ret) {
        sqlite3_stmt *s = sql_statement(&store->reader, which);
        sql_bind_text(s, 1, after);
        sqlite3_bind_int64(s, 2, conversation_id);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                *ret = sqlite3_column_int64(s, 0);
        return sql_end(s, r);
}

/* ---- runs */

static void read_run(sqlite3_stmt *s, struct store_run *ret) {
        *ret = (struct store_run){
                .project_id = sqlite3_column_int64(s, 1),
                .exit_code = sqlite3_column_int(s, 6),
                .stateful = sqlite3_column_int(s, 7) != 0,
                .started_ms = sqlite3_column_int64(s, 8),
                .wall_us = sqlite3_column_int64(s, 9),
                .cpu_us = sqlite3_column_int64(s, 10),
                .memory_max_bytes = sqlite3_column_int64(s, 11),
                .files = sqlite3_column_int64(s, 12),
                .results = sqlite3_column_int64(s, 13),
        };
        sql_copy_text(s, 0, ret->id, sizeof(ret->id));
        sql_copy_text(s, 2, ret->conversation, sizeof(ret->conversation));
        sql_copy_text(s, 3, ret->agent, sizeof(ret->agent));
        sql_copy_text(s, 4, ret->sandbox_id, sizeof(ret->sandbox_id));
        sql_copy_text(s, 5, ret->outcome, sizeof(ret->outcome));
        sql_copy_text(s, 14, ret->tool, sizeof(ret->tool));
}

int store_run_list(struct store *store, int64_t project_id, const char *conversation, const char *after,
                   struct store_run *ret, size_t max, size_t *ret_count) {
        int64_t conversation_id = 0, place = 0;
        size_t count = 0;
        int r = conversation_find_id(store, project_id, conversation, &conversation_id);
        if (r == 0 && *after)
                r = find_place(store, SQL_RUN_PLACE, after, conversation_id, &place);
        if (r != 0)
                return r;
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_RUN_LIST);
        sqlite3_bind_int64(s, 1, conversation_id);
        sqlite3_bind_int64(s, 2, place);
        sqlite3_bind_int64(s, 3, (sqlite3_int64)max);
        while (count < max && (r = sql_step(&store->reader, s)) == 0)
                read_run(s, &ret[count++]);
        *ret_count = count;
        return sql_end(s, r) < 0 ? r : 0;
}

int store_run_get(struct store *store, int64_t project_id, const char *id, struct store_run *ret, char **ret_code,
                  char **ret_reply) {
        CLEANUP_FREE char *code = NULL;
        CLEANUP_FREE char *reply = NULL;
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_RUN_GET);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, id);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                r = sql_duplicate(s, 15, &code);
        if (r == 0)
                r = sql_duplicate(s, 16, &reply);
        if (r == 0) {
                read_run(s, ret);
                *ret_code = TAKE_PTR(code);
                *ret_reply = TAKE_PTR(reply);
        }
        return sql_end(s, r);
}

/* ---- files */

static void read_file(sqlite3_stmt *s, struct store_file *ret) {
        *ret = (struct store_file){
                .project_id = sqlite3_column_int64(s, 1),
                .size = sqlite3_column_int64(s, 5),
                .created_ms = sqlite3_column_int64(s, 8),
                .latest = sqlite3_column_int(s, 9) != 0,
        };
        sql_copy_text(s, 0, ret->id, sizeof(ret->id));
        sql_copy_text(s, 2, ret->conversation, sizeof(ret->conversation));
        sql_copy_text(s, 3, ret->run_id, sizeof(ret->run_id));
        sql_copy_text(s, 4, ret->name, sizeof(ret->name));
        sql_copy_text(s, 6, ret->media_type, sizeof(ret->media_type));
        sql_copy_text(s, 7, ret->sha256, sizeof(ret->sha256));
}

int store_file_list(struct store *store, int64_t project_id, const char *conversation, bool only_latest,
                    const char *after, struct store_file *ret, size_t max, size_t *ret_count) {
        int64_t conversation_id = 0, place = INT64_MAX;
        size_t count = 0;
        int r = conversation_find_id(store, project_id, conversation, &conversation_id);
        if (r == 0 && *after)
                r = find_place(store, SQL_FILE_PLACE, after, conversation_id, &place);
        if (r != 0)
                return r;
        sqlite3_stmt *s = sql_statement(&store->reader, only_latest ? SQL_FILE_LIST_LATEST : SQL_FILE_LIST);
        sqlite3_bind_int64(s, 1, conversation_id);
        sqlite3_bind_int64(s, 2, place);
        sqlite3_bind_int64(s, 3, (sqlite3_int64)max);
        while (count < max && (r = sql_step(&store->reader, s)) == 0)
                read_file(s, &ret[count++]);
        *ret_count = count;
        return sql_end(s, r) < 0 ? r : 0;
}

int store_file_get(struct store *store, int64_t project_id, const char *id, struct store_file *ret) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_FILE_GET);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, id);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                read_file(s, ret);
        return sql_end(s, r);
}

int store_file_open(struct store *store, const struct store_file *file) {
        struct store_file there;
        int r = blobs_read(&store->blobs, file->sha256);
        if (r == -ENOENT && store_file_get(store, file->project_id, file->id, &there) == 0)
                log_error("the content of a file is lost", "file", file->id, "sha256", file->sha256);
        return r;
}
