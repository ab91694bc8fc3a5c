/*
 * Conversations: using, finding, listing; see conversations.h. How they end is in store_expiry.c.
 *
 * Runs in the api process; functions named write_… on the writer's thread.
 */
#include "store/conversations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/store_private.h"

#define ACTIVITY_WAITS_NS (2 * NS_PER_S) /* times of activity that nothing else is written with */

/* A new conversation, until it is on the disk. */
struct birth {
        struct store *store;
        int64_t project_id, agent_id; /* 0: of none */
        struct store_conversation conversation;
        struct birth *next;
};

/* ---- reading */

static void read_conversation(sqlite3_stmt *s, struct store_conversation *ret) {
        *ret = (struct store_conversation){
                .id = sqlite3_column_int64(s, 0),
                .created_ms = sqlite3_column_int64(s, 3),
                .active_ms = sqlite3_column_int64(s, 4),
                .runs = sqlite3_column_int64(s, 5),
                .files = sqlite3_column_int64(s, 6),
                .bytes = sqlite3_column_int64(s, 7),
                .stateful = sqlite3_column_int(s, 8) != 0,
        };
        sql_copy_text(s, 1, ret->name, sizeof(ret->name));
        sql_copy_text(s, 2, ret->agent, sizeof(ret->agent));
        sql_copy_text(s, 9, ret->not_kept, sizeof(ret->not_kept));
}

static int find(struct sql *sql, int64_t project_id, const char *name, struct store_conversation *ret) {
        sqlite3_stmt *s = sql_statement(sql, SQL_CONVERSATION_FIND);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, name);
        int r = sql_step(sql, s);
        if (r == 0)
                read_conversation(s, ret);
        return sql_end(s, r);
}

static struct birth **find_birth(struct store *store, int64_t project_id, const char *name) {
        struct birth **place = &store->births;
        while (*place && ((*place)->project_id != project_id || strcmp((*place)->conversation.name, name) != 0))
                place = &(*place)->next;
        return place;
}

/* What is on the disk counts, for it may have been changed since. */
static int find_any(struct store *store, int64_t project_id, const char *name, struct store_conversation *ret) {
        int r = find(&store->reader, project_id, name, ret);
        if (r == STORE_E_NOT_FOUND && *find_birth(store, project_id, name)) {
                *ret = (*find_birth(store, project_id, name))->conversation;
                r = 0;
        }
        return r;
}

void conversation_forget_birth(struct store *store, int64_t project_id, const char *name) {
        struct birth **birth = find_birth(store, project_id, name);
        if (*birth)
                *birth = (*birth)->next;
}

int conversation_find_id(struct store *store, int64_t project_id, const char *name, int64_t *ret) {
        struct store_conversation there;
        int r = find_any(store, project_id, name, &there);
        if (r == 0)
                *ret = there.id;
        return r;
}

int store_conversation_find(struct store *store, int64_t project_id, const char *name, struct store_conversation *ret) {
        int r = find_any(store, project_id, name, ret);
        if (r == 0) {
                int64_t noted = activity_of(&store->activity, ret->id);
                if (noted > ret->active_ms)
                        ret->active_ms = noted;
        }
        return r;
}

/* As SQLite's lower() does: ASCII only, which names are made of. */
static void copy_lower(const char *from, char *to, size_t size) {
        size_t i = 0;
        for (; from[i] && i < size - 1; i++)
                to[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] | 0x20 : from[i]);
        to[i] = '\0';
}

int store_conversation_list(struct store *store, int64_t project_id, const struct store_filter *filter,
                            struct store_cursor after, struct store_conversation *ret, size_t max) {
        const char *agent = filter->agent;
        char containing[STORE_CONVERSATION_MAX + 2]; /* one that is longer than any name is in none */
        sqlite3_stmt *s = sql_statement(&store->reader, agent ? SQL_CONVERSATION_LIST_OF_AGENT : SQL_CONVERSATION_LIST);
        size_t count = 0;
        int r = 0;
        sqlite3_bind_int64(s, 1, project_id);
        sqlite3_bind_int64(s, 2, after.id ? after.ms : INT64_MAX);
        sqlite3_bind_int64(s, 3, after.id ? after.id : INT64_MAX);
        sqlite3_bind_int64(s, 4, (sqlite3_int64)max);
        if (agent)
                sql_bind_text(s, 5, agent);
        copy_lower(filter->containing ? filter->containing : "", containing, sizeof(containing));
        sql_bind_text(s, 6, containing);
        while (count < max && (r = sql_step(&store->reader, s)) == 0)
                read_conversation(s, &ret[count++]);
        return sql_end(s, r) < 0 ? r : (int)count;
}

/* ---- using */

static int find_agent_id(struct sql *sql, const struct store_use *use, int64_t *ret) {
        sqlite3_stmt *s = sql_statement(sql, SQL_AGENT_FIND);
        sqlite3_bind_int64(s, 1, use->project_id);
        sql_bind_text(s, 2, use->agent);
        int r = sql_step(sql, s);
        if (r == 0)
                *ret = sqlite3_column_int64(s, 0);
        return sql_end(s, r);
}

static int write_birth(struct store *store, void *data) {
        const struct birth *birth = data;
        sqlite3_stmt *s = sql_statement(&store->database, SQL_CONVERSATION_INSERT);
        sqlite3_bind_int64(s, 1, birth->conversation.id);
        sqlite3_bind_int64(s, 2, birth->project_id);
        sql_bind_text(s, 3, birth->conversation.name);
        if (birth->agent_id)
                sqlite3_bind_int64(s, 4, birth->agent_id);
        sqlite3_bind_int64(s, 5, birth->conversation.created_ms);
        return sql_run(&store->database, s);
}

/* Greater than any that was given before, by this process or another one. `sql` is that of the calling thread. */
static int new_id(struct store *store, struct sql *sql, int64_t *ret) {
        sqlite3_stmt *s = sql_statement(sql, SQL_CONVERSATION_LAST);
        int64_t written = 0, last = store->last_conversation_id;
        int r = sql_step(sql, s);
        if (r == 0)
                written = sqlite3_column_int64(s, 0);
        if (sql_end(s, r) < 0)
                return r;
        do
                *ret = (written > last ? written : last) + 1;
        while (!atomic_compare_exchange_weak(&store->last_conversation_id, &last, *ret));
        return 0;
}

static int fill_in_birth(struct store *store, struct sql *sql, const struct store_use *use, int64_t agent_id,
                         struct birth *birth) {
        *birth = (struct birth){.store = store, .project_id = use->project_id, .agent_id = agent_id};
        birth->conversation.created_ms = birth->conversation.active_ms = sql_now_ms();
        snprintf(birth->conversation.name, sizeof(birth->conversation.name), "%s", use->name);
        snprintf(birth->conversation.agent, sizeof(birth->conversation.agent), "%s", use->agent);
        return new_id(store, sql, &birth->conversation.id);
}

static int update(struct sql *sql, enum sql_statement which, int64_t id, int64_t value) {
        sqlite3_stmt *s = sql_statement(sql, which);
        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, value);
        return sql_run(sql, s);
}

enum fit { FITS, BECOMES_ITS, IS_ANOTHERS };

static enum fit compare_agents(const struct store_conversation *there, const char *agent) {
        if (!*agent || strcmp(there->agent, agent) == 0)
                return FITS;
        return *there->agent ? IS_ANOTHERS : BECOMES_ITS;
}

static int write_use_of(struct sql *sql, const struct store_use *use, int64_t agent_id) {
        int r = 0;
        switch (compare_agents(use->ret, use->agent)) {
        case IS_ANOTHERS:
                return STORE_E_CONFLICT;
        case BECOMES_ITS:
                r = update(sql, SQL_CONVERSATION_SET_AGENT, use->ret->id, agent_id);
                break;
        case FITS:
                break;
        }
        return r == 0 ? update(sql, SQL_CONVERSATION_TOUCH, use->ret->id, sql_now_ms()) : r;
}

static int write_use(struct store *store, void *data) {
        const struct store_use *use = data;
        struct sql *sql = &store->database;
        int64_t agent_id = 0;
        int r = *use->agent ? find_agent_id(sql, use, &agent_id) : 0;
        if (r != 0)
                return r;
        r = find(sql, use->project_id, use->name, use->ret);
        if (r == STORE_E_NOT_FOUND) {
                struct birth birth;
                r = fill_in_birth(store, sql, use, agent_id, &birth);
                if (r == 0)
                        r = write_birth(store, &birth);
        } else if (r == 0) {
                r = write_use_of(sql, use, agent_id);
        }
        return r == 0 ? find(sql, use->project_id, use->name, use->ret) : r;
}

static void on_flush_time(void *data) {
        struct store *store = data;
        store->flush_timer = NULL;
        if (activity_is_noted(&store->activity))
                writer_flush(store->writer);
}

/* By a timer rather than by waking the writer each time, which would cost more than all the rest of a use. */
static int note_activity(struct store *store, int64_t id, int64_t ms) {
        int r = activity_note(&store->activity, id, ms);
        if (r == 0 && !store->flush_timer)
                r = loop_add_timer(store->loop, ACTIVITY_WAITS_NS, on_flush_time, store, &store->flush_timer);
        return r;
}

static void on_born(void *data, int result) {
        CLEANUP_FREE struct birth *birth = data;
        struct birth **place = &birth->store->births;
        while (*place && *place != birth)
                place = &(*place)->next;
        if (*place) /* else it has been deleted already */
                *place = birth->next;
        if (result != 0)
                log_error("a conversation could not be made", "result", log_num(result));
}

/* From here on it is there for the loop's thread; what comes to the writer after it finds it as well. */
static int make(struct store *store, const struct store_use *use) {
        int64_t agent_id = 0;
        int r = *use->agent ? find_agent_id(&store->reader, use, &agent_id) : 0;
        if (r != 0)
                return r;
        struct birth *birth = malloc(sizeof(*birth));
        if (!birth)
                return -ENOMEM;
        r = fill_in_birth(store, &store->reader, use, agent_id, birth);
        if (r == 0)
                r = writer_submit_first(store, write_birth, birth, on_born, birth);
        if (r < 0) {
                free(birth);
                return r;
        }
        birth->next = store->births;
        store->births = birth;
        *use->ret = birth->conversation;
        return 0;
}

/* STORE_E_LATER: it must be changed, or may be about to be removed; the writer knows. */
static int use_at_once(struct store *store, const struct store_use *use) {
        int r = find_any(store, use->project_id, use->name, use->ret);
        if (r != 0)
                return r == STORE_E_NOT_FOUND ? make(store, use) : r;
        enum fit fit = compare_agents(use->ret, use->agent);
        if (fit == IS_ANOTHERS)
                return STORE_E_CONFLICT;
        if (fit == BECOMES_ITS || expiry_is_on_its_way(store, use->ret->id))
                return STORE_E_LATER;
        use->ret->active_ms = sql_now_ms();
        return note_activity(store, use->ret->id, use->ret->active_ms);
}

int store_conversation_use(struct store *store, int64_t project_id, const char *name, const char *agent,
                           struct store_conversation *ret) {
        struct store_use use = {.project_id = project_id, .name = name, .agent = agent, .ret = ret};
        int r = use_at_once(store, &use);
        return r == STORE_E_LATER ? writer_call(store, write_use, &use) : r;
}

int store_conversation_use_soon(struct store *store, const struct store_use *use) {
        int r = use_at_once(store, use);
        if (r != STORE_E_LATER)
                return r;
        r = writer_submit_first(store, write_use, (void *)use, use->done, use->data);
        return r == 0 ? STORE_E_LATER : r;
}
