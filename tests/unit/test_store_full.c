/*
 * A disk on which no more can be written, played by a limit on the size of files: the run is refused, nothing of it
 * stays, and with room again all goes on.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"
#include "store/conversations.h"
#include "store_fixture.h"

#define LARGE 300000

static void limit_files(rlim_t bytes) {
        struct rlimit limit;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = bytes;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The log has its whole length from the start: not even its first frame can be written over then. */
static void leave_no_room_in_the_log(void) {
        limit_files(100);
}

static void check_nothing_is_left(struct store_fixture *f, long long runs) {
        size_t temporary;
        store_settle(f->store);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM runs"), runs);
        assert_int_equal(store_fixture_number(f, "SELECT count(*) FROM files"), runs);
        assert_int_equal(store_fixture_number(f, "SELECT sum(files) FROM usage"), runs);
        assert_int_equal(store_fixture_blobs(f, &temporary),
                         (size_t)store_fixture_number(f, "SELECT count(*) FROM blobs"));
        assert_int_equal(temporary, 0);
}

static struct store_new_run *large_run(struct store_fixture *f, const char *id, const char *file_id) {
        static char text[LARGE + 1];
        memset(text, 'x', LARGE);
        struct store_new_run *run = store_fixture_run(f, "talk", id, 2);
        store_fixture_add(run, file_id, "a.txt", text);
        return run;
}

static void no_room_for_a_content(void **state) {
        struct store_fixture *f = *state;
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "small");
        struct store_new_run *run = large_run(f, "run_2", "file_2");
        limit_files(LARGE / 2);
        assert_int_equal(store_fixture_save(f, run), -EFBIG);
        check_nothing_is_left(f, 1);
        limit_files(RLIM_INFINITY);
        assert_int_equal(store_fixture_save(f, run), 0);
        store_fixture_run_free(run);
        check_nothing_is_left(f, 2);
}

static int failed, succeeded;
static struct loop *counting;

static void count(void *data, int result) {
        (void)data;
        if (result == 0)
                succeeded++;
        else
                failed++;
        if (succeeded + failed == 10)
                loop_quit(counting, 0);
}

/* The log cannot be written, so no commit of the group succeeds; contents had been written, and go. */
static void no_room_for_the_commit(void **state) {
        struct store_fixture *f = *state;
        struct store_new_run *runs[10];
        store_fixture_use(f, "talk");
        store_fixture_save_one(f, "talk", 1, "a.txt", "small");
        store_settle(f->store);
        leave_no_room_in_the_log();
        for (int i = 0; i < 10; i++) {
                char id[32], text[32];
                snprintf(id, sizeof(id), "run_full_%d", i);
                runs[i] = store_fixture_run(f, "talk", id, 1);
                snprintf(text, sizeof(text), "content %d", i);
                store_fixture_add(runs[i], text, text, text);
                runs[i]->done = count;
        }
        failed = succeeded = 0;
        counting = f->loop;
        for (int i = 0; i < 10; i++)
                assert_int_equal(store_run_save(f->store, runs[i]), 0);
        assert_int_equal(loop_run(f->loop), 0);
        assert_int_equal(failed, 10);
        check_nothing_is_left(f, 1);

        limit_files(RLIM_INFINITY);
        for (int i = 0; i < 10; i++) {
                assert_int_equal(store_fixture_save(f, runs[i]), 0);
                store_fixture_run_free(runs[i]);
        }
        check_nothing_is_left(f, 11);
        store_fixture_reopen(f);
        check_nothing_is_left(f, 11);
}

/* It seemed to be made, and could not be written: it is not there, and nothing is kept of it. */
static void no_room_for_a_conversation(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there;
        store_settle(f->store);
        leave_no_room_in_the_log();
        int64_t id = store_fixture_use(f, "talk");
        struct store_new_run *run = store_fixture_run(f, "talk", "run_1", 0);
        run->conversation_id = id;
        assert_int_not_equal(store_fixture_save(f, run), 0);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &there), STORE_E_NOT_FOUND);
        limit_files(RLIM_INFINITY);
        assert_int_not_equal(store_fixture_use(f, "talk"), id);
        run->conversation_id = 0;
        assert_int_equal(store_fixture_save(f, run), 0);
        store_fixture_run_free(run);
}

static void a_use_is_not_forgotten(void **state) {
        struct store_fixture *f = *state;
        struct store_conversation there, after;
        store_fixture_use(f, "talk");
        store_settle(f->store);
        usleep(3000);
        assert_int_equal(store_conversation_use(f->store, 1, "talk", "", &there), 0);
        leave_no_room_in_the_log();
        struct store_new_run *run = store_fixture_run(f, "talk", "run_1", 0);
        assert_true(store_fixture_save(f, run) < 0);
        store_fixture_run_free(run);
        assert_true(store_fixture_number(f, "SELECT active_ms FROM conversations") < there.active_ms);
        assert_int_equal(store_conversation_find(f->store, 1, "talk", &after), 0);
        assert_int_equal(after.active_ms, there.active_ms);
        limit_files(RLIM_INFINITY);
        store_fixture_reopen(f);
        assert_int_equal(store_fixture_number(f, "SELECT active_ms FROM conversations"), there.active_ms);
}

static int tear_down(void **state) {
        limit_files(RLIM_INFINITY);
        return store_tear_down(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(no_room_for_a_content, store_set_up, tear_down),
                cmocka_unit_test_setup_teardown(no_room_for_the_commit, store_set_up, tear_down),
                cmocka_unit_test_setup_teardown(no_room_for_a_conversation, store_set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_use_is_not_forgotten, store_set_up, tear_down),
        };
        signal(SIGXFSZ, SIG_IGN); /* the calls fail instead */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
