/* What the writer does between groups; see store_chores.h. */
#include "store/store_chores.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/store_group.h"
#include "store/store_private.h"

#define LOG_PAGES 400
#define LOG_FRAME_BYTES (4096 + 24) /* sqlite.org/fileformat2.html, section 4.1 */
#define PORTION 64    /* rows, each of a file or a run: some milliseconds */

/* ---- the log */

static int on_commit(void *data, sqlite3 *database, const char *name, int pages) {
        (void)database;
        (void)name;
        ((struct store *)data)->chores.log_pages = pages;
        return SQLITE_OK;
}

/*
 * Once, after the first commit, the log gets its full length: synchronising a file that grows takes more than twice as
 * long as one that is overwritten. SQLite overwrites it from its beginning after it has been copied, and what is no
 * frame of the present log, as zeros are not, is its end.
 */
static void lengthen_log(struct store *store) {
        static const char zeros[LOG_PAGES * LOG_FRAME_BYTES];
        struct stat st;
        if (store->chores.log_is_long || store->chores.log_pages == 0)
                return;
        store->chores.log_is_long = true;
        const char *path = sqlite3_filename_wal(sqlite3_db_filename(store->database.database, "main"));
        CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_size >= (off_t)sizeof(zeros))
                return;
        size_t missing = sizeof(zeros) - (size_t)st.st_size;
        if (pwrite(fd, zeros, missing, st.st_size) < 0 || fdatasync(fd) < 0)
                log_warning("the database's log could not be given its length", "error", log_errno(-errno));
}

/*
 * Here rather than by SQLite itself in the middle of a commit, so that those who wait for the commit do not wait for
 * this too. What a reader still needs is left for the next time.
 */
static void copy_log(struct store *store) {
        if (store->chores.log_pages < LOG_PAGES)
                return;
        store->chores.log_pages = 0;
        int r = sqlite3_wal_checkpoint_v2(store->database.database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        if (r != SQLITE_OK && r != SQLITE_BUSY)
                sql_failed(&store->database);
}

/* ---- deleted conversations */

struct row {
        int64_t id, blob_id;
};

/* Returns the count, or a negative errno. */
static int select_rows(struct sql *sql, enum sql_statement which, int64_t conversation_id, struct row *rows, int max) {
        sqlite3_stmt *s = sql_statement(sql, which);
        int count = 0, r = 0;
        sqlite3_bind_int64(s, 1, conversation_id);
        sqlite3_bind_int(s, 2, max);
        while (count < max && (r = sql_step(sql, s)) == 0)
                rows[count++] = (struct row){
                        .id = sqlite3_column_int64(s, 0),
                        .blob_id = sqlite3_column_count(s) > 1 ? sqlite3_column_int64(s, 1) : 0,
                };
        sql_end(s, r);
        return r < 0 ? r : count;
}

static int run_with_id(struct sql *sql, enum sql_statement which, int64_t id) {
        sqlite3_stmt *s = sql_statement(sql, which);
        sqlite3_bind_int64(s, 1, id);
        return sql_run(sql, s);
}

static int drop_blob(struct store *store, int64_t blob_id) {
        struct sql *sql = &store->database;
        sqlite3_stmt *s = sql_statement(sql, SQL_BLOB_DROP);
        bool last = false;
        sqlite3_bind_int64(s, 1, blob_id);
        int r = sql_step(sql, s);
        if (r == 0) {
                last = sqlite3_column_int64(s, 0) == 0;
                if (last)
                        r = blobs_doubt(&store->blobs, (const char *)sqlite3_column_text(s, 1));
        }
        r = sql_finish(sql, s, r);
        if (r == 0 && last)
                r = run_with_id(sql, SQL_BLOB_DELETE, blob_id);
        return r < 0 ? r : 0;
}

static int remove_file(struct store *store, const struct row *row) {
        int r = drop_blob(store, row->blob_id);
        return r < 0 ? r : run_with_id(&store->database, SQL_DOOMED_FILE_DELETE, row->id);
}

static int remove_run(struct store *store, const struct row *row) {
        int r = run_with_id(&store->database, SQL_DOOMED_DETAILS_DELETE, row->id);
        return r < 0 ? r : run_with_id(&store->database, SQL_DOOMED_RUN_DELETE, row->id);
}

/* Removes up to `max` rows, and returns how many, or a negative errno. */
static int remove_rows(struct store *store, int64_t conversation_id, enum sql_statement select,
                       int (*remove)(struct store *store, const struct row *row), int max) {
        struct row rows[PORTION];
        int count = select_rows(&store->database, select, conversation_id, rows, max), r = 0;
        for (int i = 0; r == 0 && i < count; i++)
                r = remove(store, &rows[i]);
        return r < 0 ? r : count;
}

/* 0 or a negative errno; *left is what may still be done in this portion. */
static int remove_from(struct store *store, int64_t conversation_id, int *left) {
        int files = remove_rows(store, conversation_id, SQL_DOOMED_FILES, remove_file, *left);
        if (files < 0 || (*left -= files) == 0)
                return files < 0 ? files : 0;
        int runs = remove_rows(store, conversation_id, SQL_DOOMED_RUNS, remove_run, *left);
        if (runs < 0 || (*left -= runs) == 0)
                return runs < 0 ? runs : 0;
        (*left)--;
        return run_with_id(&store->database, SQL_DOOMED_DELETE, conversation_id);
}

static int remove_doomed(struct store *store) {
        struct sql *sql = &store->database;
        int left = PORTION, r = 0;
        while (r == 0 && left > 0) {
                sqlite3_stmt *s = sql_statement(sql, SQL_DOOMED_NEXT);
                r = sql_step(sql, s);
                int64_t id = r == 0 ? sqlite3_column_int64(s, 0) : 0;
                sql_end(s, r);
                if (r == STORE_E_NOT_FOUND)
                        store->chores.doomed = false;
                if (r == 0)
                        r = remove_from(store, id, &left);
        }
        return r < 0 ? r : 0;
}

/* What fails is tried again after the next change. */
static bool remove_some(struct store *store) {
        int r = sql_run_plain(&store->database, SQL_BEGIN);
        if (r == 0)
                r = remove_doomed(store);
        if (r == 0)
                r = sql_run_plain(&store->database, SQL_COMMIT);
        if (r < 0) {
                if (!sqlite3_get_autocommit(store->database.database))
                        sql_run_plain(&store->database, SQL_ROLLBACK);
                store->chores.doomed = true;
                log_error("a deleted conversation cannot be removed yet", "error", log_errno(r));
        }
        group_remove_doubtful(store);
        return r == 0;
}

/* ---- contents without a row */

static int remove_if_without_row(void *data, const char *name) {
        struct store *store = data;
        if (!group_has_row(store, name))
                blobs_remove(&store->blobs, name);
        return 0;
}

static void look_through_folder(struct store *store) {
        int r = blobs_each(&store->blobs, store->chores.next_folder++, remove_if_without_row, store);
        if (r < 0)
                log_warning("a folder of files cannot be looked through", "error", log_errno(r));
}

/* ---- */

void chores_init(struct store *store) {
        store->chores = (struct chores){.doomed = true};
        sqlite3_wal_hook(store->database.database, on_commit, store);
}

bool chores_do(struct store *store) {
        struct chores *chores = &store->chores;
        group_remove_doubtful(store);
        lengthen_log(store);
        copy_log(store);
        if (chores->doomed) {
                if (!remove_some(store))
                        return false;
        } else if (chores->next_folder < BLOB_FOLDERS) {
                look_through_folder(store);
        }
        return chores->doomed || chores->next_folder < BLOB_FOLDERS;
}
