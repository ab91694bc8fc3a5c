/*
 * One connection to the SQLite database; see store_sql.h.
 *
 * Runs in the api process. Write-ahead log with full synchronisation: a commit that was answered survives a power cut.
 * Not for network file systems, on which SQLite's locks do not hold.
 */
#include "store/store_sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/store.h"

#define BUSY_MS 2000 /* for an operator's sqlite3 shell that holds a lock */

/* The log is copied into the database by the writer, when it has time: see store_writer.c. */
static const char *const pragmas_of_all[] = {
        "PRAGMA journal_mode = WAL",  "PRAGMA synchronous = FULL",   "PRAGMA foreign_keys = ON",
        "PRAGMA temp_store = MEMORY", "PRAGMA trusted_schema = OFF", "PRAGMA wal_autocheckpoint = 0",
};

static int set_up(sqlite3 *database, bool writes, struct err *e) {
        sqlite3_busy_timeout(database, BUSY_MS);
        for (size_t i = 0; i < ARRAY_SIZE(pragmas_of_all); i++)
                if (sqlite3_exec(database, pragmas_of_all[i], NULL, NULL, NULL) != SQLITE_OK)
                        return err_set(e, -EIO, "cannot set up the database: %s", sqlite3_errmsg(database));
        if (!writes && sqlite3_exec(database, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK)
                return err_set(e, -EIO, "cannot set up the database: %s", sqlite3_errmsg(database));
        return 0;
}

int sql_open(struct sql *sql, const char *path, bool writes, struct err *e) {
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
        if (writes)
                flags |= SQLITE_OPEN_CREATE;
        if (sqlite3_open_v2(path, &sql->database, flags, NULL) != SQLITE_OK)
                return err_set(e, -EIO, "cannot open the database: %s",
                               sql->database ? sqlite3_errmsg(sql->database) : "out of memory");
        return set_up(sql->database, writes, e);
}

int sql_prepare(struct sql *sql, struct err *e) {
        for (int i = 0; i < SQL_STATEMENTS; i++)
                if (sqlite3_prepare_v3(sql->database, sql_texts[i], -1, SQLITE_PREPARE_PERSISTENT, &sql->statements[i],
                                       NULL) != SQLITE_OK)
                        return err_set(e, -EIO, "cannot prepare the database: %s", sqlite3_errmsg(sql->database));
        return 0;
}

void sql_close(struct sql *sql) {
        for (int i = 0; i < SQL_STATEMENTS; i++)
                sqlite3_finalize(TAKE_PTR(sql->statements[i]));
        sqlite3_close(TAKE_PTR(sql->database));
}

int sql_failed(struct sql *sql) {
        int code = sqlite3_errcode(sql->database);
        log_error("the database failed", "error", sqlite3_errmsg(sql->database), "code",
                  log_num(sqlite3_extended_errcode(sql->database)));
        return code == SQLITE_FULL ? -ENOSPC : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

void sql_bind_text(sqlite3_stmt *s, int place, const char *text) {
        sqlite3_bind_text(s, place, text, -1, SQLITE_STATIC);
}

int sql_step(struct sql *sql, sqlite3_stmt *s) {
        switch (sqlite3_step(s)) {
        case SQLITE_ROW:
                return 0;
        case SQLITE_DONE:
                return STORE_E_NOT_FOUND;
        default:
                return sql_failed(sql);
        }
}

int sql_end(sqlite3_stmt *s, int r) {
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        return r;
}

int sql_finish(struct sql *sql, sqlite3_stmt *s, int r) {
        int rest = r == 0 ? sql_step(sql, s) : 0;
        return sql_end(s, rest < 0 ? rest : r);
}

int sql_run(struct sql *sql, sqlite3_stmt *s) {
        int r = sql_finish(sql, s, sql_step(sql, s));
        return r < 0 ? r : 0;
}

int sql_run_plain(struct sql *sql, enum sql_statement which) {
        return sql_run(sql, sql_statement(sql, which));
}

void sql_copy_text(sqlite3_stmt *s, int column, char *to, size_t size) {
        const unsigned char *text = sqlite3_column_text(s, column);
        snprintf(to, size, "%s", text ? (const char *)text : "");
}

int sql_duplicate(sqlite3_stmt *s, int column, char **ret) {
        *ret = NULL;
        if (sqlite3_column_type(s, column) == SQLITE_NULL)
                return 0;
        const void *bytes = sqlite3_column_blob(s, column); /* NULL if there are none */
        size_t length = (size_t)sqlite3_column_bytes(s, column);
        char *copy = malloc(length + 1);
        if (!copy)
                return -ENOMEM;
        if (length)
                memcpy(copy, bytes, length);
        copy[length] = '\0';
        *ret = copy;
        return 0;
}

int64_t sql_now_ms(void) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
