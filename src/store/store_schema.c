/* The tables and their history; see store_schema.h. PRAGMA user_version counts the steps that a database has taken. */
#include "store/store_schema.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

/* Steps are never changed once released: only added. Times are milliseconds since 1970, UTC. */
static const char *const steps[] = {
        "CREATE TABLE projects ("
        "  id INTEGER PRIMARY KEY,"
        "  name TEXT NOT NULL UNIQUE,"
        "  created_ms INTEGER NOT NULL"
        ") STRICT;"
        "CREATE TABLE keys ("
        "  id INTEGER PRIMARY KEY,"
        "  public_id TEXT NOT NULL UNIQUE,"
        "  project_id INTEGER REFERENCES projects (id)," /* NULL: an admin key */
        "  from_operator INTEGER NOT NULL CHECK (from_operator IN (0, 1)),"
        "  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32)," /* SHA-256 of the key */
        "  hint TEXT NOT NULL,"
        "  label TEXT NOT NULL,"
        "  created_ms INTEGER NOT NULL,"
        "  revoked_ms INTEGER"
        ") STRICT;"
        "CREATE INDEX keys_of_project ON keys (project_id, public_id);",

        /*
         * Numbers of agents and conversations are never given twice (AUTOINCREMENT): a conversation whose agent is gone
         * must not become that of the next one. A conversation without project and name has been deleted; its rows are
         * removed in the background. run_id and blob_id are no foreign keys, whose checks would need two more indexes.
         */
        "CREATE TABLE agents ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  project_id INTEGER NOT NULL REFERENCES projects (id),"
        "  name TEXT NOT NULL,"
        "  image TEXT,"
        "  tools TEXT NOT NULL," /* JSON, a list */
        "  created_ms INTEGER NOT NULL,"
        "  updated_ms INTEGER NOT NULL,"
        "  UNIQUE (project_id, name)"
        ") STRICT;"
        "CREATE TABLE agent_env ("
        "  agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,"
        "  name TEXT NOT NULL,"
        "  value TEXT NOT NULL,"
        "  PRIMARY KEY (agent_id, name)"
        ") STRICT, WITHOUT ROWID;"
        "CREATE TABLE conversations ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  project_id INTEGER REFERENCES projects (id)," /* NULL, with the name: deleted */
        "  name TEXT,"
        "  agent_id INTEGER," /* NULL, or that of an agent that is gone: of none */
        "  created_ms INTEGER NOT NULL,"
        "  active_ms INTEGER NOT NULL,"
        "  runs INTEGER NOT NULL DEFAULT 0,"
        "  files INTEGER NOT NULL DEFAULT 0,"
        "  bytes INTEGER NOT NULL DEFAULT 0,"
        "  stateful INTEGER NOT NULL DEFAULT 0," /* it has had an interpreter of its own */
        "  not_kept TEXT,"                       /* names of files that were only in that one's working directory */
        "  UNIQUE (project_id, name)"
        ") STRICT;"
        "CREATE INDEX conversations_by_activity ON conversations (project_id, active_ms, id);"
        "CREATE INDEX conversations_of_agent ON conversations (project_id, agent_id, active_ms, id);"
        "CREATE INDEX conversations_idle ON conversations (active_ms, id) WHERE project_id IS NOT NULL;"
        "CREATE TABLE runs ("
        "  id INTEGER PRIMARY KEY," /* in the order in which they ended */
        "  public_id TEXT NOT NULL UNIQUE,"
        "  conversation_id INTEGER NOT NULL REFERENCES conversations (id),"
        "  agent TEXT NOT NULL," /* its name at that time, or empty */
        "  sandbox_id TEXT NOT NULL,"
        "  outcome TEXT NOT NULL,"
        "  exit_code INTEGER NOT NULL,"
        "  stateful INTEGER NOT NULL CHECK (stateful IN (0, 1)),"
        "  started_ms INTEGER NOT NULL,"
        "  wall_us INTEGER NOT NULL,"
        "  cpu_us INTEGER NOT NULL,"
        "  memory_max_bytes INTEGER NOT NULL,"
        "  files INTEGER NOT NULL,"
        "  results INTEGER NOT NULL"
        ") STRICT;"
        "CREATE INDEX runs_of_conversation ON runs (conversation_id, id);"
        "CREATE TABLE run_details (" /* apart, because it is large and lists do not need it */
        "  run_id INTEGER PRIMARY KEY,"
        "  code BLOB NOT NULL,"
        "  reply BLOB NOT NULL" /* JSON */
        ") STRICT;"
        "CREATE TABLE blobs ("
        "  id INTEGER PRIMARY KEY,"
        "  sha256 TEXT NOT NULL UNIQUE CHECK (length(sha256) = 64),"
        "  size INTEGER NOT NULL,"
        "  refs INTEGER NOT NULL CHECK (refs >= 0)" /* rows of files; removed with the last one */
        ") STRICT;"
        "CREATE TABLE files ("
        "  id INTEGER PRIMARY KEY,"
        "  public_id TEXT NOT NULL UNIQUE,"
        "  conversation_id INTEGER NOT NULL REFERENCES conversations (id),"
        "  run_id INTEGER NOT NULL,"
        "  name TEXT NOT NULL,"
        "  size INTEGER NOT NULL,"
        "  media_type TEXT NOT NULL,"
        "  blob_id INTEGER NOT NULL,"
        "  created_ms INTEGER NOT NULL,"
        "  latest INTEGER NOT NULL CHECK (latest IN (0, 1))"
        ") STRICT;"
        "CREATE INDEX files_of_conversation ON files (conversation_id, id);"
        "CREATE INDEX files_latest ON files (conversation_id, id) WHERE latest = 1;"
        "CREATE UNIQUE INDEX files_latest_of_name ON files (conversation_id, name) WHERE latest = 1;"
        "CREATE TABLE usage ("
        "  project_id INTEGER PRIMARY KEY REFERENCES projects (id),"
        "  bytes INTEGER NOT NULL,"
        "  files INTEGER NOT NULL"
        ") STRICT;",

        /* Tool calls: what agents' tools run in, and which of the runs were calls. */
        "CREATE TABLE images ("
        "  id INTEGER PRIMARY KEY,"
        "  project_id INTEGER NOT NULL REFERENCES projects (id),"
        "  digest TEXT NOT NULL," /* of its manifest */
        "  file TEXT NOT NULL UNIQUE CHECK (length(file) = 32),"
        "  python TEXT NOT NULL,"
        "  env TEXT NOT NULL," /* JSON, a list */
        "  working_dir TEXT NOT NULL,"
        "  bytes INTEGER NOT NULL,"
        "  created_ms INTEGER NOT NULL,"
        "  UNIQUE (project_id, digest)"
        ") STRICT;"
        "ALTER TABLE agents ADD COLUMN image_id INTEGER REFERENCES images (id);"
        "CREATE INDEX agents_of_image ON agents (image_id);"
        "ALTER TABLE runs ADD COLUMN tool TEXT NOT NULL DEFAULT '';", /* empty: a snippet */

        /* Requests with an Idempotency-Key. The sums are kept by triggers, so that whatever changes rows keeps them right. */
        "CREATE TABLE idempotency ("
        "  id INTEGER PRIMARY KEY,"
        "  project_id INTEGER NOT NULL REFERENCES projects (id),"
        "  key TEXT NOT NULL,"
        "  digest BLOB NOT NULL CHECK (length(digest) = 32)," /* SHA-256 of what was asked for */
        "  begun_ms INTEGER NOT NULL,"
        "  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),"
        "  conversation TEXT," /* its name at that time; NULL: of none */
        "  state INTEGER NOT NULL DEFAULT 0," /* enum store_idempotency_state */
        "  run_id TEXT NOT NULL DEFAULT '',"
        "  sandbox_id TEXT NOT NULL DEFAULT '',"
        "  bytes INTEGER NOT NULL DEFAULT 0," /* of the reply */
        "  reply BLOB,"                       /* JSON; last, because it is large */
        "  UNIQUE (project_id, key)"
        ") STRICT;"
        "CREATE INDEX idempotency_by_age ON idempotency (begun_ms, id);"
        "CREATE INDEX idempotency_of_conversation ON idempotency (project_id, conversation)"
        " WHERE conversation IS NOT NULL;"
        "CREATE TABLE idempotency_usage ("
        "  project_id INTEGER PRIMARY KEY REFERENCES projects (id),"
        "  keys INTEGER NOT NULL,"
        "  bytes INTEGER NOT NULL"
        ") STRICT;"
        "CREATE TRIGGER idempotency_added AFTER INSERT ON idempotency BEGIN"
        "  INSERT INTO idempotency_usage (project_id, keys, bytes) VALUES (new.project_id, 1, new.bytes)"
        "  ON CONFLICT (project_id) DO UPDATE SET keys = keys + 1, bytes = bytes + excluded.bytes;"
        "END;"
        "CREATE TRIGGER idempotency_changed AFTER UPDATE OF bytes ON idempotency BEGIN"
        "  UPDATE idempotency_usage SET bytes = bytes + new.bytes - old.bytes WHERE project_id = new.project_id;"
        "END;"
        "CREATE TRIGGER idempotency_removed AFTER DELETE ON idempotency BEGIN"
        "  UPDATE idempotency_usage SET keys = keys - 1, bytes = bytes - old.bytes WHERE project_id = old.project_id;"
        "END;",
};

static int read_version(sqlite3 *database, int *ret) {
        sqlite3_stmt *statement;
        if (sqlite3_prepare_v2(database, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK)
                return -EIO;
        int r = sqlite3_step(statement) == SQLITE_ROW ? 0 : -EIO;
        if (r == 0)
                *ret = sqlite3_column_int(statement, 0);
        sqlite3_finalize(statement);
        return r;
}

static int take_step(sqlite3 *database, int version, struct err *e) {
        char mark[64];
        snprintf(mark, sizeof(mark), "PRAGMA user_version = %d", version + 1);
        if (sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
            sqlite3_exec(database, steps[version], NULL, NULL, NULL) == SQLITE_OK &&
            sqlite3_exec(database, mark, NULL, NULL, NULL) == SQLITE_OK &&
            sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
                return 0;
        err_set(e, -EIO, "cannot bring the database from schema %d to %d: %s", version, version + 1,
                sqlite3_errmsg(database));
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
        return -EIO;
}

int schema_migrate(sqlite3 *database, struct err *e) {
        const int newest = (int)ARRAY_SIZE(steps);
        int version;
        if (read_version(database, &version) < 0)
                return err_set(e, -EIO, "cannot read the database's schema: %s", sqlite3_errmsg(database));
        if (version > newest)
                return err_set(e, -ENOTSUP,
                               "the database has schema %d, but this version of the service knows only %d: it was "
                               "written by a newer version; install that one, or restore a backup from before",
                               version, newest);
        while (version < newest) {
                int r = take_step(database, version, e);
                if (r < 0)
                        return r;
                version++;
        }
        return 0;
}
