/*
 * Landlock alone: root, all capabilities, the host's namespaces (but for mounts), no filter.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layer.h"
#include "sandbox/landlock.h"

/* As the room has it, without Landlock: the control. */
static int places(void) {
        return layer_make_places();
}

static int snippet(void) {
        int r = layer_make_places();

        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r < 0 ? r : landlock_confine_snippet();
}

static int call(void) {
        int r = layer_make_places();

        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r < 0 ? r : landlock_confine_call();
}

static int need_abi(int abi) {
        layer_need_root();
        if (landlock_abi() < abi) {
                print_message("needs Landlock version %d, this is %d\n", abi, landlock_abi());
                skip();
        }
        return 0;
}

/* Expects one answer with Landlock and another without. */
static void expect(long (*act)(const void *data), const void *data, long with, long without) {
        assert_int_equal(layer_run(snippet, act, data).result, with);
        assert_int_equal(layer_run(places, act, data).result, without);
}

/* ---- Files ---- */

static long create(const void *path) {
        return ERRNO_OF(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static void test_writing_elsewhere(void **state) {
        (void)state;
        need_abi(1);
        expect(create, "/opt/file", -EACCES, 0);
        expect(create, "/opt/folder/file", -EACCES, 0);
        assert_int_equal(layer_run(call, create, "/opt/file").result, -EACCES);
}

static void test_writing_where_allowed(void **state) {
        static const char *const allowed[] = {"/mnt/data/a", "/tmp/a", "/home/nonroot/a", "/dev/shm/a"};

        (void)state;
        need_abi(1);
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(layer_run(snippet, create, allowed[i]).result, 0);
}

static long open_for(const void *path) {
        return ERRNO_OF(open(path, O_WRONLY | O_CLOEXEC));
}

static long read_one(const void *path) {
        char byte;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        return fd < 0 ? -errno : ERRNO_OF(read(fd, &byte, 1));
}

static void test_devices_and_proc(void **state) {
        (void)state;
        need_abi(1);
        assert_int_equal(layer_run(snippet, open_for, "/dev/null").result, 0);
        assert_int_equal(layer_run(snippet, read_one, "/dev/urandom").result, 0);
        assert_int_equal(layer_run(snippet, read_one, "/proc/self/stat").result, 0);
        assert_int_equal(layer_run(snippet, read_one, "/etc/passwd").result, 0);
        expect(open_for, "/proc/self/comm", -EACCES, 0);
        expect(open_for, "/proc/sys/kernel/core_pattern", -EACCES, 0);
}

static long make_kind(const void *data) {
        return ERRNO_OF(mknod("/mnt/data/node", *(const mode_t *)data | 0600, makedev(1, 3)));
}

static void test_kinds_of_files(void **state) {
        (void)state;
        need_abi(1);
        expect(make_kind, &(const mode_t){S_IFCHR}, -EACCES, 0);
        expect(make_kind, &(const mode_t){S_IFBLK}, -EACCES, 0);
        expect(make_kind, &(const mode_t){S_IFIFO}, 0, 0);
        expect(make_kind, &(const mode_t){S_IFSOCK}, 0, 0);
}

static long rename_between(const void *data) {
        (void)data;
        if (mkdir("/mnt/data/one", 0700) < 0 || mkdir("/mnt/data/two", 0700) < 0 || create("/mnt/data/one/file") < 0)
                return -EBADFD;
        return ERRNO_OF(rename("/mnt/data/one/file", "/mnt/data/two/file"));
}

static void test_rename_between_folders(void **state) {
        (void)state;
        need_abi(2); /* before, the kernel refuses it to all that use Landlock */
        expect(rename_between, NULL, 0, 0);
}

/* Copies a program there and runs it. */
static long execute_in(const void *folder) {
        char command[128], path[64];
        int status;
        pid_t pid;

        snprintf(path, sizeof path, "%s/program", (const char *)folder);
        snprintf(command, sizeof command, "cp /bin/true %s 2>&-", path);
        if (system(command) != 0)
                return -EBADFD;
        pid = fork();
        if (pid == 0) {
                execl(path, path, (char *)NULL);
                _exit(errno);
        }
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static void test_executing(void **state) {
        (void)state;
        need_abi(1);
        expect(execute_in, "/mnt/data", 0, 0);
        expect(execute_in, "/opt", -EBADFD, 0); /* the copy cannot be written */
}

/* ---- TCP, in a network namespace whose loopback is down: nothing can be sent ---- */

static long bind_tcp(const void *data) {
        const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(4711)};
        int fd;

        (void)data;
        fd = unshare(CLONE_NEWNET) < 0 ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? -EBADFD : ERRNO_OF(bind(fd, (const struct sockaddr *)&any, sizeof any));
}

static long connect_tcp(const void *data) {
        const struct sockaddr_in here = {
                .sin_family = AF_INET,
                .sin_port = htons(data ? *(const uint16_t *)data : 4711),
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        int fd;

        fd = unshare(CLONE_NEWNET) < 0 ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? -EBADFD : ERRNO_OF(connect(fd, (const struct sockaddr *)&here, sizeof here));
}

static void test_tcp(void **state) {
        (void)state;
        need_abi(4);
        expect(bind_tcp, NULL, -EACCES, 0);
        expect(connect_tcp, NULL, -EACCES, -ENETUNREACH);
        assert_int_equal(layer_run(call, bind_tcp, NULL).result, 0);
        assert_int_equal(layer_run(call, connect_tcp, NULL).result, -ENETUNREACH);
}

/* ---- Others ---- */

static long signal_parent(const void *data) {
        (void)data;
        return ERRNO_OF(kill(getppid(), 0));
}

static long trace_parent(const void *data) {
        (void)data;
        return ERRNO_OF(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL)); /* goes with the tracer, at once */
}

static void test_other_processes(void **state) {
        (void)state;
        need_abi(6);
        expect(signal_parent, NULL, -EPERM, 0);
        expect(trace_parent, NULL, -EPERM, 0);
}

static void obey(int signal_number) {
        (void)signal_number;
        _exit(7);
}

/* Its own children, its own group, itself. */
static long signal_own(const void *data) {
        int status = 0;
        pid_t pid = fork();

        (void)data;
        if (pid == 0)
                for (;;)
                        pause();
        if (kill(pid, SIGKILL) < 0 || waitpid(pid, &status, 0) != pid || WTERMSIG(status) != SIGKILL)
                return -EIO;
        pid = fork();
        if (pid == 0) {
                signal(SIGUSR1, obey);
                if (setsid() < 0 || kill(0, SIGUSR1) < 0)
                        _exit(1);
                _exit(2);
        }
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

static void test_own_processes(void **state) {
        (void)state;
        need_abi(1);
        expect(signal_own, NULL, 7, 7);
}

static int abstract_socket(struct sockaddr_un *address, socklen_t *size) {
        *address = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "\0layer-test"};
        *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof "\0layer-test" - 1);
        return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long connect_abstract(const void *data) {
        struct sockaddr_un address;
        socklen_t size;
        int fd = abstract_socket(&address, &size);

        (void)data;
        return ERRNO_OF(connect(fd, (struct sockaddr *)&address, size));
}

static void test_abstract_sockets(void **state) {
        struct sockaddr_un address;
        socklen_t size;
        int fd = abstract_socket(&address, &size);

        (void)state;
        need_abi(6);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(fd, 4), 0);
        expect(connect_abstract, NULL, -EPERM, 0);
        close(fd);
}

/* ---- The api process ---- */

static int api(void) {
        int r = layer_make_places();

        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r < 0 ? r : landlock_confine_api("/mnt/data");
}

static void test_api(void **state) {
        (void)state;
        need_abi(4);
        assert_int_equal(layer_run(api, create, "/mnt/data/database").result, 0);
        assert_int_equal(layer_run(api, rename_between, NULL).result, 0);
        assert_int_equal(layer_run(api, create, "/tmp/a").result, -EACCES);
        assert_int_equal(layer_run(places, create, "/tmp/a").result, 0);
        assert_int_equal(layer_run(api, read_one, "/etc/passwd").result, -EACCES);
        assert_int_equal(layer_run(api, read_one, "/proc/self/stat").result, -EACCES);
        assert_int_equal(layer_run(api, make_kind, &(const mode_t){S_IFCHR}).result, -EACCES);
        assert_int_equal(layer_run(api, bind_tcp, NULL).result, -EACCES);
        assert_int_equal(layer_run(api, signal_parent, NULL).result, landlock_abi() >= 6 ? -EPERM : 0);
}

static long execute_there(const void *data) {
        (void)data;
        execl("/mnt/data/program", "program", (char *)NULL);
        return -errno;
}

static int api_with_program(void) {
        int r = layer_make_places();

        if (r == 0 && (system("cp /bin/false /mnt/data/program") != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
                r = -EBADFD;
        return r < 0 ? r : landlock_confine_api("/mnt/data");
}

static void test_api_executes_nothing(void **state) {
        (void)state;
        need_abi(1);
        assert_int_equal(layer_run(api_with_program, execute_there, NULL).result, -EACCES);
}

/* ---- The egress process ---- */

static int egress(void) {
        static const uint16_t ports[] = {80, 1};
        int r = layer_make_places();

        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r < 0 ? r : landlock_confine_egress(ports, 2);
}

/* To the ports that it was given and no other, and no file at all. */
static void test_egress(void **state) {
        (void)state;
        need_abi(4);
        assert_int_equal(layer_run(egress, connect_tcp, &(const uint16_t){1}).result, -ENETUNREACH);
        assert_int_equal(layer_run(egress, connect_tcp, &(const uint16_t){2}).result, -EACCES);
        assert_int_equal(layer_run(places, connect_tcp, &(const uint16_t){2}).result, -ENETUNREACH);
        assert_int_equal(layer_run(egress, bind_tcp, NULL).result, -EACCES);
        assert_int_equal(layer_run(egress, create, "/mnt/data/a").result, -EACCES);
        assert_int_equal(layer_run(egress, read_one, "/etc/passwd").result, -EACCES);
        assert_int_equal(layer_run(egress, signal_parent, NULL).result, landlock_abi() >= 6 ? -EPERM : 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_writing_elsewhere),
                cmocka_unit_test(test_writing_where_allowed),
                cmocka_unit_test(test_devices_and_proc),
                cmocka_unit_test(test_kinds_of_files),
                cmocka_unit_test(test_rename_between_folders),
                cmocka_unit_test(test_executing),
                cmocka_unit_test(test_tcp),
                cmocka_unit_test(test_other_processes),
                cmocka_unit_test(test_own_processes),
                cmocka_unit_test(test_abstract_sockets),
                cmocka_unit_test(test_api),
                cmocka_unit_test(test_api_executes_nothing),
                cmocka_unit_test(test_egress),
        };

        return cmocka_run_group_tests_name("Landlock, nothing else", tests, NULL, NULL);
}
