/* The audit log on disk: what is added is chained, found again after a stop, cut where it was damaged, and dropped. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"
#include "store/audit.h"
#include "store_fixture.h"

#define SMALL (UINT64_C(64) << 10) /* the smallest file of the log */

static void path_of(const struct store_fixture *f, uint64_t first, char path[160]) {
        snprintf(path, 160, "%s/audit/%020" PRIu64 ".jsonl", f->folder, first);
}

static void add(const struct store_fixture *f, const char *members) {
        assert_int_equal(store_audit_add(f->store, members, false), 0);
}

static uint64_t last(const struct store_fixture *f) {
        uint64_t first;
        return store_audit_head(f->store, &first).seq;
}

struct reading {
        struct audit_place place;
        uint64_t count;
        char text[AUDIT_LINE_MAX + 1]; /* of the last one */
};

static int take(void *data, const char *bytes, size_t length) {
        struct reading *reading = data;
        struct audit_line line;
        assert_int_equal(audit_line_read(bytes, length, &line), AUDIT_OK);
        if (reading->count++ == 0) {
                reading->place.seq = line.seq - 1;
                memcpy(reading->place.hash, line.prev, sizeof(line.prev));
        }
        assert_int_equal(audit_line_follow(&line, &reading->place), AUDIT_OK);
        memcpy(reading->text, bytes, length);
        reading->text[length] = '\0';
        return 0;
}

/* The lines of a range are a chain; how many there are. */
static struct reading read_range(const struct store_fixture *f, uint64_t from, uint64_t to) {
        struct reading reading = {.count = 0};
        assert_int_equal(store_audit_read(f->store, from, to, take, &reading), 0);
        return reading;
}

static void lines_hold_on_to_each_other(void **state) {
        struct store_fixture *f = *state;
        uint64_t first;
        add(f, "{\"action\":\"a\"}");
        assert_int_equal(store_audit_add(f->store, "{\"action\":\"b\",\"target\":\"ä\"}", true), 0);
        assert_int_equal(read_range(f, 1, 2).count, 2);
        assert_int_equal(read_range(f, 2, 9).count, 1);
        assert_non_null(strstr(read_range(f, 2, 2).text, "\"action\":\"b\",\"target\":\"ä\",\"hash\":"));
        store_fixture_reopen(f);
        add(f, "{\"action\":\"c\"}");
        struct reading all = read_range(f, 1, 3);
        struct audit_place head = store_audit_head(f->store, &first);
        assert_int_equal(all.count, 3);
        assert_int_equal(first, 1);
        assert_int_equal(head.seq, 3);
        assert_string_equal(head.hash, all.place.hash);
}

static void what_is_no_object_is_refused(void **state) {
        struct store_fixture *f = *state;
        char *large = calloc(1, AUDIT_LINE_MAX + 1);
        assert_non_null(large);
        memset(large, 'x', AUDIT_LINE_MAX);
        large[0] = '{';
        large[AUDIT_LINE_MAX - 1] = '}';
        assert_true(store_audit_add(f->store, "", false) < 0);
        assert_true(store_audit_add(f->store, "[1]", false) < 0);
        assert_true(store_audit_add(f->store, large, false) < 0);
        free(large);
        add(f, "{\"action\":\"a\"}");
        assert_int_equal(read_range(f, 1, 9).count, 1);
}

static void half_a_line_is_set_aside(void **state) {
        struct store_fixture *f = *state;
        char path[160];
        add(f, "{\"action\":\"a\"}");
        add(f, "{\"action\":\"b\"}");
        store_fixture_close(f);
        path_of(f, 1, path);
        int fd = open(path, O_WRONLY | O_APPEND);
        assert_int_equal(write(fd, "{\"seq\":3,\"prev", 14), 14);
        close(fd);
        store_fixture_open(f);
        assert_int_equal(last(f), 3);
        assert_non_null(strstr(read_range(f, 1, 3).text, "\"audit.repair\",\"details\":{\"bytes\":14,"));
        store_fixture_reopen(f);
        assert_int_equal(last(f), 3);
}

static void a_changed_last_line_is_not_gone_on_with(void **state) {
        struct store_fixture *f = *state;
        char path[160];
        struct stat status;
        add(f, "{\"action\":\"a\"}");
        add(f, "{\"action\":\"b\"}");
        store_fixture_close(f);
        path_of(f, 1, path);
        int fd = open(path, O_WRONLY);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(pwrite(fd, "0", 1, status.st_size - 5), 1);
        assert_int_equal(pwrite(fd, "1", 1, status.st_size - 6), 1);
        close(fd);
        store_fixture_open(f);
        assert_int_equal(last(f), 3);
        assert_non_null(strstr(read_range(f, 2, 2).text, "\"audit.lost\",\"details\":{\"through\":2,"));
        assert_non_null(strstr(read_range(f, 1, 3).text, "audit.repair"));
}

/* What the file "head" says; 0: nothing. */
static uint64_t noted(const struct store_fixture *f) {
        char path[160], text[AUDIT_PLACE_BYTES] = "";
        struct audit_place place = {.seq = 0};
        snprintf(path, sizeof(path), "%s/audit/head", f->folder);
        int fd = open(path, O_RDONLY);
        assert_true(read(fd, text, sizeof(text) - 1) >= 0);
        close(fd);
        text[strcspn(text, "\n")] = '\0';
        return audit_place_parse(text, &place) ? place.seq : 0;
}

static void what_is_on_the_disk_is_noted_and_nothing_more(void **state) {
        struct store_fixture *f = *state;
        add(f, "{\"action\":\"a\"}");
        assert_int_equal(noted(f), 0);
        assert_int_equal(store_audit_add(f->store, "{\"action\":\"b\"}", true), 0);
        assert_int_equal(noted(f), 2);
        add(f, "{\"action\":\"c\"}");
        assert_int_equal(noted(f), 2);
        store_fixture_reopen(f);
        assert_int_equal(noted(f), 3);
        assert_int_equal(last(f), 3);
}

/* Keeps `length` bytes of the log, while nobody has it open. */
static void cut(struct store_fixture *f, off_t length) {
        char path[160];
        store_fixture_close(f);
        path_of(f, 1, path);
        assert_int_equal(truncate(path, length), 0);
        store_fixture_open(f);
}

static void lines_that_were_cut_off_at_the_end_are_missed(void **state) {
        struct store_fixture *f = *state;
        char path[160];
        struct stat status;
        path_of(f, 1, path);
        add(f, "{\"action\":\"a\"}");
        assert_int_equal(stat(path, &status), 0);
        add(f, "{\"action\":\"b\"}");
        add(f, "{\"action\":\"c\"}");
        cut(f, status.st_size);
        assert_int_equal(last(f), 2);
        assert_non_null(strstr(read_range(f, 1, 2).text, "\"audit.lost\",\"details\":{\"through\":3,"));
        cut(f, 0); /* and all of them */
        assert_int_equal(last(f), 1);
        assert_non_null(strstr(read_range(f, 1, 1).text, "\"audit.lost\",\"details\":{\"through\":2,"));
        store_fixture_reopen(f); /* it is told once */
        assert_int_equal(last(f), 1);
}

static void a_log_that_was_written_anew_is_noticed(void **state) {
        struct store_fixture *f = *state;
        char path[160], *line;
        struct audit_place start, place;
        add(f, "{\"action\":\"a\"}");
        store_fixture_close(f);
        audit_place_start(&start);
        assert_int_equal(audit_line_write(&start, "2026-01-31T09:30:00.000Z", "{\"action\":\"b\"}", &place, &line), 0);
        path_of(f, 1, path);
        FILE *file = fopen(path, "w");
        fprintf(file, "%s\n", line);
        fclose(file);
        free(line);
        store_fixture_open(f);
        assert_non_null(strstr(read_range(f, 1, 2).text, "\"audit.lost\",\"details\":{\"through\":1,"));
}

static void without_a_note_or_with_one_that_makes_no_sense_it_goes_on(void **state) {
        struct store_fixture *f = *state;
        char path[160];
        snprintf(path, sizeof(path), "%s/audit/head", f->folder);
        for (int i = 0; i < 2; i++) {
                add(f, "{\"action\":\"a\"}");
                store_fixture_close(f);
                assert_int_equal(i == 0 ? unlink(path) : truncate(path, 50), 0);
                store_fixture_open(f);
                assert_int_equal(last(f), i + 1);
        }
}

static void a_file_that_was_just_begun_is_begun_again(void **state) {
        struct store_fixture *f = *state;
        char path[160];
        add(f, "{\"action\":\"a\"}");
        store_fixture_close(f);
        path_of(f, 2, path);
        close(open(path, O_WRONLY | O_CREAT, 0600));
        store_fixture_open(f);
        add(f, "{\"action\":\"b\"}");
        assert_int_equal(read_range(f, 1, 9).count, 2);
        assert_int_equal(access(path, F_OK), -1);
}

/* Files of the smallest size, four of which are allowed: the rest is dropped and told of. */
static void old_files_go_and_a_line_says_so(void **state) {
        struct store_fixture *f = *state;
        struct store_audit_segment *segments;
        char members[600], padding[400];
        uint64_t first;
        size_t count;
        memset(padding, 'p', sizeof(padding));
        snprintf(members, sizeof(members), "{\"action\":\"a\",\"padding\":\"%.*s\"}", (int)sizeof(padding), padding);
        store_audit_limit(f->store, 4 * SMALL);
        for (int i = 0; i < 1000; i++)
                add(f, members);
        assert_int_equal(store_audit_segments(f->store, &segments, &count), 0);
        assert_in_range(count, 3, 5);
        struct audit_place head = store_audit_head(f->store, &first);
        assert_true(first > 1);
        assert_int_equal(first, segments[0].first);
        assert_int_equal(read_range(f, 1, head.seq).count, head.seq - first + 1);
        for (uint64_t seq = first; seq <= head.seq; seq += 17) {
                struct reading one = read_range(f, seq, seq);
                assert_int_equal(one.count, 1);
                assert_int_equal(one.place.seq, seq);
        }
        /* Some line tells what was before the first. */
        struct reading oldest = read_range(f, first, first);
        char wanted[160];
        bool told = false;
        struct audit_line line;
        assert_int_equal(audit_line_read(oldest.text, strlen(oldest.text), &line), AUDIT_OK);
        snprintf(wanted, sizeof(wanted), "\"audit.drop\",\"details\":{\"through\":%" PRIu64 ",\"hash\":\"%s\"}",
                 first - 1, line.prev);
        for (uint64_t seq = first; seq <= head.seq && !told; seq++)
                told = strstr(read_range(f, seq, seq).text, wanted) != NULL;
        assert_true(told);
        free(segments);
}

static void a_full_disk_leaves_no_half_line(void **state) {
        struct store_fixture *f = *state;
        struct rlimit before, small;
        char path[160];
        struct stat status;
        add(f, "{\"action\":\"a\"}");
        path_of(f, 1, path);
        assert_int_equal(stat(path, &status), 0);
        signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small = (struct rlimit){(rlim_t)status.st_size + 50, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        int r = store_audit_add(f->store, "{\"action\":\"b\"}", false);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_true(r < 0);
        assert_int_equal(stat(path, &status), 0);
        add(f, "{\"action\":\"c\"}");
        struct reading all = read_range(f, 1, 9);
        assert_int_equal(all.count, 2);
        assert_non_null(strstr(all.text, "\"c\""));
}

static void on_time(void *data) {
        loop_quit(data, 0);
}

/* Synchronised by the other thread, a second later: nothing else shows it than that nothing breaks. */
static void it_is_synchronised_by_itself(void **state) {
        struct store_fixture *f = *state;
        add(f, "{\"action\":\"a\"}");
        assert_int_equal(loop_add_timer(f->loop, 1200 * NS_PER_MS, on_time, f->loop, NULL), 0);
        assert_int_equal(loop_run(f->loop), 0);
        store_settle(f->store);
        add(f, "{\"action\":\"b\"}");
        assert_int_equal(read_range(f, 1, 9).count, 2);
}

/* ---- the chain */

static void compose(const struct audit_place *before, const char *members, struct audit_place *place, char **ret) {
        assert_int_equal(audit_line_write(before, "2026-01-31T09:30:00.000Z", members, place, ret), 0);
}

static void every_change_of_a_byte_is_found(void **state) {
        struct audit_place start, place;
        struct audit_line line;
        char *text;
        (void)state;
        audit_place_start(&start);
        compose(&start, "{\"action\":\"key.create\",\"target\":\"key_1\"}", &place, &text);
        size_t length = strlen(text);
        assert_int_equal(audit_line_read(text, length, &line), AUDIT_OK);
        for (size_t i = 0; i < length; i++) {
                char was = text[i];
                text[i] ^= 1;
                assert_int_not_equal(audit_line_read(text, length, &line), AUDIT_OK);
                text[i] = was;
        }
        for (size_t i = 0; i < length; i++)
                assert_int_not_equal(audit_line_read(text, i, &line), AUDIT_OK);
        free(text);
}

static void numbers_are_written_in_one_way(void **state) {
        static const char *const wrong[] = {"{\"seq\":0,", "{\"seq\":01,", "{\"seq\":-1,", "{\"seq\": 1,",
                                            "{\"seq\":99999999999999999999,"};
        struct audit_line line;
        char text[400];
        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                snprintf(text, sizeof(text), "%s\"prev\":\"%064d\",\"a\":1,\"hash\":\"%064d\"}", wrong[i], 0, 0);
                assert_int_equal(audit_line_read(text, strlen(text), &line), AUDIT_E_FORM);
        }
}

static void a_chain_has_an_order(void **state) {
        struct audit_place start, places[3], at;
        struct audit_line line;
        char *texts[3];
        (void)state;
        audit_place_start(&start);
        compose(&start, "{\"a\":1}", &places[0], &texts[0]);
        compose(&places[0], "{\"a\":2}", &places[1], &texts[1]);
        compose(&start, "{\"a\":3}", &places[2], &texts[2]); /* another line 1 */
        at = start;
        assert_int_equal(audit_line_read(texts[1], strlen(texts[1]), &line), AUDIT_OK);
        assert_int_equal(audit_line_follow(&line, &at), AUDIT_E_ORDER);
        at = places[2];
        assert_int_equal(audit_line_follow(&line, &at), AUDIT_E_CHAIN);
        at = places[0];
        assert_int_equal(audit_line_follow(&line, &at), AUDIT_OK);
        assert_memory_equal(&at, &places[1], sizeof(at));
        for (size_t i = 0; i < 3; i++)
                free(texts[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(lines_hold_on_to_each_other, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(what_is_no_object_is_refused, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(half_a_line_is_set_aside, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_changed_last_line_is_not_gone_on_with, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(what_is_on_the_disk_is_noted_and_nothing_more, store_set_up,
                                                store_tear_down),
                cmocka_unit_test_setup_teardown(lines_that_were_cut_off_at_the_end_are_missed, store_set_up,
                                                store_tear_down),
                cmocka_unit_test_setup_teardown(a_log_that_was_written_anew_is_noticed, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(without_a_note_or_with_one_that_makes_no_sense_it_goes_on, store_set_up,
                                                store_tear_down),
                cmocka_unit_test_setup_teardown(a_file_that_was_just_begun_is_begun_again, store_set_up,
                                                store_tear_down),
                cmocka_unit_test_setup_teardown(old_files_go_and_a_line_says_so, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(a_full_disk_leaves_no_half_line, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(it_is_synchronised_by_itself, store_set_up, store_tear_down),
                cmocka_unit_test(every_change_of_a_byte_is_found),
                cmocka_unit_test(numbers_are_written_in_one_way),
                cmocka_unit_test(a_chain_has_an_order),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
