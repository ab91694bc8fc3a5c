/*
 * The outer user and PID namespace.
 *
 * Runs in the spawner. Rooms and templates live in a user namespace of their own, in which 65536 IDs exist that mean
 * nothing on the host: the template can hold CAP_SYS_ADMIN there, which it needs to walk its children into rooms, and
 * has no capability outside. Rooms are child namespaces of it, so each gets one of these IDs as its own host UID.
 *
 * Its first process, the holder, keeps both namespaces alive and reaps; it runs the same static program as a room's
 * init.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "sandbox/caps.h"
#include "sandbox/steps.h"
#include "spawner/spawner.h"

static int write_file(pid_t pid, const char *name, const char *text) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int namespace_open(pid_t pid, const char *name) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static _Noreturn void become_holder(int init_fd, int orders_fd) {
        static char *const arguments[] = {(char *)"holder", NULL}, *const environment[] = {NULL};
        setsid();
        /* Once its IDs are mapped it becomes one of them: even without capabilities, root on the host owns files there.
         */
        if (step_order_wait(orders_fd, ORDER_GO) < 0 || setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 ||
            setresuid(0, 0, 0) < 0)
                _exit(126);
        if (dup2(orders_fd, 3) != 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || caps_drop_all() < 0)
                _exit(126);
        fexecve(init_fd, arguments, environment);
        _exit(127);
}

int outer_start(struct spawner *spawner, struct err *e) {
        int orders[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) < 0)
                return err_set(e, -errno, "cannot make a socket pair: %s", strerror(errno));
        spawner->holder_fd = orders[0];

        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0)
                become_holder(spawner->init_fd, orders[1]);
        int clone_error = errno;
        close(orders[1]);
        if (pid < 0)
                return err_set(e, -clone_error, "cannot make a user namespace: %s; see 'platformctl doctor'",
                               strerror(clone_error));
        spawner->holder_pid = pid;

        const uint32_t go = ORDER_GO;
        char map[64];
        snprintf(map, sizeof(map), "0 %lld %d\n", (long long)spawner->config.uid_base, OUTER_IDS);
        int r = write_file(pid, "uid_map", map);
        if (r >= 0)
                r = write_file(pid, "gid_map", map);
        if (r >= 0)
                r = spawner->outer_user_fd = namespace_open(pid, "user");
        if (r >= 0)
                r = spawner->outer_pid_fd = namespace_open(pid, "pid");
        if (r >= 0)
                r = fdpass_send(spawner->holder_fd, &go, sizeof(go), NULL, 0);
        if (r < 0)
                return err_set(e, r, "cannot map the host UIDs from %lld on: %s", (long long)spawner->config.uid_base,
                               strerror(-r));

        /* From now on this process's children are born in the outer PID namespace; it stays where it is. */
        if (setns(spawner->outer_pid_fd, CLONE_NEWPID) < 0)
                return err_set(e, -errno, "cannot enter the outer PID namespace: %s", strerror(errno));
        return 0;
}

void outer_end(struct spawner *spawner) {
        close_fd(&spawner->holder_fd);
        close_fd(&spawner->outer_user_fd);
        close_fd(&spawner->outer_pid_fd);
        if (spawner->holder_pid > 0)
                kill(spawner->holder_pid, SIGKILL);
}

int outer_enter(const struct spawner *spawner, uint32_t id) {
        if (setns(spawner->outer_user_fd, CLONE_NEWUSER) < 0)
                return -errno;
        /* The IDs from outside are not mapped here, and clone refuses namespaces for an unmapped user. */
        if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
                return -errno;
        /* Changing IDs made the process undumpable, which gives its /proc files to root: proc(5), PR_SET_DUMPABLE. */
        return prctl(PR_SET_DUMPABLE, 1) < 0 ? -errno : 0;
}
