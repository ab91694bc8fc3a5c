/* Contents of files on disk: shared, counted, removed, found again after a crash. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/conversations.h"
#include "store_fixture.h"

static void read_file(const struct store_fixture *f, const char *id, char *text, size_t size) {
        struct store_file file;
        assert_int_equal(store_file_get(f->store, 1, id, &file), 0);
        int fd = store_file_open(f->store, &file);
        assert_true(fd >= 0);
        ssize_t length = read(fd, text, size - 1);
        assert_int_equal(length, file.size);
        text[length] = '\0';
        assert_true(write(fd, "x", 1) < 0); /* it is for reading */
        close(fd);
}

static void a_content_is_read_again(void **state) {
        struct store_fixture *f = *state;
        struct store_file file;
        char text[32];
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "text");
        store_fixture_save_one(f, "talk", 2, "empty", "");
        store_fixture_reopen(f);
        read_file(f, "file_1", text, sizeof(text));
        assert_string_equal(text, "text");
        read_file(f, "file_2", text, sizeof(text));
        assert_string_equal(text, "");
        assert_int_equal(store_file_get(f->store, 1, "file_1", &file), 0);
        assert_string_equal(file.sha256, "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1");
        char path[256];
        snprintf(path, sizeof(path), "%s/blobs/98/%s", f->folder, file.sha256);
        assert_int_equal(access(path, F_OK), 0);

        /* It was deleted between the look at its row and the opening. */
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), 0);
        store_settle(f->store);
        assert_int_equal(store_file_open(f->store, &file), -ENOENT);
        strcpy(file.sha256, "../../sandbox.db");
        assert_int_equal(store_file_open(f->store, &file), -EINVAL);
}

static void the_same_content_is_there_once(void **state) {
        struct store_fixture *f = *state;
        char text[32];
        static const char *const talks[] = {"one", "two", "three"};
        for (int i = 0; i < 3; i++) {
                store_fixture_use(f, talks[i]);
                store_fixture_save_one(f, talks[i], i, "a.txt", "shared");
        }
        assert_int_equal(store_fixture_blobs(f, NULL), 1);
        assert_int_equal(store_fixture_number(f, "SELECT refs FROM blobs"), 3);
        for (int i = 0; i < 2; i++)
                assert_int_equal(store_conversation_delete(f->store, 1, talks[i]), 0);
        store_settle(f->store);
        assert_int_equal(store_fixture_number(f, "SELECT refs FROM blobs"), 1);
        read_file(f, "file_2", text, sizeof(text));
        assert_string_equal(text, "shared");
        assert_int_equal(store_conversation_delete(f->store, 1, "three"), 0);
        store_settle(f->store);
        assert_int_equal(store_fixture_blobs(f, NULL), 0);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM blobs"), 0);
}

/* The last reference goes while the next one comes, many times. */
static void removing_and_saving_the_same_content(void **state) {
        struct store_fixture *f = *state;
        for (int i = 0; i < 100; i++) {
                char text[32], id[32], name[32];
                snprintf(name, sizeof(name), "talk-%d", i);
                snprintf(id, sizeof(id), "file_%d", i);
                store_fixture_use(f, name);
                if (i) {
                        snprintf(name, sizeof(name), "talk-%d", i - 1);
                        assert_int_equal(store_conversation_delete(f->store, 1, name), 0);
                        snprintf(name, sizeof(name), "talk-%d", i);
                }
                if (i % 3 == 0)
                        usleep((useconds_t)i * 10);
                store_fixture_save_one(f, name, i, "a.txt", "the same");
                read_file(f, id, text, sizeof(text));
                assert_string_equal(text, "the same");
        }
        store_settle(f->store);
        assert_int_equal(store_fixture_blobs(f, NULL), 1);
        assert_int_equal(store_fixture_number(f, "SELECT refs FROM blobs"), 1);
}

static void put(const struct store_fixture *f, const char *name, const char *text) {
        char path[256];
        snprintf(path, sizeof(path), "%s/blobs/%s", f->folder, name);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
}

static void what_a_crash_left_is_removed(void **state) {
        struct store_fixture *f = *state;
        size_t temporary;
        char text[32];
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "text");
        store_fixture_close(f);
        put(f, "tmp/1", "half");
        put(f, "tmp/77", "half");
        put(f, "00/0000000000000000000000000000000000000000000000000000000000000000", "without a row");
        put(f, "ff/ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "without a row");
        assert_int_equal(store_fixture_blobs(f, &temporary), 3);
        assert_int_equal(temporary, 2);
        store_fixture_open(f);
        store_fixture_blobs(f, &temporary);
        assert_int_equal(temporary, 0);
        store_settle(f->store);
        assert_int_equal(store_fixture_blobs(f, NULL), 1);
        read_file(f, "file_1", text, sizeof(text));
        assert_string_equal(text, "text");
}

/* A file without a row may hold anything: only part of a content, if the power was cut. */
static void a_content_without_a_row_is_not_believed(void **state) {
        struct store_fixture *f = *state;
        char text[32];
        store_fixture_use(f, "talk");
        store_settle(f->store);
        put(f, "98/982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1", "te");
        store_fixture_save_one(f, "talk", 1, "a.txt", "text");
        read_file(f, "file_1", text, sizeof(text));
        assert_string_equal(text, "text");
}

static void many_files_of_one_run(void **state) {
        struct store_fixture *f = *state;
        size_t temporary;
        store_fixture_use(f, "talk");
        struct store_new_run *run = store_fixture_run(f, "talk", "run_1", 200);
        for (int i = 0; i < 200; i++) {
                char id[32];
                snprintf(id, sizeof(id), "file_%d", i);
                store_fixture_add(run, id, id, id);
        }
        assert_int_equal(store_fixture_save(f, run), 0);
        store_fixture_run_free(run);
        assert_int_equal(store_fixture_blobs(f, &temporary), 200);
        assert_int_equal(temporary, 0);
        for (int i = 0; i < 200; i++) {
                char id[32], text[32];
                snprintf(id, sizeof(id), "file_%d", i);
                read_file(f, id, text, sizeof(text));
                assert_string_equal(text, id);
        }
}

/* A content that cannot be written fails its run; nothing of it is kept, and the next one is fine. */
static void a_folder_that_cannot_be_written(void **state) {
        struct store_fixture *f = *state;
        char path[256], away[256];
        store_fixture_use(f, "talk");
        store_settle(f->store);
        snprintf(path, sizeof(path), "%s/blobs/98", f->folder);
        snprintf(away, sizeof(away), "%s/away", f->folder);
        assert_int_equal(rename(path, away), 0);
        struct store_new_run *run = store_fixture_run(f, "talk", "run_1", 1);
        store_fixture_add(run, "file_1", "a.txt", "text");
        assert_int_equal(store_fixture_save(f, run), -ENOENT);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 0);
        assert_int_equal(rename(away, path), 0);
        assert_int_equal(store_fixture_save(f, run), 0);
        store_fixture_run_free(run);
        size_t temporary;
        store_settle(f->store);
        assert_int_equal(store_fixture_blobs(f, &temporary), 1);
        assert_int_equal(temporary, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_content_is_read_again, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(the_same_content_is_there_once, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(removing_and_saving_the_same_content, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(what_a_crash_left_is_removed, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_content_without_a_row_is_not_believed, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(many_files_of_one_run, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
