/*
 * The api process: started once, spoken to over one socket, and the end of everything when it ends.
 *
 * Runs in the spawner. The program confines itself (src/api/jail.c); until then it has read nothing from the network.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "spawner/spawner.h"

extern char **environ;

static _Noreturn void become_service(const char *program, int fd, int listening_fd) {
        char *const arguments[] = {(char *)"sandboxd-api", listening_fd >= 0 ? (char *)"--listening" : NULL, NULL};
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (dup2(fd, 3) == 3 && (listening_fd < 0 || dup2(listening_fd, 4) == 4))
                execve(program, arguments, environ);
        log_error("could not start the api process", "program", program, "error", strerror(errno));
        _exit(127);
}

/* The spawner itself has no use for secrets: what a copy of its memory does not hold cannot be read there. */
static void forget_secrets(struct spawner *spawner) {
        char *in_environment = getenv("SANDBOX_ADMIN_KEY");
        if (in_environment)
                explicit_bzero(in_environment, strlen(in_environment));
        if (spawner->config.admin_key)
                explicit_bzero(spawner->config.admin_key, strlen(spawner->config.admin_key));
        unsetenv("SANDBOX_ADMIN_KEY");
}

int service_start(struct spawner *spawner, struct err *e) {
        char program[4200];
        int pair[2];
        int r = paths_open_part(spawner, "sandboxd-api", program, sizeof(program));
        if (r < 0)
                return err_set(e, r, "the program sandboxd-api is missing beside sandboxd; build or install all of it");
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return err_set(e, -errno, "cannot make a socket pair: %s", strerror(errno));

        spawner->api_fd = pair[0];
        spawner->api_pid = fork();
        if (spawner->api_pid == 0)
                become_service(program, pair[1], spawner->listening_fd);
        r = spawner->api_pid < 0 ? -errno : 0;
        close(pair[1]);
        close_fd(&spawner->listening_fd);
        if (r < 0)
                return err_set(e, r, "cannot fork: %s", strerror(-r));
        forget_secrets(spawner);

        r = loop_add_fd(spawner->loop, spawner->api_fd, EPOLLIN, requests_on_readable, spawner, &spawner->api_source);
        if (r < 0)
                return err_set(e, r, "cannot watch the api process: %s", strerror(-r));

        const struct spawn_message hello = {
                .type = SPAWN_HELLO,
                .version = SPAWN_PROTOCOL_VERSION,
                .max_sandboxes = spawner->sandbox_max,
        };
        return service_send(spawner, &hello, NULL, 0);
}

int service_send(struct spawner *spawner, const struct spawn_message *message, const int *fds, size_t fd_count) {
        struct spawn_message out = *message;
        if (spawner->api_fd < 0)
                return -ENOTCONN;
        out.version = SPAWN_PROTOCOL_VERSION;
        int r = fdpass_send(spawner->api_fd, &out, sizeof(out), fds, fd_count);
        if (r < 0 && !spawner->stopping) {
                /* Hundreds of messages fit: an api process that reads none of them is as good as dead. */
                log_error("the api process does not read its messages", "error", strerror(-r));
                spawner_stop(spawner, 1);
        }
        return r;
}
