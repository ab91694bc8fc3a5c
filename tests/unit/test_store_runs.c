/* Runs and their files on disk: kept, listed, read, within their quota. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/agents.h"
#include "store/conversations.h"
#include "store_fixture.h"

static void a_run_is_kept(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there;
        struct store_run run;
        struct store_project other;
        char *code, *reply;
        int64_t id = store_fixture_use(f, "talk");
        struct store_new_run *new = store_fixture_run(f, "talk", "run_1", 2);
        store_fixture_add(new, "file_1", "a.txt", "aa");
        store_fixture_add(new, "file_2", "b/ü.txt", "bbb");
        assert_int_equal(store_fixture_save(f, new), 0);
        assert_int_equal(new->conversation_id, id);
        assert_int_equal(new->files[0].fate, STORE_FILE_KEPT);
        assert_string_equal(new->files[1].file.run_id, "run_1");
        assert_string_equal(new->files[1].file.conversation, "talk");
        assert_true(new->files[1].file.latest &&new->files[1].file.created_ms > 1700000000000);
        store_fixture_run_free(new);

        store_fixture_reopen(f);
        assert_int_equal(store_run_get(f->store, 1, "run_1", &run, &code, &reply), 0);
        assert_string_equal(code, "print(6 * 7)");
        assert_string_equal(reply, "{\"run_id\": \"run_1\", \"files\": 2}");
        assert_string_equal(run.id, "run_1");
        assert_string_equal(run.conversation, "talk");
        assert_string_equal(run.agent, "robot");
        assert_string_equal(run.sandbox_id, "sbx_1");
        assert_string_equal(run.outcome, "ok");
        assert_true(run.project_id == 1 && run.exit_code == -3 && run.stateful && run.started_ms == 11);
        assert_true(run.wall_us == 12 && run.cpu_us == 13 && run.memory_max_bytes == 14);
        assert_true(run.files == 2 && run.results == 2);
        int64_t bytes = (int64_t)(strlen(code) + strlen(reply)) + 5;
        free(code);
        free(reply);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), 0);
        assert_true(there.runs == 1 && there.files == 2 && there.bytes == bytes);

        assert_int_equal(store_run_get(f->store, 1, "run_2", &run, &code, &reply), STORE_E_NOT_FOUND);
        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        assert_int_equal(store_run_get(f->store, other.id, "run_1", &run, &code, &reply), STORE_E_NOT_FOUND);
}

static void nothing_is_kept_without_a_conversation(void **state) {
        struct store_fixture *f = *state;
        int64_t id = store_fixture_use(f, "talk");
        struct store_new_run *new = store_fixture_run(f, "none", "run_1", 1);
        store_fixture_add(new, "file_1", "a.txt", "aa");
        assert_int_equal(store_fixture_save(f, new), STORE_E_NOT_FOUND);

        /* By its number: not the next one of the same name. */
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), 0);
        store_fixture_use(f, "talk");
        strcpy(new->run.conversation, "talk");
        new->conversation_id = id;
        assert_int_equal(store_fixture_save(f, new), STORE_E_NOT_FOUND);
        new->conversation_id = 0;
        new->run.project_id = 2;
        assert_int_equal(store_fixture_save(f, new), STORE_E_NOT_FOUND);
        store_fixture_run_free(new);
        store_settle(f->store);
        assert_int_equal(store_fixture_blobs(f, NULL), 0);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 0);
}

static void a_bad_one_is_undone_alone(void **state) {
        struct store_fixture *f = *state;
        struct store_usage usage;
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "one");
        assert_int_equal(store_usage_get(f->store, 1, &usage), 0);
        int64_t before = usage.bytes;

        struct store_new_run *new = store_fixture_run(f, "talk", "run_1", 1);
        store_fixture_add(new, "file_2", "a.txt", "two");
        assert_int_equal(store_fixture_save(f, new), STORE_E_EXISTS);
        strcpy(new->run.id, "run_2");
        strcpy(new->files[0].file.id, "file_1");
        assert_int_equal(store_fixture_save(f, new), STORE_E_EXISTS);
        new->files[0].file.size = -1;
        assert_int_equal(store_fixture_save(f, new), -EINVAL);
        store_fixture_run_free(new);
        store_settle(f->store);
        assert_int_equal(store_usage_get(f->store, 1, &usage), 0);
        assert_true(usage.bytes == before && usage.files == 1);
        assert_int_equal(store_fixture_blobs(f, NULL), 1);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM blobs"), 1);
        assert_int_equal(store_fixture_number(f, "SELECT latest FROM files"), 1);
}

/* A frame is a page of 4 KiB and 24 bytes; there are 400. What is written later goes over it. */
static void the_log_has_its_whole_length_from_the_start(void **state) {
        struct store_fixture *f = *state;
        struct stat st;
        char path[128];
        snprintf(path, sizeof(path), "%s-wal", f->path);
        store_fixture_use(f, "talk");
        for (int number = 1; number < 4; number++) {
                store_fixture_save_one(f, "talk", number, "a.txt", "one");
                store_settle(f->store);
                assert_int_equal(stat(path, &st), 0);
                assert_int_equal(st.st_size, 400 * (4096 + 24));
        }
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 3);
}

static void runs_are_listed_oldest_first(void **state) {
        struct store_fixture *f = *state;
        struct store_run page[8];
        size_t count = 9;
        store_fixture_use(f, "talk");
        store_fixture_use(f, "other");
        assert_int_equal(store_run_list(f->store, 1, "talk", "", page, 8, &count), 0);
        assert_int_equal(count, 0);
        for (int i = 1; i <= 5; i++)
                store_fixture_save_one(f, i == 3 ? "other" : "talk", 10 - i, "a.txt", "text");
        assert_int_equal(store_run_list(f->store, 1, "talk", "", page, 3, &count), 0);
        assert_int_equal(count, 3);
        assert_string_equal(page[0].id, "run_9");
        assert_string_equal(page[1].id, "run_8");
        assert_string_equal(page[2].id, "run_6");
        assert_string_equal(page[2].conversation, "talk");
        assert_int_equal(store_run_list(f->store, 1, "talk", "run_6", page, 3, &count), 0);
        assert_int_equal(count, 1);
        assert_string_equal(page[0].id, "run_5");
        assert_int_equal(store_run_list(f->store, 1, "talk", "run_7", page, 3, &count), STORE_E_NOT_FOUND);
        assert_int_equal(store_run_list(f->store, 2, "talk", "", page, 3, &count), STORE_E_NOT_FOUND);
        assert_int_equal(store_run_list(f->store, 1, "none", "", page, 3, &count), STORE_E_NOT_FOUND);
}

static void files_are_listed_latest_first(void **state) {
        struct store_fixture *f = *state;
        struct store_file page[8];
        struct store_project other;
        size_t count = 9;
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "a1");
        store_fixture_save_one(f, "talk", 2, "b.txt", "b1");
        store_fixture_save_one(f, "talk", 3, "a.txt", "a2");
        assert_int_equal(store_file_list(f->store, 1, "talk", false, "", page, 2, &count), 0);
        assert_int_equal(count, 2);
        assert_string_equal(page[0].id, "file_3");
        assert_true(page[0].latest && page[0].size == 2 && page[0].project_id == 1);
        assert_string_equal(page[0].name, "a.txt");
        assert_string_equal(page[0].run_id, "run_3");
        assert_string_equal(page[0].conversation, "talk");
        assert_string_equal(page[0].media_type, "text/plain");
        assert_int_equal(store_file_list(f->store, 1, "talk", false, "file_2", page, 2, &count), 0);
        assert_int_equal(count, 1);
        assert_string_equal(page[0].id, "file_1");
        assert_false(page[0].latest);

        assert_int_equal(store_file_list(f->store, 1, "talk", true, "", page, 8, &count), 0);
        assert_int_equal(count, 2);
        assert_string_equal(page[0].id, "file_3");
        assert_string_equal(page[1].id, "file_2");
        /* A page that ended with a file which has a later version by now goes on there all the same. */
        assert_int_equal(store_file_list(f->store, 1, "talk", true, "file_1", page, 8, &count), 0);
        assert_int_equal(count, 0);
        assert_int_equal(store_file_list(f->store, 1, "talk", true, "none", page, 8, &count), STORE_E_NOT_FOUND);
        assert_int_equal(store_file_list(f->store, 1, "none", true, "", page, 8, &count), STORE_E_NOT_FOUND);

        assert_int_equal(store_file_get(f->store, 1, "file_1", page), 0);
        assert_false(page[0].latest);
        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        assert_int_equal(store_file_get(f->store, other.id, "file_1", page), STORE_E_NOT_FOUND);
        assert_int_equal(store_file_get(f->store, 1, "file_4", page), STORE_E_NOT_FOUND);
}

static void files_over_the_quota_are_left_out(void **state) {
        struct store_fixture *f = *state;
        struct store_usage usage;
        struct store_run run;
        char *code, *reply;
        store_fixture_use(f, "talk");
        struct store_new_run *new = store_fixture_run(f, "talk", "run_1", 4);
        store_fixture_add(new, "file_1", "a.txt", "0123456789");
        store_fixture_add(new, "file_2", "b.txt", "0123456789ABCDEFGHIJ");
        store_fixture_add(new, "file_3", "c.txt", "abcdefghij");
        store_fixture_add(new, "file_4", "d.txt", "klm");
        new->quota = (struct store_quota){.bytes = (int64_t) new->code_length + 22, .files = 2};
        assert_int_equal(store_fixture_save(f, new), 0);
        assert_int_equal(new->files[0].fate, STORE_FILE_KEPT);
        assert_int_equal(new->files[1].fate, STORE_FILE_OVER_QUOTA); /* bytes */
        assert_int_equal(new->files[2].fate, STORE_FILE_KEPT);
        assert_int_equal(new->files[3].fate, STORE_FILE_OVER_QUOTA); /* both */
        assert_int_equal(new->run.files, 2);
        store_fixture_run_free(new);
        assert_int_equal(store_run_get(f->store, 1, "run_1", &run, &code, &reply), 0);
        assert_string_equal(reply, "{\"run_id\": \"run_1\", \"files\": 2}");
        assert_int_equal(run.files, 2);
        assert_int_equal(store_usage_get(f->store, 1, &usage), 0);
        assert_true(usage.files == 2 && usage.bytes == 20 + (int64_t)(strlen(code) + strlen(reply)));
        free(code);
        free(reply);
        assert_int_equal(store_fixture_blobs(f, NULL), 2);

        /* Without limits, and with the number of files alone. */
        new = store_fixture_run(f, "talk", "run_2", 1);
        store_fixture_add(new, "file_5", "e.txt", "0123456789ABCDEFGHIJ");
        assert_int_equal(store_fixture_save(f, new), 0);
        assert_int_equal(new->files[0].fate, STORE_FILE_KEPT);
        strcpy(new->run.id, "run_3");
        strcpy(new->files[0].file.id, "file_6");
        new->quota.files = 3;
        assert_int_equal(store_fixture_save(f, new), 0);
        assert_int_equal(new->files[0].fate, STORE_FILE_OVER_QUOTA);
        store_fixture_run_free(new);

        /* Deleting makes room. */
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), 0);
        store_fixture_use(f, "talk");
        new = store_fixture_run(f, "talk", "run_4", 1);
        store_fixture_add(new, "file_7", "a.txt", "0123456789");
        new->quota = (struct store_quota){.bytes = (int64_t) new->code_length + 10, .files = 1};
        assert_int_equal(store_fixture_save(f, new), 0);
        assert_int_equal(new->files[0].fate, STORE_FILE_KEPT);
        store_fixture_run_free(new);
}

static const char *no_memory(void *data, size_t *ret_length) {
        (void)data;
        (void)ret_length;
        return NULL;
}

static void without_memory_nothing_is_kept(void **state) {
        struct store_fixture *f = *state;
        store_fixture_use(f, "talk");
        struct store_new_run *new = store_fixture_run(f, "talk", "run_1", 1);
        store_fixture_add(new, "file_1", "a.txt", "text");
        new->write_reply = no_memory;
        assert_int_equal(store_fixture_save(f, new), -ENOMEM);
        store_fixture_run_free(new);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 0);
        store_fixture_save_one(f, "talk", 2, "a.txt", "text");
}

static int called, failed;

static void count_call(void *data, int result) {
        (void)data;
        called++;
        failed += result != 0;
}

static void closing_writes_what_has_been_asked_for(void **state) {
        struct store_fixture *f = *state;
        struct store_new_run *runs[100];
        called = failed = 0;
        store_fixture_use(f, "talk");
        for (int i = 0; i < 100; i++) {
                char id[32];
                snprintf(id, sizeof(id), "run_%d", i);
                runs[i] = store_fixture_run(f, "talk", id, 1);
                store_fixture_add(runs[i], id, id, id);
                runs[i]->done = count_call;
                assert_int_equal(store_run_save(f->store, runs[i]), 0);
        }
        store_fixture_close(f);
        assert_int_equal(called, 100);
        assert_int_equal(failed, 0);
        for (int i = 0; i < 100; i++)
                store_fixture_run_free(runs[i]);
        store_fixture_open(f);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 100);
        assert_int_equal(store_fixture_blobs(f, NULL), 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_run_is_kept, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(nothing_is_kept_without_a_conversation, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_bad_one_is_undone_alone, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(the_log_has_its_whole_length_from_the_start, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(runs_are_listed_oldest_first, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(files_are_listed_latest_first, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(files_over_the_quota_are_left_out, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(without_memory_nothing_is_kept, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(closing_writes_what_has_been_asked_for, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
