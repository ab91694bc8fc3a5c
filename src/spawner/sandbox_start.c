/*
 * The beginning of a sandbox, and of each process that is put into a kept room; see sandbox.h.
 *
 * Runs in the spawner. From the making of the channels to SPAWN_READY: every step waits for a report of a process that
 * runs none but this project's code yet, and each wait has a deadline.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "sandbox/steps.h"
#include "spawn/frames.h"
#include "spawner/egress.h"
#include "spawner/images.h"
#include "spawner/imports.h"
#include "spawner/sandbox_private.h"
#include "spawner/template.h"

#define BUILD_TIMEOUT_NS (20 * NS_PER_S)
#define FIRST_UID 1
#define LAST_UID 60000 /* of the outer namespace: 65532 is the template's */

/* ---- on the way to being parked ---- */

static void on_build_overdue(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        sandbox_fail(s, STEP_LOST, ETIMEDOUT);
}

static void send_ready(struct sandbox *s) {
        struct spawn_message message = {.type = SPAWN_READY, .request = s->request};
        if (getrandom(&s->id, sizeof(s->id), 0) != (ssize_t)sizeof(s->id)) {
                sandbox_fail(s, STEP_LOST, EIO);
                return;
        }
        message.sandbox = s->id;
        s->state = SANDBOX_PARKED;
        s->ready_sent = true;
        loop_remove(s->spawner->loop, &s->timer);
        loop_remove(s->spawner->loop, &s->report_source);
        close_fd(&s->main_report);
        /* A renewed one has no work channel to give: it is the api process's already. */
        service_send(s->spawner, &message, s->ready_fds,
                     s->ready_fds[SPAWN_FD_WORK] < 0 ? SPAWN_RENEWED_FDS : s->profile->ready_fds);
        for (size_t i = 0; i < SPAWN_READY_FDS; i++)
                close_fd(&s->ready_fds[i]);
        sandbox_count_from_here(s);
}

/* Reads one report; true if it was `expected`. Everything else ends the sandbox. */
static bool take_report(struct sandbox *s, int fd, uint32_t expected, int *ret_fd) {
        struct step_report report;
        int fds[1];
        size_t fd_count = 0;
        ssize_t got = fdpass_recv(fd, &report, sizeof(report), fds, 1, &fd_count);
        if (got == -EAGAIN)
                return false;
        bool whole = got == (ssize_t)sizeof(report) && report.kind == expected && fd_count == (ret_fd ? 1u : 0u);
        if (whole) {
                if (ret_fd)
                        *ret_fd = fds[0];
                return true;
        }
        for (size_t i = 0; i < fd_count; i++)
                close(fds[i]);
        if (got == (ssize_t)sizeof(report) && report.kind == REPORT_FAILED && report.step < STEP_COUNT)
                sandbox_fail(s, report.step, report.error);
        else
                sandbox_fail(s, STEP_LOST, got < 0 ? (int)-got : ECONNRESET);
        return false;
}

/* Exec closes the descriptor; if it fails, a report comes first. An end by death is told by SIGCHLD. */
static bool has_executed(int fd) {
        char byte;
        return recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_main_report(void *data, int fd, uint32_t events) {
        struct sandbox *s = data;
        int pidfd = -1;
        (void)events;
        if (s->state == SANDBOX_STARTING && take_report(s, fd, REPORT_CLONED, &pidfd))
                sandbox_forked(s, 0, pidfd);
        else if (s->state == SANDBOX_ENTERING && s->confined && has_executed(fd))
                send_ready(s);
        else if (s->state == SANDBOX_ENTERING && take_report(s, fd, REPORT_READY, NULL)) {
                s->confined = true;
                if (!s->profile->arguments)
                        send_ready(s);
        }
}

void sandbox_hear_out(struct sandbox *s) {
        char byte;
        while (s->state == SANDBOX_ENTERING && recv(s->main_report, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) >= 0)
                on_main_report(s, s->main_report, EPOLLIN);
}

static int order_go(int fd) {
        uint32_t order = ORDER_GO;
        return fdpass_send(fd, &order, sizeof(order), NULL, 0);
}

/* When the whole host is short of memory, a snippet goes before anything else does. */
static void prefer_as_victim(pid_t pid) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
        CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, "900", 3) < 0)
                log_warning("could not set a sandbox's oom_score_adj", "error", strerror(errno));
}

void sandbox_forked(struct sandbox *s, int error, int main_pidfd) {
        if (s->state != SANDBOX_FORKING && s->state != SANDBOX_STARTING) {
                sandbox_kill_pidfd(main_pidfd); /* the room died meanwhile; the child is reaped as a stranger */
                close(main_pidfd);
                return;
        }
        if (error) {
                sandbox_fail(s, STEP_CLONE, error);
                return;
        }
        s->main_pidfd = main_pidfd;
        s->main_pid = pidfd_host_pid(main_pidfd);
        s->state = SANDBOX_ENTERING;
        sandbox_close_own_inside_ends(s);
        if (s->main_pid <= 0) {
                s->main_pid = 0;
                sandbox_fail(s, STEP_LOST, ESRCH);
                return;
        }
        prefer_as_victim(s->main_pid);
        int r = cgroup_attach(&s->cgroup, s->main_pid);
        if (r >= 0)
                r = order_go(s->main_report);
        if (r < 0)
                sandbox_fail(s, STEP_CGROUP, -r);
}

static void ask_template(struct sandbox *s) {
        int r = template_fork(s->spawner, s);
        if (r < 0) {
                sandbox_fail(s, STEP_CLONE, -r);
                return;
        }
        s->state = SANDBOX_FORKING;
        sandbox_set_timer(s, BUILD_TIMEOUT_NS, on_build_overdue);
}

/* The room is ready for its main process. */
static void make_main(struct sandbox *s) {
        if (!s->profile->arguments) {
                s->state = SANDBOX_WAITING;
                loop_remove(s->spawner->loop, &s->timer); /* the template has a deadline of its own */
                if (template_serves(s->spawner))
                        ask_template(s);
                return;
        }
        s->state = SANDBOX_STARTING;
        int r = starter_start(s);
        if (r < 0)
                sandbox_fail(s, STEP_CLONE, -r);
}

void sandbox_serve_waiting(struct spawner *spawner) {
        for (struct sandbox *s = spawner->sandboxes, *next; s; s = next) {
                next = s->next;
                if (s->state == SANDBOX_WAITING)
                        ask_template(s);
        }
}

static void on_room_cloned(struct sandbox *s, int pidfd) {
        s->init_pidfd = pidfd;
        s->init_pid = pidfd_host_pid(pidfd);
        s->state = SANDBOX_FURNISHING;
        if (s->init_pid <= 0) {
                s->init_pid = 0;
                sandbox_fail(s, STEP_LOST, ESRCH);
                return;
        }
        int r = cgroup_attach(&s->cgroup, s->init_pid);
        if (r >= 0)
                r = order_go(s->init_orders);
        if (r < 0)
                sandbox_fail(s, STEP_CGROUP, -r);
}

static void on_init_report(void *data, int fd, uint32_t events) {
        struct sandbox *s = data;
        int pidfd = -1;
        (void)events;
        switch (s->state) {
        case SANDBOX_BUILDING:
                if (take_report(s, fd, REPORT_CLONED, &pidfd))
                        on_room_cloned(s, pidfd);
                break;
        case SANDBOX_FURNISHING:
                if (!take_report(s, fd, REPORT_READY, NULL))
                        break;
                loop_remove(s->spawner->loop, &s->init_source); /* its death comes by SIGCHLD */
                make_main(s);
                break;
        default:
                loop_remove(s->spawner->loop, &s->init_source);
        }
}

/* ---- the beginning ---- */

static int make_pair(int type, int *ret_ours, int *ret_inside) {
        int pair[2];
        if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        *ret_ours = pair[0];
        *ret_inside = pair[1];
        return 0;
}

static int make_pipe(int *ret_ours, int *ret_inside) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        *ret_ours = pair[0];
        *ret_inside = pair[1];
        return 0;
}

/* What a main process needs: a stream socket for data, pipes for output, a packet socket for reports. */
static int make_main_channels(struct sandbox *s) {
        int r = make_pair(SOCK_STREAM, &s->ready_fds[SPAWN_FD_CLAIM], &s->claim_inside);
        if (r >= 0)
                r = make_pipe(&s->ready_fds[SPAWN_FD_STDOUT], &s->stdout_inside);
        if (r >= 0)
                r = make_pipe(&s->ready_fds[SPAWN_FD_STDERR], &s->stderr_inside);
        if (r >= 0)
                r = make_pair(SOCK_SEQPACKET, &s->main_report, &s->main_report_inside);
        if (r >= 0)
                r = loop_add_fd(s->spawner->loop, s->main_report, EPOLLIN, on_main_report, s, &s->report_source);
        return r;
}

/* What init needs. An api process that does not read must not keep it from its other work for ever. */
static int make_init_channels(struct sandbox *s, int *ret_orders_inside, int *ret_work_inside) {
        const struct timeval patience = {.tv_sec = COLLECT_MS_MAX / 1000};
        int r = make_pair(SOCK_STREAM, &s->ready_fds[SPAWN_FD_WORK], ret_work_inside);
        if (r >= 0 && setsockopt(*ret_work_inside, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
                r = -errno;
        if (r >= 0)
                r = make_pair(SOCK_SEQPACKET, &s->init_orders, ret_orders_inside);
        if (r >= 0)
                r = loop_add_fd(s->spawner->loop, s->init_orders, EPOLLIN, on_init_report, s, &s->init_source);
        return r;
}

static int make_cgroup(struct sandbox *s) {
        const struct cgroup_limits limits = {
                .memory_bytes = s->profile->memory_bytes,
                .socket_bytes = s->profile->network ? CALL_SOCKET_BYTES : 0,
                .pids = s->profile->pids,
                .cpu_percent = s->profile->cpu_percent,
        };
        char name[32];
        struct err e;
        snprintf(name, sizeof(name), "room-%llu", (unsigned long long)s->number);
        int r = cgroup_create(s->spawner->cgroups, name, &limits, &s->cgroup, &e);
        if (r < 0) {
                log_error("could not make a cgroup", "error", e.message);
                return r;
        }
        return sandbox_watch_memory(s);
}

static int start(struct sandbox *s) {
        CLEANUP_CLOSE int orders = -1, work = -1, egress = -1;
        int r = make_init_channels(s, &orders, &work);
        if (r >= 0)
                r = make_main_channels(s);
        if (r >= 0)
                r = make_cgroup(s);
        if (r >= 0 && s->profile->network) {
                r = egress_attach(s->spawner, s->number, &egress, &s->ready_fds[SPAWN_FD_EGRESS]);
                s->network = r >= 0;
        }
        if (r >= 0)
                r = loop_add_timer(s->spawner->loop, BUILD_TIMEOUT_NS, on_build_overdue, s, &s->timer);
        if (r >= 0)
                r = builder_start(s, orders, work, egress);
        return r;
}

static bool uid_in_use(const struct spawner *spawner, uint32_t uid) {
        for (const struct sandbox *s = spawner->sandboxes; s; s = s->next)
                if (s->uid == uid)
                        return true;
        return false;
}

/* By chance: a snippet can read its own in /proc/self/mountinfo, and is not to learn how many there were before it. */
static int choose_uid(const struct spawner *spawner, uint32_t *ret) {
        uint32_t chance;
        do {
                if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
                        return -EIO;
                *ret = FIRST_UID + chance % (LAST_UID - FIRST_UID + 1);
        } while (uid_in_use(spawner, *ret));
        return 0;
}

int sandbox_create(struct spawner *spawner, const struct profile *profile, struct sandbox_id image, uint64_t request) {
        static uint64_t last_number;
        struct sandbox *s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        *s = (struct sandbox){
                .spawner = spawner,
                .profile = profile,
                .request = request,
                .number = ++last_number,
                .init_pidfd = -1,
                .main_pidfd = -1,
                .init_orders = -1,
                .main_report = -1,
                .main_report_inside = -1,
                .claim_inside = -1,
                .stdout_inside = -1,
                .stderr_inside = -1,
                .cgroup = CGROUP_INIT,
                .ready_fds = {-1, -1, -1, -1, -1},
        };
        int r = choose_uid(spawner, &s->uid);
        if (r >= 0 && profile->own_image)
                r = images_use(spawner, image, &s->image);
        if (r >= 0 && profile->room == ROOM_IMPORT)
                r = import_begin(s);
        if (r >= 0)
                r = start(s);
        if (r < 0) {
                import_end(s);
                sandbox_release(s);
                cgroup_destroy(&s->cgroup);
                free(s);
                return r;
        }
        s->next = spawner->sandboxes;
        spawner->sandboxes = s;
        spawner->sandbox_count++;
        return 0;
}

void sandbox_renew(struct sandbox *s, uint64_t request) {
        assert(s->state == SANDBOX_KEPT && s->init_pid && !s->main_pid);
        s->request = request;
        s->ready_sent = false; /* the old id is unknown from here on */
        s->state = SANDBOX_WAITING;
        s->confined = false;
        sandbox_set_timer(s, BUILD_TIMEOUT_NS, on_build_overdue);
        int r = make_main_channels(s);
        if (r < 0)
                sandbox_fail(s, STEP_DESCRIPTORS, -r);
        else if (template_serves(s->spawner))
                ask_template(s);
}
