/*
 * The store in one SQLite file; see store.h.
 *
 * Runs in the api process. One connection, statements prepared once. Write-ahead log with full synchronisation: a
 * commit that was answered survives a power cut. Not for network file systems, on which SQLite's locks do not hold.
 */
#include <assert.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/store.h"
#include "store/store_schema.h"

#define BUSY_MS 2000 /* for an operator's sqlite3 shell that holds a lock */

#define KEY_COLUMNS                                                                                                    \
        "k.id, k.public_id, k.project_id, p.name, k.hash, k.hint, k.label, k.created_ms"                               \
        " FROM keys k LEFT JOIN projects p ON p.id = k.project_id WHERE k.revoked_ms IS NULL"

enum statement {
        PROJECT_INSERT,
        PROJECT_FIND,
        PROJECT_LIST,
        KEY_FIND,
        KEY_INSERT,
        KEY_GET,
        KEY_LIST,
        KEY_REVOKE,
        ADMIN_DELETE_OTHERS,
        BEGIN,
        COMMIT,
        ROLLBACK,
        STATEMENTS
};

static const char *const sql[STATEMENTS] = {
        [PROJECT_INSERT] = "INSERT INTO projects (name, created_ms) VALUES (?1, ?2)"
                           " ON CONFLICT DO NOTHING RETURNING id, name, created_ms",
        [PROJECT_FIND] = "SELECT id, name, created_ms FROM projects WHERE name = ?1",
        [PROJECT_LIST] = "SELECT id, name, created_ms FROM projects WHERE name > ?1 ORDER BY name LIMIT ?2",
        [KEY_FIND] = "SELECT " KEY_COLUMNS " AND k.hash = ?1",
        [KEY_INSERT] = "INSERT INTO keys (public_id, project_id, from_operator, hash, hint, label, created_ms)"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING RETURNING id",
        [KEY_GET] = "SELECT " KEY_COLUMNS " AND k.project_id = ?1 AND k.public_id = ?2",
        [KEY_LIST] = "SELECT " KEY_COLUMNS " AND k.project_id = ?1 AND k.public_id > ?2 ORDER BY k.public_id LIMIT ?3",
        [KEY_REVOKE] = "UPDATE keys SET revoked_ms = ?3"
                       " WHERE project_id = ?1 AND public_id = ?2 AND revoked_ms IS NULL RETURNING id",
        [ADMIN_DELETE_OTHERS] = "DELETE FROM keys WHERE from_operator = 1 AND hash <> ?1",
        [BEGIN] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
};

struct store {
        sqlite3 *database;
        sqlite3_stmt *statements[STATEMENTS];
};

static int64_t now_ms(void) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- statements */

static sqlite3_stmt *statement(struct store *store, enum statement which) {
        return store->statements[which];
}

static void bind_text(sqlite3_stmt *s, int place, const char *text) {
        sqlite3_bind_text(s, place, text, -1, SQLITE_STATIC);
}

static void bind_hash(sqlite3_stmt *s, int place, const struct key_hash *hash) {
        sqlite3_bind_blob(s, place, hash->bytes, KEY_HASH_BYTES, SQLITE_STATIC);
}

static int failed(struct store *store) {
        log_error("the database failed", "error", sqlite3_errmsg(store->database), "code",
                  log_num(sqlite3_extended_errcode(store->database)));
        return sqlite3_errcode(store->database) == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* 0: a row is there; STORE_E_NOT_FOUND: no (more) row. */
static int step(struct store *store, sqlite3_stmt *s) {
        switch (sqlite3_step(s)) {
        case SQLITE_ROW:
                return 0;
        case SQLITE_DONE:
                return STORE_E_NOT_FOUND;
        default:
                return failed(store);
        }
}

/* A statement must run to its end before its change is committed; bound text must not be used after its call. */
static int finish(struct store *store, sqlite3_stmt *s, int r) {
        if (r == 0 && step(store, s) < 0)
                r = -EIO;
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        return r;
}

static int run_plain(struct store *store, enum statement which) {
        sqlite3_stmt *s = statement(store, which);
        int r = step(store, s);
        sqlite3_reset(s);
        return r < 0 ? r : 0;
}

static void copy_text(sqlite3_stmt *s, int column, char *to, size_t size) {
        const unsigned char *text = sqlite3_column_text(s, column);
        snprintf(to, size, "%s", text ? (const char *)text : "");
}

/* ---- projects */

static void read_project(sqlite3_stmt *s, struct store_project *ret) {
        *ret = (struct store_project){.id = sqlite3_column_int64(s, 0), .created_ms = sqlite3_column_int64(s, 2)};
        copy_text(s, 1, ret->name, sizeof(ret->name));
}

int store_project_create(struct store *store, const char *name, struct store_project *ret) {
        sqlite3_stmt *s = statement(store, PROJECT_INSERT);
        bind_text(s, 1, name);
        sqlite3_bind_int64(s, 2, now_ms());
        int r = step(store, s);
        if (r == 0)
                read_project(s, ret);
        r = finish(store, s, r);
        return r == STORE_E_NOT_FOUND ? STORE_E_EXISTS : r;
}

int store_project_find(struct store *store, const char *name, struct store_project *ret) {
        sqlite3_stmt *s = statement(store, PROJECT_FIND);
        bind_text(s, 1, name);
        int r = step(store, s);
        if (r == 0)
                read_project(s, ret);
        return finish(store, s, r);
}

int store_project_list(struct store *store, const char *after, struct store_project *ret, size_t max) {
        sqlite3_stmt *s = statement(store, PROJECT_LIST);
        size_t count = 0;
        int r = 0;
        bind_text(s, 1, after);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)max);
        while (count < max && (r = step(store, s)) == 0)
                read_project(s, &ret[count++]);
        finish(store, s, r);
        return r < 0 ? r : (int)count;
}

/* ---- keys */

static void read_key(sqlite3_stmt *s, struct store_key *ret) {
        *ret = (struct store_key){
                .id = sqlite3_column_int64(s, 0),
                .project_id = sqlite3_column_int64(s, 2),
                .is_admin = sqlite3_column_type(s, 2) == SQLITE_NULL,
                .created_ms = sqlite3_column_int64(s, 7),
        };
        copy_text(s, 1, ret->public_id, sizeof(ret->public_id));
        copy_text(s, 3, ret->project, sizeof(ret->project));
        copy_text(s, 5, ret->hint, sizeof(ret->hint));
        copy_text(s, 6, ret->label, sizeof(ret->label));
        if (sqlite3_column_bytes(s, 4) == KEY_HASH_BYTES)
                memcpy(ret->hash.bytes, sqlite3_column_blob(s, 4), KEY_HASH_BYTES);
}

int store_key_find(struct store *store, const struct key_hash *hash, struct store_key *ret) {
        sqlite3_stmt *s = statement(store, KEY_FIND);
        bind_hash(s, 1, hash);
        int r = step(store, s);
        if (r == 0)
                read_key(s, ret);
        r = finish(store, s, r);
        /* The index has compared bytes of a hash, which tells a guesser nothing; but believe only this comparison. */
        return r == 0 && !key_hash_equal(hash, &ret->hash) ? STORE_E_NOT_FOUND : r;
}

static int insert_key(struct store *store, struct store_key *key, bool from_operator) {
        sqlite3_stmt *s = statement(store, KEY_INSERT);
        key->created_ms = now_ms();
        bind_text(s, 1, key->public_id);
        if (key->project_id)
                sqlite3_bind_int64(s, 2, key->project_id);
        sqlite3_bind_int(s, 3, from_operator);
        bind_hash(s, 4, &key->hash);
        bind_text(s, 5, key->hint);
        bind_text(s, 6, key->label);
        sqlite3_bind_int64(s, 7, key->created_ms);
        int r = step(store, s);
        if (r == 0)
                key->id = sqlite3_column_int64(s, 0);
        r = finish(store, s, r);
        return r == STORE_E_NOT_FOUND ? STORE_E_EXISTS : r;
}

int store_key_create(struct store *store, struct store_key *key) {
        assert(key->project_id);
        return insert_key(store, key, false);
}

int store_key_get(struct store *store, int64_t project_id, const char *public_id, struct store_key *ret) {
        sqlite3_stmt *s = statement(store, KEY_GET);
        sqlite3_bind_int64(s, 1, project_id);
        bind_text(s, 2, public_id);
        int r = step(store, s);
        if (r == 0)
                read_key(s, ret);
        return finish(store, s, r);
}

int store_key_list(struct store *store, int64_t project_id, const char *after, struct store_key *ret, size_t max) {
        sqlite3_stmt *s = statement(store, KEY_LIST);
        size_t count = 0;
        int r = 0;
        sqlite3_bind_int64(s, 1, project_id);
        bind_text(s, 2, after);
        sqlite3_bind_int64(s, 3, (sqlite3_int64)max);
        while (count < max && (r = step(store, s)) == 0)
                read_key(s, &ret[count++]);
        finish(store, s, r);
        return r < 0 ? r : (int)count;
}

int store_key_revoke(struct store *store, int64_t project_id, const char *public_id) {
        sqlite3_stmt *s = statement(store, KEY_REVOKE);
        sqlite3_bind_int64(s, 1, project_id);
        bind_text(s, 2, public_id);
        sqlite3_bind_int64(s, 3, now_ms());
        return finish(store, s, step(store, s));
}

static int replace_admin_key(struct store *store, struct store_key *key) {
        sqlite3_stmt *s = statement(store, ADMIN_DELETE_OTHERS);
        struct store_key there;
        bind_hash(s, 1, &key->hash);
        int r = finish(store, s, step(store, s));
        if (r < 0)
                return r;
        r = store_key_find(store, &key->hash, &there);
        if (r == 0)
                return there.is_admin ? 0 : STORE_E_EXISTS;
        return r < 0 ? r : insert_key(store, key, true);
}

int store_admin_key_set(struct store *store, struct store_key *key) {
        assert(!key->project_id);
        int r = run_plain(store, BEGIN);
        if (r < 0)
                return r;
        r = replace_admin_key(store, key);
        if (r == 0)
                r = run_plain(store, COMMIT);
        if (r != 0)
                run_plain(store, ROLLBACK);
        return r;
}

/* ---- opening */

static int set_up_connection(sqlite3 *database, struct err *e) {
        static const char *const pragmas[] = {
                "PRAGMA journal_mode = WAL",  "PRAGMA synchronous = FULL",   "PRAGMA foreign_keys = ON",
                "PRAGMA temp_store = MEMORY", "PRAGMA trusted_schema = OFF",
        };
        sqlite3_busy_timeout(database, BUSY_MS);
        for (size_t i = 0; i < ARRAY_SIZE(pragmas); i++)
                if (sqlite3_exec(database, pragmas[i], NULL, NULL, NULL) != SQLITE_OK)
                        return err_set(e, -EIO, "cannot set up the database: %s", sqlite3_errmsg(database));
        return 0;
}

static int prepare_statements(struct store *store, struct err *e) {
        for (int i = 0; i < STATEMENTS; i++)
                if (sqlite3_prepare_v3(store->database, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i],
                                       NULL) != SQLITE_OK)
                        return err_set(e, -EIO, "cannot prepare the database: %s", sqlite3_errmsg(store->database));
        return 0;
}

static int open_database(struct store *store, const char *path, struct err *e) {
        struct store_project project;
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
        if (sqlite3_open_v2(path, &store->database, flags, NULL) != SQLITE_OK)
                return err_set(e, -EIO, "cannot open the database: %s",
                               store->database ? sqlite3_errmsg(store->database) : "out of memory");
        int r = set_up_connection(store->database, e);
        if (r == 0)
                r = schema_migrate(store->database, e);
        if (r == 0)
                r = prepare_statements(store, e);
        if (r == 0 && store_project_create(store, STORE_DEFAULT_PROJECT, &project) < 0)
                r = err_set(e, -EIO, "cannot write to the database: %s", sqlite3_errmsg(store->database));
        return r;
}

int store_open(const char *path, struct store **ret, struct err *e) {
        struct store *store = calloc(1, sizeof(*store));
        if (!store)
                return err_set(e, -ENOMEM, "out of memory");
        int r = open_database(store, path, e);
        if (r < 0) {
                store_close(store);
                return r;
        }
        *ret = store;
        return 0;
}

void store_close(struct store *store) {
        if (!store)
                return;
        for (int i = 0; i < STATEMENTS; i++)
                sqlite3_finalize(store->statements[i]);
        sqlite3_close(store->database);
        free(store);
}
