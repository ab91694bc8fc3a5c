/*
 * What the files of the SQLite store share. Private to the store.
 *
 * Runs in the api process, on two threads: the loop's and the writer's. Who uses what stands beside each member.
 */
#pragma once

#include "store/store.h"
#include "store/store_activity.h"
#include "store/store_audit.h"
#include "store/store_blobs.h"
#include "store/store_chores.h"
#include "store/store_sql.h"
#include "store/store_writer.h"

struct birth;
struct expiry;
struct loop;
struct loop_source;
struct store_env;
struct store_retired;

#define RECENT_MAX 16

#define RECENT_ENV_BYTES (64 << 10) /* of one agent; more is read each time */

/* The settings of an agent. */
struct recent_env {
        int64_t project_id;
        char agent[STORE_NAME_MAX + 1];
        struct store_env *env;
        size_t count;
};

/*
 * Keys, projects and settings of agents found lately: most requests ask for one of each. Nobody else writes to the
 * database.
 */
struct recent {
        struct store_key keys[RECENT_MAX];
        struct store_project projects[RECENT_MAX];
        struct recent_env envs[RECENT_MAX];
        size_t key_count, project_count, env_count; /* ever remembered; the newest take the place of the oldest */
};

struct store {
        struct sql reader;                    /* the loop's thread */
        struct sql database;                  /* the writer's, once it has started: everything that changes */
        struct blobs blobs;                   /* the writer's; its folder both's */
        struct chores chores;                 /* the writer's */
        struct activity activity;             /* both's, under its lock */
        struct store_audit audit;             /* the loop's thread */
        struct recent recent;                 /* the loop's thread */
        struct expiry *expiring;              /* the loop's thread: conversations that the writer may be removing */
        struct birth *births;                 /* the loop's thread: conversations that the writer is about to write */
        _Atomic int64_t last_conversation_id; /* given to a conversation; both threads give */
        struct loop *loop;
        struct loop_source *flush_timer; /* the loop's thread: set while times of activity wait to be written */
        struct writer *writer;
};

/* store_agents.c, on the loop's thread. */
void agents_forget(struct store *store);
/* writer_call for whatever changes an agent: nothing of it is remembered afterwards. */
int agents_change(struct store *store, int (*write)(struct store *store, void *data), void *data);

/* On the writer's thread, within a job. */

/* store_agents.c: makes the agent, or changes it where it is told something. */
int write_agent_row(struct sql *sql, int64_t project_id, const char *name, const char *image, const char *tools,
                    bool *ret_created);
/* store_images.c: removes images that no agent refers to, and adds their files to the list. */
int write_unused_images(struct sql *sql, struct store_retired *retired);
/* store_idempotency.c: a conversation is deleted, and replies of its runs with it, wherever they are. */
int write_replies_gone(struct sql *sql, int64_t project_id, const char *conversation);

/* All of these on the loop's thread. */

/* Finds one that is being written as well. */
int conversation_find_id(struct store *store, int64_t project_id, const char *name, int64_t *ret);
/* It has been deleted, whether or not its callback has come. */
void conversation_forget_birth(struct store *store, int64_t project_id, const char *name);
/* Between store_conversation_expire and its callback. */
bool expiry_is_on_its_way(const struct store *store, int64_t conversation_id);
