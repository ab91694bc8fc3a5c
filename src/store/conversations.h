/*
 * What the service remembers of conversations, their runs and the files that these wrote.
 *
 * Runs in the api process. Part of the store; the rules of store.h hold.
 *
 * READING happens at once, on the loop's thread, from a connection of its own. WRITING that is on the way of a run is
 * asynchronous: the store's one writer thread takes what has been asked for meanwhile together, in one transaction (a
 * group commit), and the callback comes on the loop's thread when it is on the disk. Contents of files are blobs beside
 * the database, named by their SHA-256 and counted by reference; rows are only written when their blobs are on the
 * disk, and a blob is only removed when no row refers to it any more, so a crash leaves at most blobs that nothing
 * refers to, which the next start removes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define STORE_CONVERSATION_MAX 128
#define STORE_FILE_NAME_MAX 1024
#define STORE_MEDIA_TYPE_MAX 128
#define STORE_SHA256_TEXT 64
#define STORE_OUTCOME_MAX 24
#define STORE_NOT_KEPT_MAX 2000

struct store_conversation {
        int64_t id;
        char name[STORE_CONVERSATION_MAX + 1]; /* chosen by the client, unique in its project */
        char agent[STORE_NAME_MAX + 1];        /* "": of none yet */
        int64_t created_ms, active_ms;
        int64_t runs, files;                   /* how many there are; every version of a file counts */
        int64_t bytes;                         /* of files, code and replies, as if nothing were shared */
        bool stateful;                         /* one of its runs was a session's */
        char not_kept[STORE_NOT_KEPT_MAX + 1]; /* as its last such run gave it; "": nothing */
};

/* One run, without what it said. */
struct store_run {
        char id[STORE_ID_MAX + 1]; /* "run_…" */
        int64_t project_id;
        char conversation[STORE_CONVERSATION_MAX + 1];
        char agent[STORE_NAME_MAX + 1]; /* "": none */
        char tool[STORE_NAME_MAX + 1];  /* whose call it was; "": a snippet */
        char sandbox_id[STORE_ID_MAX + 1];
        char outcome[STORE_OUTCOME_MAX + 1];
        int exit_code;
        bool stateful;
        int64_t started_ms; /* since 1970, UTC */
        int64_t wall_us, cpu_us, memory_max_bytes;
        int64_t files, results; /* how many */
};

struct store_file {
        char id[STORE_ID_MAX + 1]; /* "file_…" */
        int64_t project_id;
        char conversation[STORE_CONVERSATION_MAX + 1];
        char run_id[STORE_ID_MAX + 1];
        char name[STORE_FILE_NAME_MAX + 1]; /* UTF-8, as it is shown */
        int64_t size;
        char media_type[STORE_MEDIA_TYPE_MAX + 1];
        char sha256[STORE_SHA256_TEXT + 1];
        int64_t created_ms;
        bool latest; /* no later run of the conversation wrote a file of this name */
};

struct store_usage {
        int64_t bytes, files;
};

/* ---- conversations */

typedef void (*store_done_fn)(void *data, int result); /* on the loop's thread; 0, STORE_E_* or -errno */

/*
 * The conversation of that name; made if it is not there, and then of `agent` ("": of none). One that was of no agent
 * becomes this agent's. Its time of last activity is now. STORE_E_CONFLICT: it is of another agent, whose name is in
 * `ret`. STORE_E_NOT_FOUND: the project has no such agent.
 *
 * A new one is written in the background, before anything of it is: whoever answers a run of it answers when it is on
 * the disk. Else the call returns when what has changed is on the disk; where that is only the time, it costs nothing
 * but a read (times are written later, together).
 */
int store_conversation_use(struct store *store, int64_t project_id, const char *name, const char *agent,
                           struct store_conversation *ret);
/*
 * The same without waiting for the disk: STORE_E_LATER if something has to be changed first; then `done` follows, with
 * what the call would have returned. `use` and what it points to must stay until then. All other results: there is no
 * callback.
 */
struct store_use {
        int64_t project_id;
        const char *name, *agent;
        struct store_conversation *ret;
        store_done_fn done;
        void *data;
};
int store_conversation_use_soon(struct store *store, const struct store_use *use);
int store_conversation_find(struct store *store, int64_t project_id, const char *name, struct store_conversation *ret);

/* Where a page of a list ends: pass the values of its last item; zero: the first page. */
struct store_cursor {
        int64_t ms, id;
};
struct store_filter {
        const char *agent;      /* of this agent; NULL: of all */
        const char *containing; /* in their name or their agent's, upper or lower case alike; NULL: anything */
};
/*
 * Latest activity first, by the times that are written: that of a run when it is kept. Returns the count, or a negative
 * errno.
 */
int store_conversation_list(struct store *store, int64_t project_id, const struct store_filter *filter,
                            struct store_cursor after, struct store_conversation *ret, size_t max);

/* It is gone at once, and counts no more; its rows and blobs are removed in the background. STORE_E_NOT_FOUND. */
int store_conversation_delete(struct store *store, int64_t project_id, const char *name);

/* Those with no activity since `before_ms`, longest idle first; with their project. Returns the count or -errno. */
struct store_idle {
        int64_t project_id, conversation_id, active_ms;
        char name[STORE_CONVERSATION_MAX + 1];
};
int store_conversation_idle(struct store *store, int64_t before_ms, struct store_idle *ret, size_t max);

/* Removes it in the background, if there has been no activity meanwhile (else STORE_E_CONFLICT). A negative errno:
 * there will be no callback. */
int store_conversation_expire(struct store *store, const struct store_idle *which, store_done_fn done, void *data);

/* ---- runs and their files */

enum store_file_fate { STORE_FILE_KEPT, STORE_FILE_OVER_QUOTA };

/* A file to be kept. `bytes` is borrowed until the callback. */
struct store_new_file {
        struct store_file file; /* id, name, size, media_type are given; the rest is filled in, sha256 before `write_reply` */
        const void *bytes;
        enum store_file_fate fate; /* says what became of it, when the callback comes */
};

/* Limits of one project; 0: none. */
struct store_quota {
        int64_t bytes, files;
};

struct store_new_run {
        struct store_run run;
        int64_t conversation_id; /* of store_conversation_use; 0: whatever has the name that `run` gives */
        struct store_quota quota;
        const char *not_kept; /* JSON: names of files that only the session's working directory has; NULL: none */
        const char *code;     /* borrowed, not NUL-terminated by contract */
        size_t code_length;
        struct store_new_file *files;
        size_t file_count;
        /*
         * What is kept of the run's reply (JSON), written once the fate of the files is known: called on the WRITER'S
         * thread; touches nothing that the loop's thread may touch meanwhile. Returns bytes that stay the caller's, who
         * keeps them until `done`; NULL without memory.
         */
        const char *(*write_reply)(void *data, size_t *ret_length);
        store_done_fn done; /* STORE_E_NOT_FOUND: the conversation has been deleted meanwhile; nothing was kept */
        void *data;
};

/* Keeps a run and its files; files that would go over the quota are left out, one by one, in their order. All memory
 * stays the caller's and must not change until `done`. 0, or a negative errno, and then `done` is not called. */
int store_run_save(struct store *store, struct store_new_run *run);

/* Oldest first, after the run id `after` ("": from the start). STORE_E_NOT_FOUND: no such conversation or `after`. */
int store_run_list(struct store *store, int64_t project_id, const char *conversation, const char *after,
                   struct store_run *ret, size_t max, size_t *ret_count);
/* code and reply are malloc()ed, NUL-terminated. STORE_E_NOT_FOUND. */
int store_run_get(struct store *store, int64_t project_id, const char *id, struct store_run *ret, char **ret_code,
                  char **ret_reply);

/* Latest first. `only_latest`: one of each name. */
int store_file_list(struct store *store, int64_t project_id, const char *conversation, bool only_latest,
                    const char *after, struct store_file *ret, size_t max, size_t *ret_count);
int store_file_get(struct store *store, int64_t project_id, const char *id, struct store_file *ret);
/* A descriptor of the content, owned by the caller. STORE_E_NOT_FOUND is not told from a descriptor, so a file that has
 * been deleted meanwhile is -ENOENT; so is one whose content is lost (a defect, logged). Or another negative errno. */
int store_file_open(struct store *store, const struct store_file *file);

int store_usage_get(struct store *store, int64_t project_id, struct store_usage *ret);
/* Of all projects together. */
int store_usage_all(struct store *store, struct store_usage *ret);
