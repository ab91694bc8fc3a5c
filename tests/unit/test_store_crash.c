/*
 * A crash at any point loses nothing that was answered, and leaves nothing behind.
 *
 * A child process saves runs with files, and deletes conversations, as fast as it can; what has been answered it
 * reports over a pipe. It is killed in the middle of one of its system calls (a write is half done by then), or at a
 * random time. The test then opens what it left.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/loop.h"
#include "store_fixture.h"

#define CONVERSATIONS 5
#define AT_ONCE 6
#define RUNS_A_CHILD 40
#define CHILDREN 30
#define CHILDREN_A_FOLDER 6
#define RUNS_MAX (CHILDREN_A_FOLDER * RUNS_A_CHILD)
#define CONTENTS 40 /* different ones, so that most are shared and many lose their last reference */
#define CONTENT_MAX 20000
#define NEVER INT64_MAX

/* ---- killing: every system call that changes something on the disk is a point */

static atomic_llong points_left = NEVER;

static bool is_the_point(void) {
        return atomic_load(&points_left) != NEVER && atomic_fetch_sub(&points_left, 1) == 1;
}

static void die(void) {
        kill(getpid(), SIGKILL);
        for (;;)
                pause();
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
int __real_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode);

ssize_t __wrap_write(int fd, const void *bytes, size_t size) {
        struct stat status;
        if (!is_the_point())
                return __real_write(fd, bytes, size);
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && __real_write(fd, bytes, size / 2) < 0)
                abort();
        die();
        return -1;
}

int __wrap_openat(int fd, const char *path, int flags, ...) {
        va_list rest;
        va_start(rest, flags);
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
        va_end(rest);
        int opened = __real_openat(fd, path, flags, mode);
        if (flags & O_CREAT && is_the_point())
                die();
        return opened;
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to) {
        if (is_the_point())
                die();
        return __real_renameat(from_fd, from, to_fd, to);
}

int __wrap_fsync(int fd) {
        if (is_the_point())
                die();
        return __real_fsync(fd);
}

int __wrap_fdatasync(int fd) {
        if (is_the_point())
                die();
        return __real_fdatasync(fd);
}

int __wrap_unlinkat(int fd, const char *path, int flags) {
        if (is_the_point())
                die();
        return __real_unlinkat(fd, path, flags);
}

int __wrap_mkdirat(int fd, const char *path, mode_t mode) {
        int r = __real_mkdirat(fd, path, mode);
        if (r == 0 && is_the_point())
                die();
        return r;
}

static ssize_t (*sqlite_pwrite)(int fd, const void *bytes, size_t size, off_t at);

static ssize_t killing_pwrite(int fd, const void *bytes, size_t size, off_t at) {
        if (!is_the_point())
                return sqlite_pwrite(fd, bytes, size, at);
        if (sqlite_pwrite(fd, bytes, size / 2, at) < 0)
                abort();
        die();
        return -1;
}

/* The database's writes are points as well. */
static void wrap_sqlite(void) {
        sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
        assert_non_null(vfs);
        for (size_t i = 0; i < 2; i++) {
                const char *name = i ? "pwrite" : "pwrite64";
                sqlite3_syscall_ptr there = vfs->xGetSystemCall(vfs, name);
                if (!there)
                        continue;
                sqlite_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))there;
                assert_int_equal(vfs->xSetSystemCall(vfs, name, (sqlite3_syscall_ptr)killing_pwrite), SQLITE_OK);
        }
        assert_non_null(sqlite_pwrite);
}

/* ---- what run number n is: everything follows from its number */

static int files_of(int number) {
        return number % 4;
}

static size_t make_content(int number, int file, char *text) {
        unsigned what = (unsigned)(number * 7 + file * 3) % CONTENTS;
        size_t size = what * what * 11 % CONTENT_MAX;
        for (size_t i = 0; i < size; i++)
                text[i] = (char)('a' + (i * 31 + what) % 26);
        text[size] = '\0';
        return size;
}

static void name_run(int number, char id[32]) {
        snprintf(id, 32, "run_%d", number);
}

static void name_file(int number, int file, char id[32]) {
        snprintf(id, 32, "file_%d_%d", number, file);
}

/* ---- the child */

struct report {
        enum { SAVED = 1, DELETING, DELETED } what;
        int number;
        int64_t conversation_id;
};

static struct child {
        struct store_fixture *f;
        int pipe_fd, next, end, in_work;
        struct store_new_run *runs[RUNS_MAX];
} child;

static void tell(struct report report) {
        if (__real_write(child.pipe_fd, &report, sizeof(report)) != sizeof(report))
                abort();
}

static void start_runs(void);

static void on_saved(void *data, int result) {
        struct store_new_run *run = data;
        if (result == 0)
                tell((struct report){.what = SAVED,
                                     .number = atoi(run->run.id + strlen("run_")),
                                     .conversation_id = run->conversation_id});
        else if (result != STORE_E_NOT_FOUND)
                abort();
        child.in_work--;
        start_runs();
}

static void delete_conversation(const char *name) {
        struct store_conversation there;
        if (store_conversation_find(child.f->store, 1, name, &there) != 0)
                return;
        tell((struct report){.what = DELETING, .conversation_id = there.id});
        if (store_conversation_delete(child.f->store, 1, name) != 0)
                abort();
        tell((struct report){.what = DELETED, .conversation_id = there.id});
}

static void start_run(int number) {
        static char text[CONTENT_MAX + 1];
        char conversation[32], id[32];
        snprintf(conversation, sizeof(conversation), "talk-%d", number * 3 % CONVERSATIONS);
        int64_t conversation_id = store_fixture_use(child.f, conversation);
        name_run(number, id);
        struct store_new_run *run = store_fixture_run(child.f, conversation, id, (size_t)files_of(number));
        run->conversation_id = conversation_id;
        run->done = on_saved;
        for (int i = 0; i < files_of(number); i++) {
                make_content(number, i, text);
                name_file(number, i, id);
                store_fixture_add(run, id, i ? id : "same name", text);
        }
        if (store_run_save(child.f->store, run) < 0)
                abort();
        child.in_work++;
        if (number % 9 == 8) {
                snprintf(conversation, sizeof(conversation), "talk-%d", number % CONVERSATIONS);
                delete_conversation(conversation);
        }
}

static void start_runs(void) {
        while (child.in_work < AT_ONCE && child.next < child.end)
                start_run(child.next++);
        if (child.in_work == 0)
                loop_quit(child.f->loop, 0);
}

/* Never returns. The runs leak: the process ends. Writes how many points there were, if it gets to its end. */
static void run_child(struct store_fixture *f, int first, long long points, int pipe_fd) {
        child = (struct child){.f = f, .pipe_fd = pipe_fd, .next = first, .end = first + RUNS_A_CHILD};
        wrap_sqlite();
        atomic_store(&points_left, points);
        store_fixture_open(f);
        start_runs();
        loop_run(f->loop);
        store_fixture_close(f);
        tell((struct report){.number = (int)(points - atomic_load(&points_left))});
        _exit(0);
}

/* ---- the test */

static struct {
        bool saved[RUNS_MAX];
        int64_t conversation_of[RUNS_MAX];
        struct {
                int64_t id;
                bool deleted;
        } deletions[RUNS_MAX];
        size_t deletion_count;
        int points; /* of a child that came to its end */
} known;

static void learn(int pipe_fd) {
        struct report report;
        while (read(pipe_fd, &report, sizeof(report)) == (ssize_t)sizeof(report)) {
                if (report.what == SAVED) {
                        known.saved[report.number] = true;
                        known.conversation_of[report.number] = report.conversation_id;
                } else if (report.what == DELETING) {
                        known.deletions[known.deletion_count++].id = report.conversation_id;
                } else if (report.what == DELETED) {
                        assert_int_equal(known.deletions[known.deletion_count - 1].id, report.conversation_id);
                        known.deletions[known.deletion_count - 1].deleted = true;
                } else {
                        known.points = report.number;
                }
        }
}

/* Killed at so many `points`, or `after_us` after the first answer. */
static void run_and_kill(struct store_fixture *f, int first, long long points, useconds_t after_us) {
        int ends[2], status;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                run_child(f, first, points, ends[1]);
        close(ends[1]);
        if (after_us) {
                struct pollfd report = {.fd = ends[0], .events = POLLIN};
                assert_int_equal(poll(&report, 1, 60000), 1);
                usleep(after_us);
                kill(pid, SIGKILL);
        }
        learn(ends[0]);
        close(ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                    (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

static void check_content(struct store_fixture *f, int number, int i) {
        static char expected[CONTENT_MAX + 1], text[CONTENT_MAX + 1];
        struct store_file file;
        char id[32];
        size_t size = make_content(number, i, expected);
        name_file(number, i, id);
        assert_int_equal(store_file_get(f->store, 1, id, &file), 0);
        assert_int_equal(file.size, size);
        int fd = store_file_open(f->store, &file);
        assert_true(fd >= 0);
        assert_int_equal(read(fd, text, sizeof(text)), size);
        close(fd);
        assert_memory_equal(text, expected, size);
}

static void check_saved(struct store_fixture *f, int number) {
        struct store_run run;
        char id[32], *code, *reply;
        bool deleted = false, may_be_deleted = false;
        for (size_t i = 0; i < known.deletion_count; i++)
                if (known.deletions[i].id == known.conversation_of[number]) {
                        may_be_deleted = true;
                        deleted = deleted || known.deletions[i].deleted;
                }
        name_run(number, id);
        int r = store_run_get(f->store, 1, id, &run, &code, &reply);
        if (deleted)
                assert_int_equal(r, STORE_E_NOT_FOUND);
        if (may_be_deleted && r == STORE_E_NOT_FOUND)
                return;
        assert_int_equal(r, 0);
        assert_string_equal(code, "print(6 * 7)");
        assert_non_null(strstr(reply, id));
        free(code);
        free(reply);
        assert_int_equal(run.files, files_of(number));
        for (int i = 0; i < files_of(number); i++)
                check_content(f, number, i);
}

/* Each gives how many rows are wrong. */
static const char *const checks[] = {
        "SELECT count(*) FROM blobs b WHERE refs <> (SELECT count(*) FROM files f WHERE f.blob_id = b.id)",
        "SELECT count(*) FROM files WHERE blob_id NOT IN (SELECT id FROM blobs)",
        "SELECT count(*) FROM files WHERE run_id NOT IN (SELECT id FROM runs)",
        "SELECT count(*) FROM runs WHERE id NOT IN (SELECT run_id FROM run_details)",
        "SELECT count(*) FROM conversations c WHERE project_id IS NULL"
        " OR runs <> (SELECT count(*) FROM runs WHERE conversation_id = c.id)"
        " OR files <> (SELECT count(*) FROM files WHERE conversation_id = c.id)",
        "SELECT (SELECT coalesce(sum(bytes), 0) FROM usage) <> (SELECT coalesce(sum(bytes), 0) FROM conversations)",
        "SELECT (SELECT coalesce(sum(files), 0) FROM usage) <> (SELECT coalesce(sum(files), 0) FROM conversations)",
        "SELECT count(*) FROM pragma_foreign_key_check",
        "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
};

/* Before the next start has tidied up: what a row refers to is there and whole, also if it is to be removed. */
static void check_rows_have_contents(const struct store_fixture *f) {
        sqlite3 *database;
        sqlite3_stmt *blobs;
        assert_int_equal(sqlite3_open(f->path, &database), SQLITE_OK);
        /* Killed before there were tables? */
        if (sqlite3_prepare_v2(database, "SELECT sha256, size FROM blobs", -1, &blobs, NULL) == SQLITE_OK) {
                while (sqlite3_step(blobs) == SQLITE_ROW) {
                        const char *name = (const char *)sqlite3_column_text(blobs, 0);
                        struct stat status;
                        char path[256];
                        snprintf(path, sizeof(path), "%s/blobs/%.2s/%s", f->folder, name, name);
                        if (stat(path, &status) < 0 || status.st_size != sqlite3_column_int64(blobs, 1))
                                fail_msg("%s is not there or not whole", path);
                }
                sqlite3_finalize(blobs);
        }
        sqlite3_close(database);
}

/* Returns how many runs there were to check. */
static int check_all(struct store_fixture *f, int end) {
        size_t temporary;
        int count = 0;
        check_rows_have_contents(f);
        store_fixture_open(f);
        store_settle(f->store);
        for (int i = 0; i < end; i++)
                if (known.saved[i]) {
                        check_saved(f, i);
                        count++;
                }
        for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
                if (store_fixture_number(f, checks[i]) != 0)
                        fail_msg("wrong: %s", checks[i]);
        assert_int_equal(store_fixture_blobs(f, &temporary),
                         (size_t)store_fixture_number(f, "SELECT count(*) FROM blobs"));
        assert_int_equal(temporary, 0);
        store_fixture_close(f);
        return count;
}

static void new_folder(struct store_fixture *f) {
        store_fixture_remove(f->folder);
        assert_int_equal(mkdir(f->folder, 0700), 0);
        memset(&known, 0, sizeof(known));
}

static void killed_at_every_kind_of_point(void **state) {
        struct store_fixture *f = *state;
        int checked = 0;
        store_fixture_close(f);
        new_folder(f);
        run_and_kill(f, 0, NEVER - 1, 0);
        int points = known.points;
        assert_true(points > 500);
        assert_int_equal(check_all(f, RUNS_A_CHILD) > 0, true);
        for (int i = 0; i < CHILDREN; i++) {
                int turn = i % CHILDREN_A_FOLDER;
                if (turn == 0)
                        new_folder(f);
                run_and_kill(f, turn * RUNS_A_CHILD, 1 + (long long)points * i / CHILDREN, 0);
                checked += check_all(f, (turn + 1) * RUNS_A_CHILD);
        }
        assert_true(checked > 50);
}

static void killed_at_random_times(void **state) {
        struct store_fixture *f = *state;
        int checked = 0;
        store_fixture_close(f);
        srandom((unsigned)getpid());
        for (int i = 0; i < CHILDREN / 3; i++) {
                int turn = i % CHILDREN_A_FOLDER;
                if (turn == 0)
                        new_folder(f);
                run_and_kill(f, turn * RUNS_A_CHILD, NEVER, 1 + (useconds_t)(random() % 150000));
                checked += check_all(f, (turn + 1) * RUNS_A_CHILD);
        }
        assert_true(checked >= CHILDREN / 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(killed_at_every_kind_of_point, store_set_up, store_tear_down),
                cmocka_unit_test_setup_teardown(killed_at_random_times, store_set_up, store_tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
