/* Agents and their settings; see agents.h. Runs in the api process; functions named write_… on the writer's thread. */
#include "store/agents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/images.h"
#include "store/store_private.h"

void store_agent_deinit(struct store_agent *agent) {
        free(TAKE_PTR(agent->image));
        free(TAKE_PTR(agent->tools));
}

void store_env_free(struct store_env *env, size_t count) {
        for (size_t i = 0; env && i < count; i++)
                free(env[i].value);
        free(env);
}

/* ---- settings found lately */

void agents_forget(struct store *store) {
        struct recent *recent = &store->recent;
        for (size_t i = 0; i < RECENT_MAX; i++) {
                store_env_free(recent->envs[i].env, recent->envs[i].count);
                recent->envs[i] = (struct recent_env){.env = NULL};
        }
}

static int copy_env(const struct store_env *env, size_t count, struct store_env **ret) {
        struct store_env *copy = calloc(count + 1, sizeof(*copy)); /* none is no reason for NULL */
        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; i < count; i++) {
                copy[i] = env[i];
                copy[i].value = strdup(env[i].value);
                if (!copy[i].value) {
                        store_env_free(copy, i);
                        return -ENOMEM;
                }
        }
        *ret = copy;
        return 0;
}

static const struct recent_env *recall_env(const struct recent *recent, int64_t project_id, const char *agent) {
        for (size_t i = 0; i < RECENT_MAX; i++)
                if (recent->envs[i].env && recent->envs[i].project_id == project_id &&
                    strcmp(recent->envs[i].agent, agent) == 0)
                        return &recent->envs[i];
        return NULL;
}

static void remember_env(struct recent *recent, int64_t project_id, const char *agent, const struct store_env *env,
                         size_t count) {
        struct recent_env *place = &recent->envs[recent->env_count % RECENT_MAX];
        struct store_env *copy;
        size_t bytes = 0;
        for (size_t i = 0; i < count; i++)
                bytes += strlen(env[i].value);
        if (bytes > RECENT_ENV_BYTES || copy_env(env, count, &copy) < 0)
                return;
        store_env_free(place->env, place->count);
        *place = (struct recent_env){.project_id = project_id, .env = copy, .count = count};
        snprintf(place->agent, sizeof(place->agent), "%s", agent);
        recent->env_count++;
}

int agents_change(struct store *store, writer_fn write, void *data) {
        int r = writer_call(store, write, data);
        agents_forget(store);
        return r;
}

/* What a change is about, and what it brings. */
struct agent_change {
        int64_t project_id;
        const char *agent;
        const char *image, *tools; /* of the agent, or NULL */
        const char *name, *value;  /* of a setting */
        bool created;
        struct store_retired retired;
};

static sqlite3_stmt *with_agent(struct sql *sql, enum sql_statement which, int64_t project_id, const char *agent) {
        sqlite3_stmt *s = sql_statement(sql, which);
        sqlite3_bind_int64(s, 1, project_id);
        sql_bind_text(s, 2, agent);
        return s;
}

/* ---- agents */

static int read_agent(sqlite3_stmt *s, struct store_agent *ret) {
        *ret = (struct store_agent){
                .id = sqlite3_column_int64(s, 0),
                .created_ms = sqlite3_column_int64(s, 4),
                .updated_ms = sqlite3_column_int64(s, 5),
        };
        sql_copy_text(s, 1, ret->name, sizeof(ret->name));
        int r = sql_duplicate(s, 2, &ret->image);
        if (r == 0)
                r = sql_duplicate(s, 3, &ret->tools);
        if (r < 0)
                store_agent_deinit(ret);
        return r;
}

static int step_with(struct sql *sql, enum sql_statement which, const struct agent_change *change) {
        sqlite3_stmt *s = with_agent(sql, which, change->project_id, change->agent);
        if (change->image)
                sql_bind_text(s, 3, change->image);
        if (change->tools)
                sql_bind_text(s, 4, change->tools);
        sqlite3_bind_int64(s, 5, sql_now_ms());
        return sql_finish(sql, s, sql_step(sql, s));
}

int write_agent_row(struct sql *sql, int64_t project_id, const char *name, const char *image, const char *tools,
                    bool *ret_created) {
        const struct agent_change change = {.project_id = project_id, .agent = name, .image = image, .tools = tools};
        int r = step_with(sql, SQL_AGENT_INSERT, &change);
        *ret_created = r == 0;
        if (r == STORE_E_NOT_FOUND)
                r = step_with(sql, SQL_AGENT_UPDATE, &change);
        return r == STORE_E_NOT_FOUND ? STORE_E_FULL : r;
}

static int write_agent(struct store *store, void *data) {
        struct agent_change *change = data;
        return write_agent_row(&store->database, change->project_id, change->agent, change->image, change->tools,
                               &change->created);
}

int store_agent_put(struct store *store, int64_t project_id, const char *name, const char *image, const char *tools,
                    bool *ret_created) {
        struct agent_change change = {.project_id = project_id, .agent = name, .image = image, .tools = tools};
        int r = agents_change(store, write_agent, &change);
        *ret_created = r == 0 && change.created;
        return r;
}

int store_agent_find(struct store *store, int64_t project_id, const char *name, struct store_agent *ret) {
        sqlite3_stmt *s = with_agent(&store->reader, SQL_AGENT_FIND, project_id, name);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                r = read_agent(s, ret);
        return sql_end(s, r);
}

int store_agent_list(struct store *store, int64_t project_id, const char *after, struct store_agent *ret, size_t max) {
        sqlite3_stmt *s = with_agent(&store->reader, SQL_AGENT_LIST, project_id, after);
        size_t count = 0;
        int r = 0;
        sqlite3_bind_int64(s, 3, (sqlite3_int64)max);
        while (count < max && (r = sql_step(&store->reader, s)) == 0 && (r = read_agent(s, &ret[count])) == 0)
                count++;
        sql_end(s, r);
        for (size_t i = 0; r < 0 && i < count; i++)
                store_agent_deinit(&ret[i]);
        return r < 0 ? r : (int)count;
}

static int write_no_agent(struct store *store, void *data) {
        struct agent_change *change = data;
        sqlite3_stmt *s = with_agent(&store->database, SQL_AGENT_DELETE, change->project_id, change->agent);
        int r = sql_finish(&store->database, s, sql_step(&store->database, s));
        return r == 0 ? write_unused_images(&store->database, &change->retired) : r;
}

int store_agent_delete(struct store *store, int64_t project_id, const char *name, struct store_retired *ret_retired) {
        struct agent_change change = {.project_id = project_id, .agent = name};
        int r = agents_change(store, write_no_agent, &change);
        *ret_retired = change.retired;
        if (r != 0) {
                free(TAKE_PTR(ret_retired->files));
                ret_retired->count = 0;
        }
        return r;
}

/* ---- settings */

static int find_id(struct sql *sql, const struct agent_change *change, int64_t *ret) {
        sqlite3_stmt *s = with_agent(sql, SQL_AGENT_FIND, change->project_id, change->agent);
        int r = sql_step(sql, s);
        if (r == 0)
                *ret = sqlite3_column_int64(s, 0);
        return sql_end(s, r);
}

static int count_others(struct sql *sql, int64_t agent_id, const char *name, int64_t *ret) {
        sqlite3_stmt *s = sql_statement(sql, SQL_ENV_COUNT_OTHERS);
        sqlite3_bind_int64(s, 1, agent_id);
        sql_bind_text(s, 2, name);
        int r = sql_step(sql, s);
        if (r == 0)
                *ret = sqlite3_column_int64(s, 0);
        return sql_end(s, r);
}

static int write_setting(struct store *store, void *data) {
        const struct agent_change *change = data;
        struct sql *sql = &store->database;
        int64_t agent_id = 0, others = 0;
        int r = find_id(sql, change, &agent_id);
        if (r == 0)
                r = count_others(sql, agent_id, change->name, &others);
        if (r != 0)
                return r;
        if (others >= STORE_ENV_PER_AGENT_MAX)
                return STORE_E_FULL;
        sqlite3_stmt *s = sql_statement(sql, SQL_ENV_SET);
        sqlite3_bind_int64(s, 1, agent_id);
        sql_bind_text(s, 2, change->name);
        sql_bind_text(s, 3, change->value);
        return sql_run(sql, s);
}

int store_env_set(struct store *store, int64_t project_id, const char *agent, const char *name, const char *value) {
        struct agent_change change = {.project_id = project_id, .agent = agent, .name = name, .value = value};
        return agents_change(store, write_setting, &change);
}

static int write_no_setting(struct store *store, void *data) {
        const struct agent_change *change = data;
        sqlite3_stmt *s = with_agent(&store->database, SQL_ENV_UNSET, change->project_id, change->agent);
        sql_bind_text(s, 3, change->name);
        return sql_finish(&store->database, s, sql_step(&store->database, s));
}

int store_env_unset(struct store *store, int64_t project_id, const char *agent, const char *name) {
        struct agent_change change = {.project_id = project_id, .agent = agent, .name = name};
        return agents_change(store, write_no_setting, &change);
}

/* 1: the row of an agent that has none. */
static int read_setting(sqlite3_stmt *s, struct store_env *ret) {
        if (sqlite3_column_type(s, 0) == SQLITE_NULL)
                return 1;
        sql_copy_text(s, 0, ret->name, sizeof(ret->name));
        return sql_duplicate(s, 1, &ret->value);
}

int store_env_list(struct store *store, int64_t project_id, const char *agent, struct store_env **ret,
                   size_t *ret_count) {
        const struct recent_env *recent = recall_env(&store->recent, project_id, agent);
        if (recent) {
                *ret_count = recent->count;
                return copy_env(recent->env, recent->count, ret);
        }
        struct store_env *env = calloc(STORE_ENV_PER_AGENT_MAX, sizeof(*env));
        size_t count = 0;
        if (!env)
                return -ENOMEM;
        sqlite3_stmt *s = with_agent(&store->reader, SQL_ENV_LIST, project_id, agent);
        int r = sql_step(&store->reader, s);
        bool found = r == 0;
        while (r == 0 && count < STORE_ENV_PER_AGENT_MAX && (r = read_setting(s, &env[count])) == 0) {
                count++;
                r = sql_step(&store->reader, s);
        }
        sql_end(s, r);
        if (r < 0 || !found) {
                store_env_free(env, count);
                return r < 0 ? r : STORE_E_NOT_FOUND;
        }
        remember_env(&store->recent, project_id, agent, env, count);
        *ret = env;
        *ret_count = count;
        return 0;
}

int store_env_get(struct store *store, int64_t project_id, const char *agent, const char *name, char *value,
                  size_t size) {
        sqlite3_stmt *s = with_agent(&store->reader, SQL_ENV_GET, project_id, agent);
        sql_bind_text(s, 3, name);
        int r = sql_step(&store->reader, s);
        if (r == 0)
                sql_copy_text(s, 0, value, size);
        return sql_end(s, r);
}
