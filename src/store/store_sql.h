/*
 * One connection to the SQLite database: its statements, and short words for binding, stepping and reading. Private to
 * the store.
 *
 * Runs in the api process. A connection belongs to one thread at a time.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Texts of them: store_statements.c. */
enum sql_statement {
        SQL_BEGIN,
        SQL_COMMIT,
        SQL_ROLLBACK,
        SQL_JOB_BEGIN,
        SQL_JOB_KEEP,
        SQL_JOB_UNDO,

        SQL_PROJECT_INSERT,
        SQL_PROJECT_FIND,
        SQL_PROJECT_LIST,
        SQL_KEY_FIND,
        SQL_KEY_INSERT,
        SQL_KEY_GET,
        SQL_KEY_LIST,
        SQL_KEY_REVOKE,
        SQL_ADMIN_DELETE_OTHERS,

        SQL_AGENT_INSERT,
        SQL_AGENT_UPDATE,
        SQL_AGENT_FIND,
        SQL_AGENT_LIST,
        SQL_AGENT_DELETE,
        SQL_AGENT_SET_IMAGE,
        SQL_IMAGE_SAME,
        SQL_IMAGE_PUT,
        SQL_IMAGE_SWEEP,
        SQL_IMAGE_OF_AGENT,
        SQL_IMAGE_DIGESTS,
        SQL_IMAGE_FIND,
        SQL_IMAGE_FILES,
        SQL_ENV_COUNT_OTHERS,
        SQL_ENV_SET,
        SQL_ENV_UNSET,
        SQL_ENV_LIST,
        SQL_ENV_GET,

        SQL_CONVERSATION_FIND,
        SQL_CONVERSATION_LIST,
        SQL_CONVERSATION_LIST_OF_AGENT,
        SQL_CONVERSATION_IDLE,
        SQL_CONVERSATION_LAST,
        SQL_CONVERSATION_INSERT,
        SQL_CONVERSATION_SET_AGENT,
        SQL_CONVERSATION_TOUCH,
        SQL_CONVERSATION_COUNT,
        SQL_CONVERSATION_DOOM,
        SQL_CONVERSATION_DOOM_IDLE,

        SQL_RUN_CONVERSATION,
        SQL_RUN_CONVERSATION_NAMED,
        SQL_RUN_INSERT,
        SQL_RUN_DETAILS_INSERT,
        SQL_RUN_PLACE,
        SQL_RUN_LIST,
        SQL_RUN_GET,

        SQL_FILE_NOT_LATEST,
        SQL_FILE_INSERT,
        SQL_FILE_PLACE,
        SQL_FILE_LIST,
        SQL_FILE_LIST_LATEST,
        SQL_FILE_GET,

        SQL_USAGE_GET,
        SQL_USAGE_ALL,
        SQL_USAGE_ADD,

        SQL_BLOB_TAKE,
        SQL_BLOB_DROP,
        SQL_BLOB_DELETE,
        SQL_BLOB_FIND,

        SQL_IDEMPOTENCY_FIND,
        SQL_IDEMPOTENCY_BEGIN,
        SQL_IDEMPOTENCY_KEEP,
        SQL_IDEMPOTENCY_REMOVE,
        SQL_IDEMPOTENCY_EXPIRE,
        SQL_IDEMPOTENCY_DROP_REPLIES,

        SQL_DOOMED_NEXT,
        SQL_DOOMED_FILES,
        SQL_DOOMED_FILE_DELETE,
        SQL_DOOMED_RUNS,
        SQL_DOOMED_DETAILS_DELETE,
        SQL_DOOMED_RUN_DELETE,
        SQL_DOOMED_DELETE,
        SQL_STATEMENTS
};

extern const char *const sql_texts[SQL_STATEMENTS];

struct sql {
        sqlite3 *database;
        sqlite3_stmt *statements[SQL_STATEMENTS];
};

/* Opens the file; the tables are not looked at. `writes`: else every write is refused. */
int sql_open(struct sql *sql, const char *path, bool writes, struct err *e);
int sql_prepare(struct sql *sql, struct err *e);
void sql_close(struct sql *sql);

static inline sqlite3_stmt *sql_statement(const struct sql *sql, enum sql_statement which) {
        return sql->statements[which];
}

/* Logs what went wrong, and returns it as a negative errno. */
int sql_failed(struct sql *sql);

/* Bound memory must live until sql_finish. */
void sql_bind_text(sqlite3_stmt *s, int place, const char *text);

/* 0: a row is there; STORE_E_NOT_FOUND: no (more) row. */
int sql_step(struct sql *sql, sqlite3_stmt *s);
/* Runs a statement that gave a row to its end, which a change needs before it is committed; releases what was bound. */
int sql_finish(struct sql *sql, sqlite3_stmt *s, int r);
/* The same for a statement whose row was all that was wanted, or of which more rows are not. */
int sql_end(sqlite3_stmt *s, int r);
/* Steps and finishes; a row or none is both a success. */
int sql_run(struct sql *sql, sqlite3_stmt *s);
int sql_run_plain(struct sql *sql, enum sql_statement which);

/* Cuts what is too long. */
void sql_copy_text(sqlite3_stmt *s, int column, char *to, size_t size);
/* A malloc()ed copy with a NUL after it, in *ret; NULL for NULL. 0 or -ENOMEM. */
int sql_duplicate(sqlite3_stmt *s, int column, char **ret);

/* Milliseconds since 1970, UTC. */
int64_t sql_now_ms(void);
