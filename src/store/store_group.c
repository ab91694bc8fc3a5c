/*
 * A group of jobs in one transaction; see store_group.h.
 *
 * Order: rows and contents are written, contents are synchronised, the transaction is committed (which synchronises the
 * log), and only then are contents removed that no row refers to.
 */
#include "store/store_group.h"

#include <errno.h>

#include "base/log.h"
#include "store/store_private.h"

static int write_activity(struct store *store, const struct activity_map *times) {
        struct sql *sql = &store->database;
        int r = 0;
        for (size_t i = 0; r == 0 && i < times->size; i++) {
                if (!times->entries[i].id)
                        continue;
                sqlite3_stmt *s = sql_statement(sql, SQL_CONVERSATION_TOUCH);
                sqlite3_bind_int64(s, 1, times->entries[i].id);
                sqlite3_bind_int64(s, 2, times->entries[i].ms);
                r = sql_run(sql, s);
        }
        return r;
}

static int do_job(struct store *store, struct writer_job *job) {
        struct sql *sql = &store->database;
        int r = sql_run_plain(sql, SQL_JOB_BEGIN);
        if (r < 0)
                return job->result = r;
        job->result = job->write(store, job->data);
        /* A full disk, for one, may have ended the whole transaction. */
        if (sqlite3_get_autocommit(sql->database))
                return job->result < 0 ? job->result : -EIO;
        if (job->result != 0)
                r = sql_run_plain(sql, SQL_JOB_UNDO);
        return r < 0 ? r : sql_run_plain(sql, SQL_JOB_KEEP);
}

static int do_all(struct store *store, struct writer_job *jobs) {
        int r = write_activity(store, activity_take(&store->activity));
        for (struct writer_job *job = jobs; r == 0 && job; job = job->next)
                r = do_job(store, job);
        if (r == 0)
                r = blobs_flush(&store->blobs);
        return r < 0 ? r : sql_run_plain(&store->database, SQL_COMMIT);
}

static void fail_all(struct store *store, struct writer_job *jobs, int r) {
        if (!sqlite3_get_autocommit(store->database.database))
                sql_run_plain(&store->database, SQL_ROLLBACK);
        blobs_abandon(&store->blobs);
        for (struct writer_job *job = jobs; job; job = job->next)
                if (job->result >= 0)
                        job->result = r;
}

bool group_has_row(struct store *store, const char *name) {
        struct sql *sql = &store->database;
        sqlite3_stmt *s = sql_statement(sql, SQL_BLOB_FIND);
        sql_bind_text(s, 1, name);
        return sql_end(s, sql_step(sql, s)) != STORE_E_NOT_FOUND;
}

void group_remove_doubtful(struct store *store) {
        for (size_t i = 0; i < store->blobs.doubtful_count; i++)
                if (!group_has_row(store, store->blobs.doubtful[i].text))
                        blobs_remove(&store->blobs, store->blobs.doubtful[i].text);
        store->blobs.doubtful_count = 0;
}

void group_write(struct store *store, struct writer_job *jobs) {
        if (!jobs && !activity_is_noted(&store->activity))
                return;
        int r = sql_run_plain(&store->database, SQL_BEGIN);
        if (r == 0)
                r = do_all(store, jobs);
        if (r < 0)
                fail_all(store, jobs, r);
        activity_settle(&store->activity, r == 0);
}
