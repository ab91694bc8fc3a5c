/*
 * Requests with an Idempotency-Key; see idempotency.h.
 *
 * Runs in the api process; functions named write_… on the writer's thread.
 */
#include "store/idempotency.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/store_private.h"

#define AT_A_TIME 64 /* rows, of up to some megabytes each */

/* ---- reading */

static int read_row(sqlite3_stmt *s, struct store_idempotency *ret) {
        const void *digest = sqlite3_column_blob(s, 0);
        if (!digest || sqlite3_column_bytes(s, 0) != (int)sizeof(ret->digest))
                return -EIO;
        memcpy(ret->digest, digest, sizeof(ret->digest));
        ret->begun_ms = sqlite3_column_int64(s, 1);
        ret->is_stream = sqlite3_column_int(s, 2) != 0;
        ret->state = (enum store_idempotency_state)sqlite3_column_int(s, 3);
        sql_copy_text(s, 4, ret->run_id, sizeof(ret->run_id));
        sql_copy_text(s, 5, ret->sandbox_id, sizeof(ret->sandbox_id));
        ret->reply_length = (size_t)sqlite3_column_int64(s, 6);
        return sql_duplicate(s, 7, &ret->reply);
}

int store_idempotency_find(struct store *store, int64_t project_id, const char *key, int64_t after_ms,
                           struct store_idempotency *ret) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_IDEMPOTENCY_FIND);
        *ret = (struct store_idempotency){.project_id = project_id};
        snprintf(ret->key, sizeof(ret->key), "%s", key);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, key);
        sqlite3_bind_int64(s, 3, after_ms);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                r = read_row(s, ret);
        return sql_end(s, r);
}

/* ---- writing */

static int remove_row(struct sql *sql, const struct store_idempotency *what, int64_t before_ms) {
        sqlite3_stmt *s = sql_statement(sql, SQL_IDEMPOTENCY_REMOVE);
        sqlite3_bind_int64(s, 1, what->project_id);
        sql_bind_text(s, 2, what->key);
        sqlite3_bind_int64(s, 3, before_ms);
        return sql_run(sql, s);
}

struct beginning {
        const struct store_idempotency *what;
        int64_t after_ms;
        struct store_idempotency_limits limits;
        store_done_fn done;
        void *data;
};

static int write_beginning(struct store *store, void *data) {
        const struct beginning *beginning = data;
        const struct store_idempotency *what = beginning->what;
        struct sql *sql = &store->database;
        int r = remove_row(sql, what, beginning->after_ms);
        if (r < 0)
                return r;
        sqlite3_stmt *s = sql_statement(sql, SQL_IDEMPOTENCY_BEGIN);
        sqlite3_bind_int64(s, 1, what->project_id);
        sql_bind_text(s, 2, what->key);
        sqlite3_bind_blob(s, 3, what->digest, sizeof(what->digest), SQLITE_STATIC);
        sqlite3_bind_int64(s, 4, what->begun_ms);
        sqlite3_bind_int(s, 5, what->is_stream);
        if (*what->conversation)
                sql_bind_text(s, 6, what->conversation);
        sqlite3_bind_int64(s, 7, beginning->limits.keys);
        sqlite3_bind_int64(s, 8, beginning->limits.bytes);
        r = sql_finish(sql, s, sql_step(sql, s));
        return r == STORE_E_NOT_FOUND ? STORE_E_FULL : r;
}

static void on_begun(void *data, int result) {
        CLEANUP_FREE struct beginning *beginning = data;
        beginning->done(beginning->data, result);
}

int store_idempotency_begin(struct store *store, const struct store_idempotency *what, int64_t after_ms,
                            struct store_idempotency_limits limits, store_done_fn done, void *data) {
        struct beginning *beginning = malloc(sizeof(*beginning));
        if (!beginning)
                return -ENOMEM;
        *beginning = (struct beginning){what, after_ms, limits, done, data};
        int r = writer_submit_first(store, write_beginning, beginning, on_begun, beginning);
        if (r < 0)
                free(beginning);
        return r;
}

static int write_reply_row(struct sql *sql, const struct store_idempotency *what) {
        sqlite3_stmt *s = sql_statement(sql, SQL_IDEMPOTENCY_KEEP);
        sqlite3_bind_int64(s, 1, what->project_id);
        sql_bind_text(s, 2, what->key);
        sqlite3_bind_int(s, 3, (int)what->state);
        sql_bind_text(s, 4, what->run_id);
        sql_bind_text(s, 5, what->sandbox_id);
        sqlite3_bind_int64(s, 6, what->reply ? (sqlite3_int64)what->reply_length : 0);
        if (what->reply)
                sqlite3_bind_blob64(s, 7, what->reply, what->reply_length, SQLITE_STATIC);
        return sql_run(sql, s);
}

static int find_conversation(struct sql *sql, const struct store_idempotency *what) {
        sqlite3_stmt *s = sql_statement(sql, SQL_RUN_CONVERSATION_NAMED);
        sqlite3_bind_int64(s, 1, what->project_id);
        sql_bind_text(s, 2, what->conversation);
        return sql_end(s, sql_step(sql, s));
}

/* The conversation may have been deleted while its run was on its way. */
static int write_reply(struct store *store, void *data) {
        const struct store_idempotency *what = data;
        struct sql *sql = &store->database;
        int r = write_reply_row(sql, what);
        if (r == 0 && *what->conversation)
                r = find_conversation(sql, what);
        return r == STORE_E_NOT_FOUND ? write_replies_gone(sql, what->project_id, what->conversation) : r;
}

int store_idempotency_keep(struct store *store, const struct store_idempotency *what, store_done_fn done, void *data) {
        return writer_submit(store, write_reply, (void *)(uintptr_t)what, what->reply_length, done, data);
}

static int write_forgetting(struct store *store, void *data) {
        return remove_row(&store->database, data, INT64_MAX);
}

int store_idempotency_forget(struct store *store, const struct store_idempotency *what, store_done_fn done,
                             void *data) {
        return writer_submit(store, write_forgetting, (void *)(uintptr_t)what, 0, done, data);
}

static int write_expiry(struct store *store, void *data) {
        struct store_idempotency_expiry *expiry = data;
        struct sql *sql = &store->database;
        sqlite3_stmt *s = sql_statement(sql, SQL_IDEMPOTENCY_EXPIRE);
        int count = 0, r;
        sqlite3_bind_int64(s, 1, expiry->before_ms);
        sqlite3_bind_int(s, 2, AT_A_TIME);
        while ((r = sql_step(sql, s)) == 0)
                count++;
        expiry->more = count == AT_A_TIME;
        r = sql_end(s, r);
        return r < 0 ? r : 0;
}

int store_idempotency_expire(struct store *store, struct store_idempotency_expiry *expiry, store_done_fn done,
                             void *data) {
        return writer_submit(store, write_expiry, expiry, 0, done, data);
}

int write_replies_gone(struct sql *sql, int64_t project_id, const char *conversation) {
        sqlite3_stmt *s = sql_statement(sql, SQL_IDEMPOTENCY_DROP_REPLIES);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, conversation);
        sqlite3_bind_int(s, 3, STORE_IDEMPOTENCY_DELETED);
        sqlite3_bind_int(s, 4, STORE_IDEMPOTENCY_KEPT);
        return sql_run(sql, s);
}
