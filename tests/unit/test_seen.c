/* What a room's init remembers of files: changed ones are never passed over, unchanged ones are where times tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "init/io.h"
#include "init/seen.h"
#include "spawn/frames.h"

#define NOW_S 1000000000000 /* later than any collection: a change in its very tick */

static struct stat file(ino_t inode, off_t size, time_t changed, time_t accessed) {
        return (struct stat){
                .st_mode = S_IFREG | 0644,
                .st_ino = inode,
                .st_size = size,
                .st_ctim = {.tv_sec = changed, .tv_nsec = 7},
                .st_atim = {.tv_sec = accessed},
        };
}

/* Each test begins with nothing noted: a whole collection that meets nothing. */
static int forget(void **state) {
        (void)state;
        seen_begin();
        seen_end(true);
        return 0;
}

static void what_times_tell(void **state) {
        const struct stat st = file(5, 10, 100, 90);
        (void)state;
        seen_begin();
        assert_int_equal(seen_look("a", &st), SEEN_NEVER);
        seen_note("a", &st, 77, 0);
        seen_end(true);
        assert_int_equal(seen_look("a", &st), SEEN_AS_IT_IS);
        assert_int_equal(seen_look("b", &st), SEEN_NEVER);
        assert_int_equal(seen_look("a", &(struct stat[]){file(6, 10, 100, 90)}[0]), SEEN_NEVER); /* another file */
        assert_int_equal(seen_look("a", &(struct stat[]){file(5, 11, 100, 90)}[0]), SEEN_NEVER);
        assert_int_equal(seen_look("a", &(struct stat[]){file(5, 10, 101, 90)}[0]), SEEN_NEVER);
        assert_int_equal(seen_look("a", &(struct stat[]){file(5, 10, 99, 90)}[0]), SEEN_NEVER); /* a clock set back */
        assert_int_equal(seen_look("a", &(struct stat[]){file(5, 10, 100, 91)}[0]), SEEN_PERHAPS); /* read, or mapped */
}

static void where_times_do_not_tell(void **state) {
        const struct stat cases[] = {
                file(5, 10, NOW_S, 90),  /* changed in the tick of the collection */
                file(5, 10, 100, NOW_S), /* mapped in it */
                file(5, 10, 100, 90),    /* open for writing */
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                seen_begin();
                seen_note("a", &cases[i], 77, i == 2 ? SEEN_WRITABLE : 0);
                assert_int_equal(seen_look("a", &cases[i]), SEEN_PERHAPS);
                assert_false(seen_content("a", &cases[i], 78, 0));
                assert_int_equal(seen_look("a", &cases[i]), SEEN_PERHAPS);
                assert_true(seen_content("a", &cases[i], 77, 0));
        }
        assert_int_equal(seen_look("a", &cases[2]), SEEN_AS_IT_IS); /* nobody writes any more */
}

static void inputs_are_compared_by_content(void **state) {
        const struct stat before = file(5, 10, 100, 90), rewritten = file(6, 10, 200, 190);
        const struct stat longer = file(6, 11, 200, 190), later = file(6, 11, 300, 190);
        (void)state;
        seen_note("a", &before, 77, SEEN_HANDED_IN);
        seen_begin();
        assert_int_equal(seen_look("a", &rewritten), SEEN_PERHAPS);
        assert_true(seen_content("a", &rewritten, 77, 0));
        assert_int_equal(seen_look("a", &rewritten), SEEN_AS_IT_IS);
        assert_int_equal(seen_look("a", &before), SEEN_PERHAPS); /* still an input */
        assert_int_equal(seen_look("a", &longer), SEEN_NEVER);
        seen_note("a", &longer, 78, 0);
        assert_int_equal(seen_look("a", &later), SEEN_NEVER); /* no input any more */
}

static void what_was_skipped_is_told_again_only_when_changed(void **state) {
        const struct stat sure = file(5, 10, 100, 90), unsure = file(5, 10, NOW_S, 90);
        (void)state;
        seen_begin();
        seen_note_skipped("a", &sure);
        assert_int_equal(seen_look("a", &sure), SEEN_AS_IT_IS);
        seen_note_skipped("a", &unsure);
        assert_int_equal(seen_look("a", &unsure), SEEN_NEVER);
        seen_note_skipped("b", &unsure); /* unknown before */
        assert_int_equal(seen_look("b", &unsure), SEEN_NEVER);
}

static void what_is_gone_is_forgotten(void **state) {
        const struct stat st = file(5, 10, 100, 90);
        char name[32];
        (void)state;
        seen_begin();
        for (int i = 0; i < 1000; i++) {
                snprintf(name, sizeof(name), "d/%d", i);
                seen_note(name, &st, (uint64_t)i, 0);
        }
        seen_end(true);
        seen_begin();
        for (int i = 0; i < 1000; i += 3) {
                snprintf(name, sizeof(name), "d/%d", i);
                assert_int_equal(seen_look(name, &st), SEEN_AS_IT_IS);
        }
        seen_end(false); /* it did not come through: the rest may be there still */
        assert_int_equal(seen_look("d/1", &st), SEEN_AS_IT_IS);
        seen_begin();
        for (int i = 0; i < 1000; i += 3) {
                snprintf(name, sizeof(name), "d/%d", i);
                seen_look(name, &st);
        }
        seen_end(true);
        for (int i = 0; i < 1000; i++) {
                snprintf(name, sizeof(name), "d/%d", i);
                assert_int_equal(seen_look(name, &st), i % 3 == 0 ? SEEN_AS_IT_IS : SEEN_NEVER);
        }
}

static void a_full_table_hands_over_again(void **state) {
        const struct stat st = file(5, 10, 100, 90);
        char name[32];
        (void)state;
        seen_begin();
        for (int i = 0; i < ENTRIES_MAX + 10; i++) {
                snprintf(name, sizeof(name), "%d", i);
                seen_note(name, &st, 0, 0);
        }
        assert_int_equal(seen_look("19999", &st), SEEN_AS_IT_IS);
        assert_int_equal(seen_look("20005", &st), SEEN_NEVER);
        seen_end(true);
        forget(NULL);
        assert_int_equal(seen_look("5", &st), SEEN_NEVER);
}

static void hashes_tell_contents_apart(void **state) {
        double numbers[16] = {1, 2, 3, 4, 5, 6, 7, 8}, negative[16];
        char zeros[100] = {0};
        (void)state;
        for (int i = 0; i < 16; i++)
                negative[i] = -numbers[i];
        assert_true(hash_more(HASH_START, numbers, 128) != hash_more(HASH_START, negative, 128));
        assert_true(hash_more(HASH_START, zeros, 96) != hash_more(HASH_START, zeros, 88));
        uint64_t parts = hash_more(hash_more(HASH_START, numbers, 64), numbers + 8, 64);
        assert_true(parts == hash_more(HASH_START, numbers, 128));
        for (size_t i = 0; i < sizeof(zeros); i++) {
                uint64_t before = hash_more(HASH_START, zeros, sizeof(zeros));
                zeros[i] = 1;
                assert_true(before != hash_more(HASH_START, zeros, sizeof(zeros)));
                zeros[i] = 0;
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(what_times_tell, forget),
                cmocka_unit_test_setup(where_times_do_not_tell, forget),
                cmocka_unit_test_setup(inputs_are_compared_by_content, forget),
                cmocka_unit_test_setup(what_was_skipped_is_told_again_only_when_changed, forget),
                cmocka_unit_test_setup(what_is_gone_is_forgotten, forget),
                cmocka_unit_test_setup(a_full_table_hands_over_again, forget),
                cmocka_unit_test_setup(hashes_tell_contents_apart, forget),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
