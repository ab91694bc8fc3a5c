/*
 * Waits for every child of the spawner, whoever made it.
 *
 * Runs in the spawner. Inits of rooms, their main processes (the template makes them, but as this process's children),
 * builders, templates, the holder and the api process all end here.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "spawner/egress.h"
#include "spawner/sandbox.h"
#include "spawner/template.h"

/* Its number in this process's PID namespace: /proc/self/fdinfo is as seen from where /proc was mounted, proc(5). */
pid_t pidfd_host_pid(int pidfd) {
        char path[64], text[512];
        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
        CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (length <= 0)
                return -1;
        text[length] = '\0';
        const char *line = strstr(text, "Pid:");
        return line ? (pid_t)strtol(line + 4, NULL, 10) : -1;
}

static void on_service_death(struct spawner *spawner, int wait_status) {
        /* One that was killed has failed, also if it was killed from here because it hung up and lived on. */
        int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1;
        spawner->api_pid = 0;
        if (WIFSIGNALED(wait_status))
                log_error("the api process was killed", "signal", log_num(WTERMSIG(wait_status)));
        spawner_stop(spawner, code);
}

/* The next child that has ended, left as it is; 0 if there is none. */
static pid_t next_ended(void) {
        siginfo_t info = {.si_pid = 0};
        return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 ? 0 : info.si_pid;
}

void reap_on_signal(void *data, int signal_number) {
        struct spawner *spawner = data;
        pid_t pid;
        int status;
        (void)signal_number;
        while ((pid = next_ended()) > 0) {
                /* A short run can be over before its claim has been read, which was sent before its code. */
                if (spawner->api_source)
                        requests_on_readable(spawner, spawner->api_fd, EPOLLIN);
                if (waitpid(pid, &status, WNOHANG | __WALL) != pid)
                        return;
                if (sandbox_reaped(spawner, pid, status) || template_reaped(spawner, pid, status) ||
                    egress_reaped(spawner, pid, status))
                        continue;
                if (pid == spawner->api_pid)
                        on_service_death(spawner, status);
                else if (pid == spawner->holder_pid) {
                        spawner->holder_pid = 0;
                        if (spawner->stopping)
                                continue;
                        log_error("the outer namespace's first process died");
                        spawner_stop(spawner, 1);
                }
        }
}
