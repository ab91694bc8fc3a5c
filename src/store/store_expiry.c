/*
 * Conversations: deleting them, and finding and removing idle ones; see conversations.h.
 *
 * Runs in the api process; functions named write_… on the writer's thread. Deleting takes project and name away from
 * the conversation, which is quick whatever it holds; store_chores.c removes the rest of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/conversations.h"
#include "store/store_private.h"

/* A conversation that the writer has been asked to remove if it is still idle. */
struct expiry {
        struct store *store;
        struct store_idle which;
        bool is_active; /* it was used after the caller had found it idle */
        store_done_fn done;
        void *data;
        struct expiry *next;
};

/* ---- deleting */

/* `s` gives bytes and files of the conversation `name` that it has deleted. */
static int doom(struct store *store, sqlite3_stmt *s, int64_t project_id, const char *name) {
        struct sql *sql = &store->database;
        int64_t bytes = 0, files = 0;
        int r = sql_step(sql, s);
        if (r == 0) {
                bytes = sqlite3_column_int64(s, 0);
                files = sqlite3_column_int64(s, 1);
        }
        r = sql_finish(sql, s, r);
        if (r != 0)
                return r;
        store->chores.doomed = true;
        r = write_replies_gone(sql, project_id, name);
        if (r < 0)
                return r;
        s = sql_statement(sql, SQL_USAGE_ADD);
        sqlite3_bind_int64(s, 1, project_id);
        sqlite3_bind_int64(s, 2, -bytes);
        sqlite3_bind_int64(s, 3, -files);
        return sql_run(sql, s);
}

static int write_deletion(struct store *store, void *data) {
        const struct store_use *which = data;
        sqlite3_stmt *s = sql_statement(&store->database, SQL_CONVERSATION_DOOM);
        sqlite3_bind_int64(s, 1, which->project_id);
        sql_bind_text(s, 2, which->name);
        return doom(store, s, which->project_id, which->name);
}

int store_conversation_delete(struct store *store, int64_t project_id, const char *name) {
        struct store_use which = {.project_id = project_id, .name = name};
        int r = writer_call(store, write_deletion, &which);
        /* It may have been written and deleted before its callback has come. */
        if (r == 0)
                conversation_forget_birth(store, project_id, name);
        return r;
}

/* ---- idle ones */

bool expiry_is_on_its_way(const struct store *store, int64_t id) {
        for (const struct expiry *expiry = store->expiring; expiry; expiry = expiry->next)
                if (expiry->which.conversation_id == id)
                        return true;
        return false;
}

int store_conversation_idle(struct store *store, int64_t before_ms, struct store_idle *ret, size_t max) {
        sqlite3_stmt *s = sql_statement(&store->reader, SQL_CONVERSATION_IDLE);
        size_t count = 0;
        int r = 0;
        sqlite3_bind_int64(s, 1, before_ms);
        while (count < max && (r = sql_step(&store->reader, s)) == 0) {
                int64_t id = sqlite3_column_int64(s, 0);
                if (activity_of(&store->activity, id) >= before_ms || expiry_is_on_its_way(store, id))
                        continue;
                ret[count] = (struct store_idle){
                        .conversation_id = id,
                        .project_id = sqlite3_column_int64(s, 1),
                        .active_ms = sqlite3_column_int64(s, 2),
                };
                sql_copy_text(s, 3, ret[count].name, sizeof(ret[count].name));
                count++;
        }
        return sql_end(s, r) < 0 ? r : (int)count;
}

static int write_expiry(struct store *store, void *data) {
        const struct expiry *expiry = data;
        sqlite3_stmt *s = sql_statement(&store->database, SQL_CONVERSATION_DOOM_IDLE);
        if (expiry->is_active)
                return STORE_E_CONFLICT;
        sqlite3_bind_int64(s, 1, expiry->which.project_id);
        sqlite3_bind_int64(s, 2, expiry->which.conversation_id);
        sqlite3_bind_int64(s, 3, expiry->which.active_ms);
        int r = doom(store, s, expiry->which.project_id, expiry->which.name);
        return r == STORE_E_NOT_FOUND ? STORE_E_CONFLICT : r;
}

static void on_expired(void *data, int result) {
        CLEANUP_FREE struct expiry *expiry = data;
        struct expiry **place = &expiry->store->expiring;
        while (*place != expiry)
                place = &(*place)->next;
        *place = expiry->next;
        expiry->done(expiry->data, result);
}

/*
 * From here to the callback, using the conversation goes through the writer, which knows whether it is still there; so
 * nobody can be told that it is while it is being removed.
 */
int store_conversation_expire(struct store *store, const struct store_idle *which, store_done_fn done, void *data) {
        struct expiry *expiry = calloc(1, sizeof(*expiry));
        if (!expiry)
                return -ENOMEM;
        *expiry = (struct expiry){.store = store, .which = *which, .done = done, .data = data};
        expiry->is_active = activity_of(&store->activity, which->conversation_id) > which->active_ms;
        int r = writer_submit(store, write_expiry, expiry, 0, on_expired, expiry);
        if (r < 0) {
                free(expiry);
                return r;
        }
        expiry->next = store->expiring;
        store->expiring = expiry;
        return 0;
}
