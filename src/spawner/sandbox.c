/* One sandbox as the spawner sees it; see sandbox.h. */
#include "spawner/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "sandbox/steps.h"
#include "spawn/frames.h"
#include "spawner/template.h"

#define BUILD_TIMEOUT_NS (20 * NS_PER_S)
#define FINISH_TIMEOUT_NS ((COLLECT_MS_MAX + 1000) * NS_PER_MS)
#define COLLECT_HEADROOM_BYTES (UINT64_C(16) << 20)
#define FIRST_UID 1
#define LAST_UID 60000 /* of the outer namespace: 65532 is the template's */

static void maybe_gone(struct sandbox *sandbox);
static void on_init_done(void *data, int fd, uint32_t events);

/* ---- the list ---- */

struct sandbox *sandbox_find(struct spawner *spawner, struct sandbox_id id) {
        for (struct sandbox *s = spawner->sandboxes; s; s = s->next)
                if (s->ready_sent && s->id.high == id.high && s->id.low == id.low)
                        return s;
        return NULL;
}

struct sandbox *sandbox_find_number(struct spawner *spawner, uint64_t number) {
        for (struct sandbox *s = spawner->sandboxes; s; s = s->next)
                if (s->number == number)
                        return s;
        return NULL;
}

static bool uid_in_use(const struct spawner *spawner, uint32_t uid) {
        for (const struct sandbox *s = spawner->sandboxes; s; s = s->next)
                if (s->uid == uid)
                        return true;
        return false;
}

/* In turn, so that an ID comes back as late as possible. */
static uint32_t next_uid(struct spawner *spawner) {
        do
                spawner->next_uid = spawner->next_uid >= LAST_UID ? FIRST_UID : spawner->next_uid + 1;
        while (uid_in_use(spawner, spawner->next_uid));
        return spawner->next_uid;
}

/* ---- ends ---- */

static void kill_pidfd(int pidfd) {
        if (pidfd >= 0)
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static void close_inside_ends(struct sandbox *s) {
        close_fd(&s->claim_inside);
        close_fd(&s->stdout_inside);
        close_fd(&s->stderr_inside);
        close_fd(&s->main_report_inside);
}

void sandbox_close_inside_ends(const struct spawner *spawner) {
        for (struct sandbox *s = spawner->sandboxes; s; s = s->next)
                close_inside_ends(s);
}

static void release(struct sandbox *s) {
        struct loop *loop = s->spawner->loop;
        loop_remove(loop, &s->init_source);
        loop_remove(loop, &s->report_source);
        loop_remove(loop, &s->oom_source);
        loop_remove(loop, &s->timer);
        close_inside_ends(s);
        for (size_t i = 0; i < SPAWN_READY_FDS; i++)
                close_fd(&s->ready_fds[i]);
        close_fd(&s->init_pidfd);
        close_fd(&s->main_pidfd);
        close_fd(&s->init_orders);
        close_fd(&s->main_report);
}

static void set_timer(struct sandbox *s, uint64_t delay_ns, loop_timer_fn call) {
        loop_remove(s->spawner->loop, &s->timer);
        if (loop_add_timer(s->spawner->loop, delay_ns, call, s, &s->timer) < 0)
                kill_pidfd(s->init_pidfd); /* without a deadline nothing may run */
}

static void on_finish_overdue(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        kill_pidfd(s->init_pidfd);
        cgroup_kill(&s->cgroup);
}

/* Everything is dead but init, which hands over the files; it gets a little memory to do so if none is left. */
static void order_finish(struct sandbox *s) {
        uint32_t order = ORDER_FINISH;
        if (s->reason == SPAWN_END_MEMORY)
                cgroup_set_memory(&s->cgroup, SANDBOX_MEMORY_BYTES + COLLECT_HEADROOM_BYTES);
        set_timer(s, FINISH_TIMEOUT_NS, on_finish_overdue);
        if (fdpass_send(s->init_orders, &order, sizeof(order), NULL, 0) < 0 ||
            loop_add_fd(s->spawner->loop, s->init_orders, EPOLLIN, on_init_done, s, &s->init_source) < 0)
                kill_pidfd(s->init_pidfd);
}

void sandbox_end(struct sandbox *s, enum spawn_end reason) {
        bool ran = s->state == SANDBOX_RUNNING;
        if (s->reason == 0)
                s->reason = reason;
        if (s->state == SANDBOX_ENDING)
                return;
        s->state = SANDBOX_ENDING;
        loop_remove(s->spawner->loop, &s->report_source);
        close_fd(&s->main_report);
        close_inside_ends(s);

        kill_pidfd(s->main_pidfd);
        if (!ran) {
                kill_pidfd(s->init_pidfd);
                set_timer(s, FINISH_TIMEOUT_NS, on_finish_overdue);
        } else if (s->main_pid == 0)
                order_finish(s);
        else
                set_timer(s, FINISH_TIMEOUT_NS, on_finish_overdue); /* the order follows when it is reaped */
        maybe_gone(s);
}

void sandbox_fail(struct sandbox *s, uint32_t step, int error) {
        if (s->failed_step == 0) {
                s->failed_step = step;
                s->failed_errno = error;
                log_error("could not make a sandbox", "step", sandbox_step_name(step), "error", strerror(error));
        }
        sandbox_end(s, SPAWN_END_LOST);
}

/* ---- usage and the last word ---- */

static void read_usage(struct sandbox *s) {
        if (s->counted_done || cgroup_read_usage(&s->cgroup, &s->usage) < 0)
                return;
        s->counted_done = true;
        if (s->usage.oom_kills > 0 && (s->reason == SPAWN_END_EXIT || s->reason == SPAWN_END_LOST))
                s->reason = SPAWN_END_MEMORY;
}

static void tell_api(struct sandbox *s) {
        if (s->told)
                return;
        s->told = true;
        struct spawn_message message = {
                .type = s->ready_sent ? SPAWN_EXITED : SPAWN_CREATE_FAILED,
                .request = s->request,
                .sandbox = s->ready_sent ? s->id : (struct sandbox_id){0, 0},
                .reason = s->reason,
                .wait_status = s->wait_status,
                .step = s->failed_step ? s->failed_step : (s->ready_sent ? STEP_NONE : STEP_LOST),
                .error = s->failed_step ? s->failed_errno : 0,
                .memory_peak = s->usage.memory_peak,
                .cpu_us = s->usage.cpu_us > s->cpu_at_claim_us ? s->usage.cpu_us - s->cpu_at_claim_us : 0,
        };
        service_send(s->spawner, &message, NULL, 0);
}

static void remove_from_list(struct sandbox *s) {
        struct sandbox **place = &s->spawner->sandboxes;
        while (*place != s)
                place = &(*place)->next;
        *place = s->next;
        s->spawner->sandbox_count--;
}

static void destroy_cgroup(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        if (cgroup_destroy(&s->cgroup) == -EBUSY) {
                /* A killed process is still on its way out of the kernel. */
                cgroup_kill(&s->cgroup);
                if (loop_add_timer(s->spawner->loop, 20 * NS_PER_MS, destroy_cgroup, s, &s->timer) == 0)
                        return;
        }
        free(s);
}

/* All is over but the kernel's cleaning up: the room's memory goes with the keeper, and init waits for that. */
static void on_init_done(void *data, int fd, uint32_t events) {
        struct sandbox *s = data;
        struct step_report report;
        (void)events;
        loop_remove(s->spawner->loop, &s->init_source);
        if (recv(fd, &report, sizeof(report), MSG_DONTWAIT) != (ssize_t)sizeof(report) || report.kind != REPORT_DONE)
                return; /* it died: that comes by SIGCHLD */
        read_usage(s);
        tell_api(s);
}

/* Once all its processes are reaped, and at the latest then: report, clean up. */
static void maybe_gone(struct sandbox *s) {
        if (s->state != SANDBOX_ENDING || s->builder_pid || s->init_pid || s->main_pid)
                return;
        read_usage(s);
        tell_api(s);
        release(s);
        remove_from_list(s);
        destroy_cgroup(s);
}

bool sandbox_reaped(struct spawner *spawner, pid_t pid, int wait_status) {
        for (struct sandbox *s = spawner->sandboxes; s; s = s->next) {
                if (pid == s->main_pid) {
                        s->main_pid = 0;
                        s->wait_status = wait_status;
                        if (s->state == SANDBOX_ENDING && s->init_pid)
                                order_finish(s);
                        else
                                sandbox_end(s, s->state == SANDBOX_RUNNING ? SPAWN_END_EXIT : SPAWN_END_LOST);
                } else if (pid == s->init_pid) {
                        s->init_pid = 0;
                        sandbox_end(s, SPAWN_END_LOST);
                } else if (pid == s->builder_pid)
                        s->builder_pid = 0;
                else
                        continue;
                maybe_gone(s);
                return true;
        }
        return false;
}

/* ---- limits while it runs ---- */

static void on_out_of_memory(void *data, int fd, uint32_t events) {
        struct sandbox *s = data;
        struct cgroup_usage usage;
        (void)fd;
        (void)events;
        cgroup_oom_ack(&s->cgroup);
        if (cgroup_read_usage(&s->cgroup, &usage) == 0 && usage.oom_kills > 0)
                sandbox_end(s, SPAWN_END_MEMORY);
}

static void on_time_over(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        sandbox_end(s, SPAWN_END_TIMEOUT);
}

int sandbox_claim(struct sandbox *s, uint32_t timeout_ms) {
        struct cgroup_usage usage;
        if (s->state != SANDBOX_PARKED)
                return s->state == SANDBOX_ENDING ? 0 : -EPROTO; /* it may have died while the claim was on its way */
        s->state = SANDBOX_RUNNING;
        set_timer(s, timeout_ms * NS_PER_MS, on_time_over);
        if (cgroup_read_usage(&s->cgroup, &usage) == 0)
                s->cpu_at_claim_us = usage.cpu_us;
        return 0;
}

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
        service_send(s->spawner, &message, s->ready_fds, SPAWN_READY_FDS);
        for (size_t i = 0; i < SPAWN_READY_FDS; i++)
                close_fd(&s->ready_fds[i]);
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

static void on_main_report(void *data, int fd, uint32_t events) {
        struct sandbox *s = data;
        (void)events;
        if (s->state == SANDBOX_ENTERING && take_report(s, fd, REPORT_READY, NULL))
                send_ready(s);
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
        if (s->state != SANDBOX_FORKING) {
                kill_pidfd(main_pidfd); /* the room died meanwhile; the child is reaped as a stranger */
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
        close_inside_ends(s);
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
        set_timer(s, BUILD_TIMEOUT_NS, on_build_overdue);
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
                s->state = SANDBOX_WAITING;
                loop_remove(s->spawner->loop, &s->timer);       /* the template has a deadline of its own */
                loop_remove(s->spawner->loop, &s->init_source); /* its death comes by SIGCHLD */
                if (template_serves(s->spawner))
                        ask_template(s);
                break;
        default:
                loop_remove(s->spawner->loop, &s->init_source);
        }
}

/* ---- the beginning ---- */

/* Stream sockets for data, packet sockets for orders, pipes for output: all ends of one sandbox. */
static int make_channels(struct sandbox *s, int *ret_orders_inside, int *ret_work_inside, int *ret_report_inside) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        s->ready_fds[SPAWN_FD_CLAIM] = pair[0];
        s->claim_inside = pair[1];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        s->ready_fds[SPAWN_FD_WORK] = pair[0];
        *ret_work_inside = pair[1];
        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        s->ready_fds[SPAWN_FD_STDOUT] = pair[0];
        s->stdout_inside = pair[1];
        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        s->ready_fds[SPAWN_FD_STDERR] = pair[0];
        s->stderr_inside = pair[1];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        s->init_orders = pair[0];
        *ret_orders_inside = pair[1];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        s->main_report = pair[0];
        *ret_report_inside = pair[1];
        return 0;
}

static int make_cgroup(struct sandbox *s) {
        static const struct cgroup_limits limits = {
                .memory_bytes = SANDBOX_MEMORY_BYTES,
                .pids = SANDBOX_PIDS,
                .cpu_percent = SANDBOX_CPU_PERCENT,
        };
        char name[32];
        struct err e;
        uint32_t events;
        snprintf(name, sizeof(name), "room-%llu", (unsigned long long)s->number);
        int r = cgroup_create(s->spawner->cgroups, name, &limits, &s->cgroup, &e);
        if (r < 0) {
                log_error("could not make a cgroup", "error", e.message);
                return r;
        }
        int fd = cgroup_oom_fd(&s->cgroup, &events);
        return loop_add_fd(s->spawner->loop, fd, events, on_out_of_memory, s, &s->oom_source);
}

static int start(struct sandbox *s) {
        CLEANUP_CLOSE int orders = -1, work = -1, report = -1;
        struct loop *loop = s->spawner->loop;
        int r = make_channels(s, &orders, &work, &report);
        if (r >= 0)
                r = make_cgroup(s);
        if (r >= 0)
                r = loop_add_fd(loop, s->init_orders, EPOLLIN, on_init_report, s, &s->init_source);
        if (r >= 0)
                r = loop_add_fd(loop, s->main_report, EPOLLIN, on_main_report, s, &s->report_source);
        if (r >= 0)
                r = loop_add_timer(loop, BUILD_TIMEOUT_NS, on_build_overdue, s, &s->timer);
        if (r >= 0)
                r = builder_start(s, orders, work);
        if (r >= 0)
                s->main_report_inside = take_fd(&report);
        return r;
}

int sandbox_create(struct spawner *spawner, uint64_t request) {
        static uint64_t last_number;
        struct sandbox *s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        *s = (struct sandbox){
                .spawner = spawner,
                .request = request,
                .number = ++last_number,
                .uid = next_uid(spawner),
                .init_pidfd = -1,
                .main_pidfd = -1,
                .init_orders = -1,
                .main_report = -1,
                .main_report_inside = -1,
                .claim_inside = -1,
                .stdout_inside = -1,
                .stderr_inside = -1,
                .cgroup = CGROUP_INIT,
                .ready_fds = {-1, -1, -1, -1},
        };
        int r = start(s);
        if (r < 0) {
                release(s);
                cgroup_destroy(&s->cgroup);
                free(s);
                return r;
        }
        s->next = spawner->sandboxes;
        spawner->sandboxes = s;
        spawner->sandbox_count++;
        return 0;
}
