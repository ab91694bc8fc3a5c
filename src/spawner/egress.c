/* The egress process, as the spawner sees it; see egress.h. */
#include "spawner/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "egress/protocol.h"

#define RESTART_DELAY_NS NS_PER_S
#define ENVIRONMENT_MAX 8

/* An environment of its own, so that nothing else of the operator's is in that process: not his file, not his keys. */
struct environment {
        char *lines[ENVIRONMENT_MAX + 1];
        size_t count;
};

static int environment_add(struct environment *environment, const char *name, const char *value) {
        if (asprintf(&environment->lines[environment->count], "%s=%s", name, value) < 0) {
                environment->lines[environment->count] = NULL;
                return -ENOMEM;
        }
        environment->count++;
        return 0;
}

static int environment_make(const struct config *config, struct environment *environment) {
        char uid_base[32];
        snprintf(uid_base, sizeof(uid_base), "%lld", (long long)config->uid_base);
        int r = environment_add(environment, "SANDBOX_UID_BASE", uid_base);
        if (r == 0)
                r = environment_add(environment, "SANDBOX_LOG_LEVEL", config->log_level);
        if (r == 0)
                r = environment_add(environment, "SANDBOX_EGRESS", config->egress);
        if (r == 0)
                r = environment_add(environment, "SANDBOX_EGRESS_ALLOW", config->egress_allow);
        if (r == 0)
                r = environment_add(environment, "SANDBOX_EGRESS_DENY", config->egress_deny);
        if (r == 0)
                r = environment_add(environment, "SANDBOX_EGRESS_RESOLVER", config->egress_resolver);
        return r;
}

static _Noreturn void become_egress(const struct spawner *spawner, const char *program, int orders) {
        static char *const arguments[] = {(char *)"sandboxd-egress", NULL};
        struct environment environment = {0};
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        CLEANUP_CLOSE int high_orders = fcntl(orders, F_DUPFD_CLOEXEC, 16);
        CLEANUP_CLOSE int root = open(spawner->empty_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSE int high_root = root < 0 ? -1 : fcntl(root, F_DUPFD_CLOEXEC, 16);
        if (high_orders >= 0 && high_root >= 0 && dup2(high_orders, EGRESS_ORDERS_FD) == EGRESS_ORDERS_FD &&
            dup2(high_root, EGRESS_ROOT_FD) == EGRESS_ROOT_FD && environment_make(&spawner->config, &environment) == 0)
                execve(program, arguments, environment.lines);
        log_error("could not start the egress process", "program", program, "error", strerror(errno));
        _exit(127);
}

int egress_start(struct spawner *spawner, struct err *e) {
        char program[4200];
        int pair[2];
        int r = config_egress_ports(&spawner->config, spawner->egress_ports, &spawner->egress_port_count);
        if (r < 0)
                return err_set(e, r, "cannot read SANDBOX_EGRESS_ALLOW: %s", strerror(-r));
        r = paths_open_part(spawner, "sandboxd-egress", program, sizeof(program));
        if (r < 0)
                return err_set(e, r,
                               "the program sandboxd-egress is missing beside sandboxd; build or install all of it");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return err_set(e, -errno, "cannot make a socket pair: %s", strerror(errno));
        pid_t pid = fork();
        if (pid == 0)
                become_egress(spawner, program, pair[1]);
        r = pid < 0 ? -errno : 0;
        close(pair[1]);
        if (r < 0) {
                close(pair[0]);
                return err_set(e, r, "cannot fork: %s", strerror(-r));
        }
        spawner->egress_fd = pair[0];
        spawner->egress_pid = pid;
        return 0;
}

static int give(int to, enum egress_order_kind kind, uint64_t room, const int *fds, size_t n) {
        const struct egress_order order = {.kind = kind, .room = room};
        return to < 0 ? -ENOTCONN : fdpass_send(to, &order, sizeof(order), fds, n);
}

/* It is jailed to what it was started with, so that other rules need another process. */
int egress_renew(struct spawner *spawner, struct err *e) {
        int before = spawner->egress_fd;
        if (before < 0)
                return 0; /* it is being started again */
        int r = egress_start(spawner, e);
        if (r < 0)
                return r;
        close_fd(&spawner->egress_old_fd);
        spawner->egress_old_fd = before;
        give(before, EGRESS_RETIRE, 0, NULL, 0);
        return 0;
}

int egress_attach(struct spawner *spawner, uint64_t room, int *ret_room_fd, int *ret_api_fd) {
        int listeners[2], channel[2], r = 0;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, listeners) < 0)
                return -errno;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0) {
                r = -errno;
                close(listeners[0]);
                close(listeners[1]);
                return r;
        }
        const int theirs[EGRESS_ATTACH_FDS] = {
                [EGRESS_FD_LISTENERS] = listeners[1],
                [EGRESS_FD_CHANNEL] = channel[1],
        };
        r = give(spawner->egress_fd, EGRESS_ATTACH, room, theirs, EGRESS_ATTACH_FDS);
        close(listeners[1]);
        close(channel[1]);
        if (r < 0) {
                close(listeners[0]);
                close(channel[0]);
                return r;
        }
        *ret_room_fd = listeners[0];
        *ret_api_fd = channel[0];
        return 0;
}

/* One that does not read its orders hangs: nobody has a network then, and only its end can help. */
void egress_detach(struct spawner *spawner, uint64_t room) {
        if (give(spawner->egress_old_fd, EGRESS_DETACH, room, NULL, 0) == -EAGAIN)
                close_fd(&spawner->egress_old_fd);
        if (give(spawner->egress_fd, EGRESS_DETACH, room, NULL, 0) == -EAGAIN && spawner->egress_pid > 0)
                kill(spawner->egress_pid, SIGKILL);
}

void egress_end(struct spawner *spawner) {
        close_fd(&spawner->egress_old_fd);
        close_fd(&spawner->egress_fd);
}

static void on_restart(void *data) {
        struct spawner *spawner = data;
        struct err e;
        if (spawner->stopping || egress_start(spawner, &e) == 0)
                return;
        log_error("the egress process could not be started again", "error", e.message);
        spawner_stop(spawner, 1);
}

/*
 * Rooms that have a network at this moment lose it: their listeners went with the process, so that connections are
 * refused. Snippets need none, and whoever made it fall must not end the service for everybody.
 */
bool egress_reaped(struct spawner *spawner, pid_t pid, int wait_status) {
        if (pid != spawner->egress_pid)
                return false;
        spawner->egress_pid = 0;
        close_fd(&spawner->egress_fd);
        if (spawner->stopping)
                return true;
        log_error("the egress process died; tool calls have no network until it is started again", "status",
                  log_num(WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status)));
        if (loop_add_timer(spawner->loop, RESTART_DELAY_NS, on_restart, spawner, NULL) < 0)
                spawner_stop(spawner, 1);
        return true;
}

size_t egress_more_ports(const struct spawner *spawner, const uint16_t **ret_ports) {
        *ret_ports = spawner->egress_ports;
        return spawner->egress_port_count;
}
