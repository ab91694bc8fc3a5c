/* Conversations on disk: used, found, listed by activity, deleted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"
#include "store/agents.h"
#include "store/conversations.h"
#include "store_fixture.h"

static const struct store_cursor first_page = {.id = 0};

static void made_on_first_use(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        struct store_project other;
        struct store_conversation there, again;

        assert_int_equal(store_conversation_find(f->store, project, "talk", &there), STORE_E_NOT_FOUND);
        assert_int_equal(store_conversation_use(f->store, project, "talk", "", &there), 0);
        assert_string_equal(there.name, "talk");
        assert_string_equal(there.agent, "");
        assert_true(there.id > 0 && there.created_ms > 1700000000000 && there.active_ms == there.created_ms);
        assert_true(there.runs == 0 && there.files == 0 && there.bytes == 0);
        store_fixture_reopen(f);
        assert_int_equal(store_conversation_use(f->store, project, "talk", "", &again), 0);
        assert_int_equal(again.id, there.id);

        assert_int_equal(store_project_create(f->store, "other", &other), 0);
        assert_int_equal(store_conversation_find(f->store, other.id, "talk", &again), STORE_E_NOT_FOUND);
        assert_int_equal(store_conversation_use(f->store, other.id, "talk", "", &again), 0);
        assert_int_not_equal(again.id, there.id);
}

struct answer {
        struct loop *loop;
        int result, calls;
};

static void on_used(void *data, int result) {
        struct answer *answer = data;
        answer->result = result;
        answer->calls++;
        loop_quit(answer->loop, 0);
}

/* It is there for all calls before the writer has got to it; nothing comes in between. */
static void made_without_waiting(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there, again;
        struct store_run runs[2];
        struct store_file files[2];
        size_t count = 9;
        for (int i = 0; i < 50; i++) {
                char name[32];
                snprintf(name, sizeof(name), "talk-%d", i);
                assert_int_equal(store_conversation_use(f->store, 1, name, "", &there), 0);
                assert_int_equal(store_conversation_use(f->store, 1, name, "", &again), 0);
                assert_int_equal(again.id, there.id);
                assert_int_equal(store_conversation_find(f->store, 1, name, &again), 0);
                assert_int_equal(again.id, there.id);
                assert_int_equal(store_run_list(f->store, 1, name, "", runs, 2, &count), 0);
                assert_int_equal(count, 0);
                assert_int_equal(store_file_list(f->store, 1, name, true, "", files, 2, &count), 0);
                if (i % 2) {
                        assert_int_equal(store_conversation_delete(f->store, 1, name), 0);
                        assert_int_equal(store_conversation_find(f->store, 1, name, &again), STORE_E_NOT_FOUND);
                        assert_int_equal(store_conversation_use(f->store, 1, name, "", &again), 0);
                        assert_true(again.id > there.id);
                }
                store_fixture_save_one(f, name, i, "a.txt", "text");
                assert_int_equal(store_conversation_find(f->store, 1, name, &there), 0);
                assert_true(there.id == again.id && there.runs == 1);
        }
        store_fixture_reopen(f);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM conversations"), 50);
}

/* A number is never given twice, also if the last of them is gone when the service starts. */
static void numbers_are_not_given_again(void **state) {
        struct store_fixture *f = *state;
        int64_t last = store_fixture_use(f, "talk");
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), 0);
        store_settle(f->store);
        store_fixture_reopen(f);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM conversations"), 0);
        assert_true(store_fixture_use(f, "talk") > last);
}

/* What must be changed first is answered later. */
static void changed_without_waiting(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there;
        struct answer answer = {.loop = f->loop, .result = -1};
        struct store_use use = {store_fixture_project(f), "talk", "", &there, on_used, &answer};
        bool created;

        assert_int_equal(store_conversation_use_soon(f->store, &use), 0);
        assert_int_equal(store_agent_put(f->store, use.project_id, "a", NULL, NULL, &created), 0);
        use.agent = "a";
        assert_int_equal(store_conversation_use_soon(f->store, &use), STORE_E_LATER);
        loop_run(f->loop);
        assert_int_equal(answer.result, 0);
        assert_string_equal(there.agent, "a");
        assert_int_equal(store_conversation_use_soon(f->store, &use), 0);
        assert_int_equal(answer.calls, 1);

        use.name = "other", use.agent = "no such agent";
        assert_int_equal(store_conversation_use_soon(f->store, &use), STORE_E_NOT_FOUND);
        use.agent = "";
        assert_int_equal(store_conversation_use_soon(f->store, &use), 0);
        use.agent = "no such agent";
        assert_int_equal(store_conversation_use_soon(f->store, &use), STORE_E_LATER);
        loop_run(f->loop);
        assert_int_equal(answer.result, STORE_E_NOT_FOUND);
}

static void belongs_to_its_first_agent(void **state) {
        struct store_fixture *f = *state;
        int64_t project = store_fixture_project(f);
        struct store_conversation there;
        bool created;
        assert_int_equal(store_agent_put(f->store, project, "a", NULL, NULL, &created), 0);
        assert_int_equal(store_agent_put(f->store, project, "b", NULL, NULL, &created), 0);

        assert_int_equal(store_conversation_use(f->store, project, "talk", "no such agent", &there), STORE_E_NOT_FOUND);
        assert_int_equal(store_conversation_find(f->store, project, "talk", &there), STORE_E_NOT_FOUND);

        assert_int_equal(store_conversation_use(f->store, project, "talk", "", &there), 0);
        assert_int_equal(store_conversation_use(f->store, project, "talk", "a", &there), 0);
        assert_string_equal(there.agent, "a");
        assert_int_equal(store_conversation_use(f->store, project, "talk", "b", &there), STORE_E_CONFLICT);
        assert_string_equal(there.agent, "a");
        assert_int_equal(store_conversation_use(f->store, project, "talk", "", &there), 0);
        assert_string_equal(there.agent, "a");
        store_fixture_reopen(f);
        assert_int_equal(store_conversation_find(f->store, project, "talk", &there), 0);
        assert_string_equal(there.agent, "a");
        assert_int_equal(store_conversation_use(f->store, project, "new", "b", &there), 0);
        assert_string_equal(there.agent, "b");
}

/* Conversation number i was active at i / 2, so that two each have the same time. */
static void make_many(const struct store_fixture *f, int count) {
        char sql[512];
        snprintf(sql, sizeof(sql),
                 "WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 " INSERT INTO conversations (project_id, name, agent_id, created_ms, active_ms)"
                 " SELECT 1, 'talk-' || i, (SELECT id FROM agents WHERE i %% 3 = 0), 1, 1000 + i / 2 FROM n",
                 count);
        store_fixture_sql(f, sql);
}

static int read_pages(const struct store_fixture *f, const char *agent, size_t page_size, bool seen[], int *last) {
        struct store_conversation page[16];
        struct store_cursor after = first_page;
        int count, total = 0;
        const struct store_filter filter = {.agent = agent};
        while ((count = store_conversation_list(f->store, 1, &filter, after, page, page_size)) > 0) {
                for (int i = 0; i < count; i++) {
                        int number = atoi(page[i].name + strlen("talk-"));
                        assert_true(number < *last);
                        assert_false(seen[number]);
                        seen[number] = true;
                        *last = number;
                }
                total += count;
                after = (struct store_cursor){.ms = page[count - 1].active_ms, .id = page[count - 1].id};
        }
        assert_int_equal(count, 0);
        return total;
}

static void listed_page_by_page(void **state) {
        struct store_fixture *f = *state;
        bool created;
        assert_int_equal(store_agent_put(f->store, 1, "a", NULL, NULL, &created), 0);
        make_many(f, 50);
        for (size_t page_size = 1; page_size <= 16; page_size += 3) {
                bool seen[64] = {false}, of_agent[64] = {false};
                int last = 1000;
                assert_int_equal(read_pages(f, NULL, page_size, seen, &last), 50);
                last = 1000;
                assert_int_equal(read_pages(f, "a", page_size, of_agent, &last), 16);
                for (int i = 1; i <= 50; i++)
                        assert_int_equal(of_agent[i], i % 3 == 0);
        }
        bool seen[64] = {false};
        int last = 1000;
        assert_int_equal(read_pages(f, "b", 5, seen, &last), 0);
}

static int count_containing(const struct store_fixture *f, const char *agent, const char *text) {
        struct store_conversation list[64];
        const struct store_filter filter = {.agent = agent, .containing = text};
        return store_conversation_list(f->store, 1, &filter, first_page, list, 64);
}

static void searched_by_a_part_of_a_name(void **state) {
        struct store_fixture *f = *state;
        char longest[STORE_CONVERSATION_MAX + 1], too_long[300];
        bool created;
        memset(longest, 'a', sizeof(longest));
        memset(too_long, 'a', sizeof(too_long));
        longest[sizeof(longest) - 1] = too_long[sizeof(too_long) - 1] = '\0';
        assert_int_equal(store_agent_put(f->store, 1, "shop", NULL, NULL, &created), 0);
        store_fixture_use(f, "A_b%c.Mixed");
        store_fixture_use(f, longest);
        store_settle(f->store);
        make_many(f, 50);
        assert_int_equal(count_containing(f, NULL, ""), 52);
        assert_int_equal(count_containing(f, NULL, "TALK-4"), 11);
        assert_int_equal(count_containing(f, NULL, "mixED"), 1);
        assert_int_equal(count_containing(f, NULL, "sHo"), 16);
        assert_int_equal(count_containing(f, "shop", "talk-4"), 3); /* 42, 45, 48 */
        assert_int_equal(count_containing(f, "shop", "mixed"), 0);
        assert_int_equal(count_containing(f, NULL, longest), 1);
        assert_int_equal(count_containing(f, NULL, too_long), 0);
        /* Nothing stands for anything else. */
        assert_int_equal(count_containing(f, NULL, "%"), 1);
        assert_int_equal(count_containing(f, NULL, "_"), 1);
        assert_int_equal(count_containing(f, NULL, "*"), 0);
        assert_int_equal(count_containing(f, NULL, "' OR 1 --"), 0);
}

/* A run brings it to the top at once; a use alone is in the times that are written later. */
static void the_latest_is_listed_first(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation list[4];
        store_fixture_use(f, "one");
        usleep(2000);
        store_fixture_use(f, "two");
        store_settle(f->store);
        assert_int_equal(store_conversation_list(f->store, 1, &(struct store_filter){0}, first_page, list, 4), 2);
        assert_string_equal(list[0].name, "two");
        store_fixture_save_one(f, "one", 1, "a.txt", "text");
        assert_int_equal(store_conversation_list(f->store, 1, &(struct store_filter){0}, first_page, list, 4), 2);
        assert_string_equal(list[0].name, "one");
        assert_int_equal(list[0].runs, 1);
}

static void a_use_costs_no_commit_and_is_written_in_the_end(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there, again;
        assert_int_equal(store_conversation_use(f->store, 1, "talk", "", &there), 0);
        store_settle(f->store);
        usleep(3000);
        assert_int_equal(store_conversation_use(f->store, 1, "talk", "", &again), 0);
        assert_true(again.active_ms > there.active_ms);
        assert_int_equal(store_fixture_number(f, "SELECT active_ms FROM conversations"), there.active_ms);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), 0);
        assert_int_equal(there.active_ms, again.active_ms);
        store_fixture_reopen(f);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), 0);
        assert_int_equal(there.active_ms, again.active_ms);
}

static void end_loop(void *data) {
        loop_quit(data, 0);
}

static void a_use_is_written_after_some_seconds(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there;
        int64_t written = 0;
        store_fixture_use(f, "talk");
        store_settle(f->store);
        usleep(3000);
        assert_int_equal(store_conversation_use(f->store, 1, "talk", "", &there), 0);
        for (int i = 0; i < 100 && written != there.active_ms; i++) {
                assert_int_equal(loop_add_timer(f->loop, 100 * NS_PER_MS, end_loop, f->loop, NULL), 0);
                assert_int_equal(loop_run(f->loop), 0);
                written = store_fixture_number(f, "SELECT active_ms FROM conversations");
        }
        assert_int_equal(written, there.active_ms);
}

static void deleted_with_all_that_it_has(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there;
        struct store_usage usage;
        struct store_file file;
        struct store_run runs[2];
        char *code, *reply;
        size_t count;
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), STORE_E_NOT_FOUND);
        int64_t id = store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "one");
        store_fixture_save_one(f, "talk", 2, "a.txt", "two");
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), 0);
        assert_true(there.runs == 2 && there.files == 2);
        assert_int_equal(store_usage_get(f->store, 1, &usage), 0);
        assert_true(usage.files == 2 && usage.bytes == there.bytes && usage.bytes > 6);

        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), 0);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), STORE_E_NOT_FOUND);
        assert_int_equal(store_conversation_list(f->store, 1, &(struct store_filter){0}, first_page, &there, 1), 0);
        assert_int_equal(store_run_list(f->store, 1, "talk", "", runs, 2, &count), STORE_E_NOT_FOUND);
        assert_int_equal(store_run_get(f->store, 1, "run_1", runs, &code, &reply), STORE_E_NOT_FOUND);
        assert_int_equal(store_file_get(f->store, 1, "file_1", &file), STORE_E_NOT_FOUND);
        assert_int_equal(store_conversation_delete(f->store, 1, "talk"), STORE_E_NOT_FOUND);
        assert_int_equal(store_usage_get(f->store, 1, &usage), 0);
        assert_true(usage.files == 0 && usage.bytes == 0);

        store_settle(f->store);
        assert_int_equal(store_fixture_number(f, "SELECT (SELECT count(*) FROM conversations)"
                                                 " + (SELECT count(*) FROM runs) + (SELECT count(*) FROM run_details)"
                                                 " + (SELECT count(*) FROM files) + (SELECT count(*) FROM blobs)"),
                         0);
        assert_int_equal(store_fixture_blobs(f, NULL), 0);
        assert_int_not_equal(store_fixture_use(f, "talk"), id);
}

/* More than the writer removes at once, and in the end all of it; what is beside it stays. */
static void a_large_one_is_deleted_in_portions(void **state) {
        struct store_fixture *f = *state;
        store_fixture_use(f, "stays");
        store_fixture_save_one(f, "stays", 1, "a.txt", "shared");
        for (int i = 0; i < 7; i++) {
                char name[32], id[32];
                snprintf(name, sizeof(name), "goes-%d", i);
                store_fixture_use(f, name);
                snprintf(id, sizeof(id), "run_goes_%d", i);
                struct store_new_run *run = store_fixture_run(f, name, id, 100);
                for (int k = 0; k < 100; k++) {
                        char file_id[48], text[32];
                        snprintf(file_id, sizeof(file_id), "file_%d_%d", i, k);
                        snprintf(text, sizeof(text), "content %d", k);
                        store_fixture_add(run, file_id, file_id, k ? text : "shared");
                }
                assert_int_equal(store_fixture_save(f, run), 0);
                store_fixture_run_free(run);
        }
        assert_int_equal(store_fixture_blobs(f, NULL), 100);
        assert_int_equal(store_fixture_number(f, "SELECT max(refs) FROM blobs"), 8);
        for (int i = 0; i < 7; i++) {
                char name[32];
                snprintf(name, sizeof(name), "goes-%d", i);
                assert_int_equal(store_conversation_delete(f->store, 1, name), 0);
        }
        store_settle(f->store);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM conversations"), 1);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM files"), 1);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), 1);
        assert_int_equal(store_fixture_number(f, "SELECT sum(refs) FROM blobs"), 1);
        assert_int_equal(store_fixture_blobs(f, NULL), 1);
}

/* It was deleted, and the service stopped before the rest of it was removed. */
static void the_next_start_goes_on_with_deleting(void **state) {
        struct store_fixture *f = *state;
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "text");
        store_fixture_close(f);
        store_fixture_sql(f, "UPDATE conversations SET project_id = NULL, name = NULL");
        store_fixture_open(f);
        store_settle(f->store);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM conversations"), 0);
        assert_int_equal(store_fixture_blobs(f, NULL), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(made_on_first_use, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(made_without_waiting, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(numbers_are_not_given_again, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(changed_without_waiting, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(belongs_to_its_first_agent, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(listed_page_by_page, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(searched_by_a_part_of_a_name, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(the_latest_is_listed_first, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_use_costs_no_commit_and_is_written_in_the_end, store_set_up,
                                                store_tear_down),
                cmocka_unit_test_setup_teardown(a_use_is_written_after_some_seconds, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(deleted_with_all_that_it_has, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_large_one_is_deleted_in_portions, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(the_next_start_goes_on_with_deleting, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
