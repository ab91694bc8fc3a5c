/*
 * Makes the main process of a room that executes a program of its own, cold, rather than being a copy of the template.
 *
 * Runs in a short-lived child of the spawner, the starter: it clones the future process into the room's PID namespace
 * (as the spawner's child: CLONE_PARENT), hands its pidfd over, and ends. The clone waits for its cgroup, walks into
 * the room (sandbox/walk_in.c), where it loses every privilege and every descriptor but its own, and executes. Until
 * then the room holds nothing but this project's init, and no program of the image has run.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "sandbox/steps.h"
#include "sandbox/walk_in.h"
#include "spawner/sandbox.h"

#define ARGUMENTS_MAX 8

/*
 * An interpreter finds its library, or the virtual environment that it belongs to, by the name under which it was
 * started: it is to be its own, not that of a link which leads to it.
 */
static const char *own_name(const char *path, char *buffer, size_t size) {
        ssize_t length = readlink(path, buffer, size - 1);
        if (length <= 0)
                return path;
        buffer[length] = '\0';
        return buffer[0] == '/' ? buffer : path;
}

/* The environment is made here, from nothing. What a tool call adds to it, its runner does. */
static void execute(const char *const *profile_arguments) {
        static char *const environment[] = {
                (char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                (char *)"HOME=/home/nonroot",
                (char *)"LANG=C.UTF-8",
                (char *)"TZ=UTC",
                NULL,
        };
        char *arguments[ARGUMENTS_MAX + 1] = {NULL}, path[PATH_MAX];
        sigset_t none;
        for (size_t i = 0; profile_arguments[i] && i < ARGUMENTS_MAX; i++)
                arguments[i] = (char *)(uintptr_t)profile_arguments[i]; /* execve does not write to them */
        arguments[0] = (char *)(uintptr_t)own_name(profile_arguments[0], path, sizeof(path));
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(arguments[0], arguments, environment);
}

/* The spawner may have so many that one of these has a number to which walk_in() moves another. */
static int out_of_the_way(int fd) {
        return fcntl(fd, F_DUPFD_CLOEXEC, WALK_IN_REPORT_FD + 1);
}

static _Noreturn void become_main(const struct sandbox *s, int user_namespace) {
        struct walk_in_plan plan = {
                .profile = s->profile,
                .room_fd = out_of_the_way(s->init_pidfd),
                .user_namespace_fd = out_of_the_way(user_namespace),
                .claim_fd = out_of_the_way(s->claim_inside),
                .stdout_fd = out_of_the_way(s->stdout_inside),
                .stderr_fd = out_of_the_way(s->stderr_inside),
                .report_fd = out_of_the_way(s->main_report_inside),
        };
        if (walk_in(&plan) < 0)
                _exit(1);
        /* The one descriptor beside the standard ones that lasts. The other, of reports, closes with exec. */
        if (fcntl(WALK_IN_CLAIM_FD, F_SETFD, 0) == 0 &&
            step_report_send(WALK_IN_REPORT_FD, REPORT_READY, STEP_NONE, 0) == 0)
                execute(s->profile->arguments);
        step_report_send(WALK_IN_REPORT_FD, REPORT_FAILED, STEP_EXEC, errno);
        _exit(1);
}

static _Noreturn void start(const struct sandbox *s) {
        struct step_report report = {.kind = REPORT_CLONED};
        sandbox_close_inside_ends(s->spawner, s);
        CLEANUP_CLOSE int user_namespace = namespace_open(s->init_pid, "user");
        CLEANUP_CLOSE int pid_namespace = namespace_open(s->init_pid, "pid");
        if (user_namespace < 0 || pid_namespace < 0 || setns(pid_namespace, CLONE_NEWPID) < 0) {
                step_report_send(s->main_report_inside, REPORT_FAILED, STEP_JOIN, errno);
                _exit(1);
        }

        int pidfd = -1;
        struct clone_args args = {.flags = CLONE_PARENT | CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&pidfd};
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0)
                become_main(s, user_namespace);
        if (pid < 0)
                step_report_send(s->main_report_inside, REPORT_FAILED, STEP_CLONE, errno);
        else
                fdpass_send(s->main_report_inside, &report, sizeof(report), &pidfd, 1);
        _exit(pid < 0 ? 1 : 0);
}

int starter_start(struct sandbox *sandbox) {
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                start(sandbox);
        sandbox->starter_pid = pid;
        return 0;
}
