/* The data folder when the service runs under another user than before. As root: files are given away. */
#include <errno.h>
#include <fcntl.h>
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

#include "api/datadir.h"
#include "base/config.h"
#include "store_fixture.h"

#define FIRST 1234567
#define SECOND 1234568

static char folder[] = "/tmp/test-datadir-XXXXXX";

static void path_of(char path[128], const char *name) {
        snprintf(path, 128, "%s/%s", folder, name);
}

static void make_file(const char *name, uid_t uid) {
        char path[128];
        path_of(path, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fchown(fd, uid, uid), 0);
        close(fd);
}

static void make_folder(const char *name, uid_t uid) {
        char path[128];
        path_of(path, name);
        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(chown(path, uid, uid), 0);
}

static uid_t owner(const char *name) {
        struct stat status;
        char path[128];
        path_of(path, name);
        assert_int_equal(lstat(path, &status), 0);
        assert_int_equal(status.st_uid, status.st_gid);
        return status.st_uid;
}

static void open_as(uid_t uid) {
        char path[128];
        path_of(path, "data");
        struct config config = {.data_dir = path};
        struct datadir datadir;
        struct err e = {.code = 0};
        if (datadir_open(&config, uid, uid, &datadir, &e) < 0)
                fail_msg("%s", e.message);
        close(datadir.fd);
        close(datadir.lock_fd);
        close(datadir.service_fd);
}

/* The user before may have been taken over, and have left traps. */
static void set_traps(void) {
        char from[128], to[128];
        make_file("outside", 0);
        path_of(from, "outside");
        path_of(to, "data/service/blobs/ab/hard");
        assert_int_equal(link(from, to), 0);
        path_of(to, "data/service/blobs/soft");
        assert_int_equal(symlink(from, to), 0);
        make_folder("folder", 0);
        make_file("folder/file", 0);
        path_of(from, "folder");
        path_of(to, "data/service/blobs/ac");
        assert_int_equal(symlink(from, to), 0);
        path_of(to, "data/service/pipe");
        assert_int_equal(mkfifo(to, 0600), 0);
}

static void another_user_gets_what_the_store_has(void **state) {
        (void)state;
        if (geteuid() != 0)
                skip();
        open_as(FIRST);
        make_file("data/service/sandbox.db", FIRST);
        make_folder("data/service/blobs", FIRST);
        make_folder("data/service/blobs/ab", FIRST);
        make_file("data/service/blobs/ab/file", FIRST);
        make_folder("data/service/blobs/ab/deeper", FIRST);
        make_file("data/service/blobs/ab/deeper/file", FIRST);
        set_traps();
        open_as(SECOND);

        static const char *const given[] = {"data/service", "data/service/sandbox.db", "data/service/blobs",
                                            "data/service/blobs/ab", "data/service/blobs/ab/file"};
        for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
                if (owner(given[i]) != SECOND)
                        fail_msg("%s belongs to %d", given[i], (int)owner(given[i]));
        static const char *const left_alone[] = {"data", "outside", "folder", "folder/file",
                                                 "data/service/blobs/ab/hard"};
        for (size_t i = 0; i < sizeof(left_alone) / sizeof(left_alone[0]); i++)
                if (owner(left_alone[i]) != 0)
                        fail_msg("%s belongs to %d", left_alone[i], (int)owner(left_alone[i]));
        assert_int_equal(owner("data/service/blobs/ab/deeper"), FIRST);
        assert_int_equal(owner("data/service/blobs/ab/deeper/file"), FIRST);
}

static int set_up(void **state) {
        (void)state;
        return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
        (void)state;
        store_fixture_remove(folder);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(another_user_gets_what_the_store_has),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
