/* Projects and their keys; see store.h. Runs in the api process, on the loop's thread but for what is said otherwise.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "store/store_private.h"

/* ---- what was found lately */

static size_t remembered(size_t count) {
        return count < RECENT_MAX ? count : RECENT_MAX;
}

static bool recall_project(const struct recent *recent, const char *name, struct store_project *ret) {
        for (size_t i = 0; i < remembered(recent->project_count); i++)
                if (strcmp(recent->projects[i].name, name) == 0) {
                        *ret = recent->projects[i];
                        return true;
                }
        return false;
}

static bool recall_key(const struct recent *recent, const struct key_hash *hash, struct store_key *ret) {
        for (size_t i = 0; i < remembered(recent->key_count); i++)
                if (key_hash_equal(hash, &recent->keys[i].hash)) {
                        *ret = recent->keys[i];
                        return true;
                }
        return false;
}

/* A key that is revoked is known to nobody from then on. Projects stay what they are. */
static void forget_keys(struct recent *recent) {
        recent->key_count = 0;
}

/* ---- projects */

static void read_project(sqlite3_stmt *s, struct store_project *ret) {
        *ret = (struct store_project){.id = sqlite3_column_int64(s, 0), .created_ms = sqlite3_column_int64(s, 2)};
        sql_copy_text(s, 1, ret->name, sizeof(ret->name));
}

struct new_project {
        const char *name;
        struct store_project *ret;
};

/* On the writer's thread. */
static int write_project(struct store *store, void *data) {
        struct new_project *new = data;
        struct sql *sql = &store->database;
        sqlite3_stmt *s = sql_statement(sql, SQL_PROJECT_INSERT);
        sql_bind_text(s, 1, new->name);
        sqlite3_bind_int64(s, 2, sql_now_ms());
        int r = sql_step(sql, s);
        if (r == 0)
                read_project(s, new->ret);
        r = sql_finish(sql, s, r);
        return r == STORE_E_NOT_FOUND ? STORE_E_EXISTS : r;
}

int store_project_create(struct store *store, const char *name, struct store_project *ret) {
        struct new_project new = {.name = name, .ret = ret};
        return writer_call(store, write_project, &new);
}

int store_project_find(struct store *store, const char *name, struct store_project *ret) {
        struct recent *recent = &store->recent;
        if (recall_project(recent, name, ret))
                return 0;
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_PROJECT_FIND);
        sql_bind_text(s, 1, name);
        int r = sql_step(&store->reader, s);
        if (r == 0) {
                read_project(s, ret);
                recent->projects[recent->project_count++ % RECENT_MAX] = *ret;
        }
        return sql_end(s, r);
}

int store_project_list(struct store *store, const char *after, struct store_project *ret, size_t max) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_PROJECT_LIST);
        size_t count = 0;
        int r = 0;
        sql_bind_text(s, 1, after);
        sqlite3_bind_int64(s, 2, (sqlite3_int64)max);
        while (count < max && (r = sql_step(&store->reader, s)) == 0)
                read_project(s, &ret[count++]);
        return sql_end(s, r) < 0 ? r : (int)count;
}

/* ---- keys */

static void bind_hash(sqlite3_stmt *s, int place, const struct key_hash *hash) {
        sqlite3_bind_blob(s, place, hash->bytes, KEY_HASH_BYTES, SQLITE_STATIC);
}

static void read_key(sqlite3_stmt *s, struct store_key *ret) {
        *ret = (struct store_key){
                .id = sqlite3_column_int64(s, 0),
                .project_id = sqlite3_column_int64(s, 2),
                .is_admin = sqlite3_column_type(s, 2) == SQLITE_NULL,
                .created_ms = sqlite3_column_int64(s, 7),
        };
        sql_copy_text(s, 1, ret->public_id, sizeof(ret->public_id));
        sql_copy_text(s, 3, ret->project, sizeof(ret->project));
        sql_copy_text(s, 5, ret->hint, sizeof(ret->hint));
        sql_copy_text(s, 6, ret->label, sizeof(ret->label));
        if (sqlite3_column_bytes(s, 4) == KEY_HASH_BYTES)
                memcpy(ret->hash.bytes, sqlite3_column_blob(s, 4), KEY_HASH_BYTES);
}

static int find_key(struct sql *sql, const struct key_hash *hash, struct store_key *ret) {
        sqlite3_stmt *s = sql_statement(sql, SQL_KEY_FIND);
        bind_hash(s, 1, hash);
        int r = sql_step(sql, s);
        if (r == 0)
                read_key(s, ret);
        sql_end(s, r);
        /* The index has compared bytes of a hash, which tells a guesser nothing; but believe only this comparison. */
        return r == 0 && !key_hash_equal(hash, &ret->hash) ? STORE_E_NOT_FOUND : r;
}

int store_key_find(struct store *store, const struct key_hash *hash, struct store_key *ret) {
        struct recent *recent = &store->recent;
        if (recall_key(recent, hash, ret))
                return 0;
        int r = find_key(&store->reader, hash, ret);
        if (r == 0)
                recent->keys[recent->key_count++ % RECENT_MAX] = *ret;
        return r;
}

static int insert_key(struct sql *sql, struct store_key *key, bool from_operator) {
        sqlite3_stmt *s = sql_statement(sql, SQL_KEY_INSERT);
        key->created_ms = sql_now_ms();
        sql_bind_text(s, 1, key->public_id);
        if (key->project_id)
                sqlite3_bind_int64(s, 2, key->project_id);
        sqlite3_bind_int(s, 3, from_operator);
        bind_hash(s, 4, &key->hash);
        sql_bind_text(s, 5, key->hint);
        sql_bind_text(s, 6, key->label);
        sqlite3_bind_int64(s, 7, key->created_ms);
        int r = sql_step(sql, s);
        if (r == 0)
                key->id = sqlite3_column_int64(s, 0);
        r = sql_finish(sql, s, r);
        return r == STORE_E_NOT_FOUND ? STORE_E_EXISTS : r;
}

/* On the writer's thread. */
static int write_key(struct store *store, void *data) {
        return insert_key(&store->database, data, false);
}

int store_key_create(struct store *store, struct store_key *key) {
        assert(key->project_id);
        return writer_call(store, write_key, key);
}

int store_key_get(struct store *store, int64_t project_id, const char *public_id, struct store_key *ret) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_KEY_GET);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, public_id);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                read_key(s, ret);
        return sql_end(s, r);
}

int store_key_list(struct store *store, int64_t project_id, const char *after, struct store_key *ret, size_t max) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_KEY_LIST);
        size_t count = 0;
        int r = 0;
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, after);
        sqlite3_bind_int64(s, 3, (sqlite3_int64)max);
        while (count < max && (r = sql_step(&store->reader, s)) == 0)
                read_key(s, &ret[count++]);
        return sql_end(s, r) < 0 ? r : (int)count;
}

struct which_key {
        int64_t project_id;
        const char *public_id;
};

/* On the writer's thread. */
static int revoke_key(struct store *store, void *data) {
        const struct which_key *which = data;
        sqlite3_stmt *s = sql_statement(&store->database, SQL_KEY_REVOKE);
        sqlite3_bind_int64(s, 1, which->project_id);
        sql_bind_text(s, 2, which->public_id);
        sqlite3_bind_int64(s, 3, sql_now_ms());
        return sql_finish(&store->database, s, sql_step(&store->database, s));
}

int store_key_revoke(struct store *store, int64_t project_id, const char *public_id) {
        struct which_key which = {.project_id = project_id, .public_id = public_id};
        int r = writer_call(store, revoke_key, &which);
        forget_keys(&store->recent); /* whatever came of it */
        return r;
}

/* On the writer's thread. */
static int replace_admin_key(struct store *store, void *data) {
        struct store_key *key = data, there;
        sqlite3_stmt *s = sql_statement(&store->database, SQL_ADMIN_DELETE_OTHERS);
        bind_hash(s, 1, &key->hash);
        int r = sql_run(&store->database, s);
        if (r < 0)
                return r;
        r = find_key(&store->database, &key->hash, &there);
        if (r == 0)
                return there.is_admin ? 0 : STORE_E_EXISTS;
        return r < 0 ? r : insert_key(&store->database, key, true);
}

int store_admin_key_set(struct store *store, struct store_key *key) {
        assert(!key->project_id);
        int r = writer_call(store, replace_admin_key, key);
        forget_keys(&store->recent);
        return r;
}
