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
