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

/* ---- runs */

int64_t store_fixture_project(const struct store_fixture *f) {
        struct store_project project;
        assert_int_equal(store_project_find(f->store, STORE_DEFAULT_PROJECT, &project), 0);
        return project.id;
}

int64_t store_fixture_use(const struct store_fixture *f, const char *name) {
        struct store_conversation there;
        assert_int_equal(store_conversation_use(f->store, store_fixture_project(f), name, "", &there), 0);
        assert_string_equal(there.name, name);
        return there.id;
}

static const char *write_reply(void *data, size_t *ret_length) {
        const struct store_new_run *run = data;
        static char text[256]; /* the one writer's */
        *ret_length = (size_t)snprintf(text, sizeof(text), "{\"run_id\": \"%s\", \"files\": %lld}", run->run.id,
                                       (long long)run->run.files);
        return text;
}

struct store_new_run *store_fixture_run(const struct store_fixture *f, const char *conversation, const char *id,
                                        size_t files) {
        static const char code[] = "print(6 * 7)";
        struct store_new_run *run = calloc(1, sizeof(*run));
        assert_non_null(run);
        *run = (struct store_new_run){
                .run = {.project_id = store_fixture_project(f),
                        .exit_code = -3,
                        .stateful = true,
                        .started_ms = 11,
                        .wall_us = 12,
                        .cpu_us = 13,
                        .memory_max_bytes = 14,
                        .results = 2,
                        .outcome = "ok",
                        .sandbox_id = "sbx_1",
                        .agent = "robot"},
                .code = code,
                .code_length = sizeof(code) - 1,
                .files = calloc(files + 1, sizeof(*run->files)),
                .write_reply = write_reply,
                .data = run,
        };
        assert_non_null(run->files);
        snprintf(run->run.id, sizeof(run->run.id), "%s", id);
        snprintf(run->run.conversation, sizeof(run->run.conversation), "%s", conversation);
        return run;
}

void store_fixture_add(struct store_new_run *run, const char *id, const char *name, const char *text) {
        struct store_new_file *new = &run->files[run->file_count++];
        *new = (struct store_new_file){.file = {.size = (int64_t)strlen(text), .media_type = "text/plain"}};
        new->bytes = strdup(text);
        snprintf(new->file.id, sizeof(new->file.id), "%s", id);
        snprintf(new->file.name, sizeof(new->file.name), "%s", name);
}

void store_fixture_run_free(struct store_new_run *run) {
        for (size_t i = 0; i < run->file_count; i++)
                free((void *)(uintptr_t)run->files[i].bytes);
        free(run->files);
        free(run);
}

static void check_time(void *data) {
        loop_quit(data, -1);
}

void store_fixture_wait(struct store_fixture *f, const bool *done) {
        struct loop_source *timer = NULL;
        assert_int_equal(loop_add_timer(f->loop, 10 * NS_PER_S, check_time, f->loop, &timer), 0);
        int r = *done ? 0 : loop_run(f->loop);
        if (r == 0)
                loop_remove(f->loop, &timer);
        assert_int_equal(r, 0);
        assert_true(*done);
}

struct saving {
        struct store_fixture *f;
        struct store_new_run *run;
        bool done;
        int result;
};

static struct saving saving;

static void on_saved(void *data, int result) {
        assert_ptr_equal(data, saving.run);
        saving.done = true;
        saving.result = result;
        loop_quit(saving.f->loop, 0);
}

int store_fixture_save(struct store_fixture *f, struct store_new_run *run) {
        saving = (struct saving){.f = f, .run = run};
        run->done = on_saved;
        int r = store_run_save(f->store, run);
        if (r < 0)
                return r;
        store_fixture_wait(f, &saving.done);
        return saving.result;
}

void store_fixture_save_one(struct store_fixture *f, const char *conversation, int number, const char *name,
                            const char *text) {
        char id[32];
        snprintf(id, sizeof(id), "run_%d", number);
        struct store_new_run *run = store_fixture_run(f, conversation, id, 1);
        snprintf(id, sizeof(id), "file_%d", number);
        store_fixture_add(run, id, name, text);
        assert_int_equal(store_fixture_save(f, run), 0);
        store_fixture_run_free(run);
}
