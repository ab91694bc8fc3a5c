/* A store in a folder of its own; see store_fixture.h. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/loop.h"
#include "store_fixture.h"

#define DEPTH 8

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
        (void)status;
        (void)type;
        (void)place;
        return remove(path);
}

void store_fixture_remove(const char *folder) {
        nftw(folder, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}

void store_fixture_close(struct store_fixture *f) {
        store_close(f->store);
        f->store = NULL;
        loop_free(f->loop);
        f->loop = NULL;
}

void store_fixture_open(struct store_fixture *f) {
        struct err e = {.code = 0};
        assert_int_equal(loop_new(&f->loop), 0);
        assert_int_equal(store_new(f->loop, &f->store), 0);
        if (store_open(f->store, f->folder, &e) < 0)
                fail_msg("%s", e.message);
}

void store_fixture_reopen(struct store_fixture *f) {
        store_fixture_close(f);
        store_fixture_open(f);
}

int store_set_up(void **state) {
        struct store_fixture *f = calloc(1, sizeof(*f));
        if (!f)
                return -1;
        strcpy(f->folder, "/tmp/test-store-XXXXXX");
        if (!mkdtemp(f->folder))
                return -1;
        snprintf(f->path, sizeof(f->path), "%s/sandbox.db", f->folder);
        store_fixture_open(f);
        *state = f;
        return 0;
}

int store_tear_down(void **state) {
        struct store_fixture *f = *state;
        store_fixture_close(f);
        store_fixture_remove(f->folder);
        free(f);
        return 0;
}

void store_fixture_sql(const struct store_fixture *f, const char *sql) {
        sqlite3 *database;
        char *message = NULL;
        assert_int_equal(sqlite3_open(f->path, &database), SQLITE_OK);
        sqlite3_busy_timeout(database, 2000);
        if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
                fail_msg("%s: %s", sql, message);
        sqlite3_close(database);
}

long long store_fixture_number(const struct store_fixture *f, const char *sql) {
        sqlite3 *database;
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_open(f->path, &database), SQLITE_OK);
        sqlite3_busy_timeout(database, 2000);
        if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(database));
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        long long number = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        sqlite3_close(database);
        return number;
}

static size_t blobs_found, temporary_found;

static int count_one(const char *path, const struct stat *status, int type, struct FTW *place) {
        (void)status;
        (void)place;
        if (type == FTW_F && strstr(path, "/blobs/tmp/"))
                temporary_found++;
        else if (type == FTW_F)
                blobs_found++;
        return 0;
}

size_t store_fixture_blobs(const struct store_fixture *f, size_t *ret_temporary) {
        char path[96];
        blobs_found = temporary_found = 0;
        snprintf(path, sizeof(path), "%s/blobs", f->folder);
        assert_int_equal(nftw(path, count_one, DEPTH, FTW_PHYS), 0);
        if (ret_temporary)
                *ret_temporary = temporary_found;
        return blobs_found;
}
