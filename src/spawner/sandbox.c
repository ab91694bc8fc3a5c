/*
 * The life and the end of a sandbox; see sandbox.h.
 *
 * Runs in the spawner. What ends a sandbox, for which reason, in which order, and what is told of it; and the calls of
 * a session, whose room may outlive the process in it.
 */
#include "spawner/sandbox_private.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "sandbox/steps.h"
#include "spawn/frames.h"
#include "spawner/egress.h"
#include "spawner/images.h"
#include "spawner/imports.h"

#define FINISH_TIMEOUT_NS ((COLLECT_MS_MAX + 3000) * NS_PER_MS)
#define COLLECT_HEADROOM_BYTES (UINT64_C(16) << 20)
#define KEPT_NS (SPAWN_KEPT_SECONDS * NS_PER_S)

static void maybe_gone(struct sandbox *sandbox);
static void on_cleared(void *data, int fd, uint32_t events);

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

/* ---- ends ---- */

void sandbox_kill_pidfd(int pidfd) {
        if (pidfd >= 0)
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

void sandbox_close_own_inside_ends(struct sandbox *s) {
        close_fd(&s->claim_inside);
        close_fd(&s->stdout_inside);
        close_fd(&s->stderr_inside);
        close_fd(&s->main_report_inside);
}

void sandbox_close_inside_ends(const struct spawner *spawner, const struct sandbox *but) {
        for (struct sandbox *s = spawner->sandboxes; s; s = s->next)
                if (s != but)
                        sandbox_close_own_inside_ends(s);
}

/* What was connected is over, and is told to the api process over a channel of its own, which then ends. */
static void end_network(struct sandbox *s) {
        if (s->network)
                egress_detach(s->spawner, s->number);
        s->network = false;
}

void sandbox_release(struct sandbox *s) {
        struct loop *loop = s->spawner->loop;
        loop_remove(loop, &s->init_source);
        loop_remove(loop, &s->report_source);
        loop_remove(loop, &s->oom_source);
        loop_remove(loop, &s->timer);
        sandbox_close_own_inside_ends(s);
        for (size_t i = 0; i < SPAWN_READY_FDS; i++)
                close_fd(&s->ready_fds[i]);
        close_fd(&s->init_pidfd);
        close_fd(&s->main_pidfd);
        close_fd(&s->init_orders);
        close_fd(&s->main_report);
        images_release(&s->image);
        end_network(s);
}

void sandbox_set_timer(struct sandbox *s, uint64_t delay_ns, loop_timer_fn call) {
        loop_remove(s->spawner->loop, &s->timer);
        if (loop_add_timer(s->spawner->loop, delay_ns, call, s, &s->timer) < 0)
                sandbox_kill_pidfd(s->init_pidfd); /* without a deadline nothing may run */
}

static void on_finish_overdue(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        sandbox_kill_pidfd(s->init_pidfd);
        cgroup_kill(&s->cgroup);
}

/*
 * The main process is dead. Init kills what is left, hands over the files, and then ends or stays with the room. It
 * gets a little memory to do so, as there may be none left, and the snippet's need not be gone before (keeper.h).
 */
static void order_clearing(struct sandbox *s) {
        uint32_t order = s->state == SANDBOX_CLEARING ? ORDER_CLEAN : ORDER_FINISH;
        cgroup_set_memory(&s->cgroup, s->profile->memory_bytes + COLLECT_HEADROOM_BYTES);
        sandbox_set_timer(s, FINISH_TIMEOUT_NS, on_finish_overdue);
        if (fdpass_send(s->init_orders, &order, sizeof(order), NULL, 0) < 0 ||
            loop_add_fd(s->spawner->loop, s->init_orders, EPOLLIN, on_cleared, s, &s->init_source) < 0)
                sandbox_kill_pidfd(s->init_pidfd);
}

/* Of a session only the process ends, unless the session is over or the room itself is lost. */
static bool room_stays(const struct sandbox *s) {
        return s->session && (s->state == SANDBOX_RUNNING || s->state == SANDBOX_RESTING) && s->init_pid > 0 &&
               s->reason != SPAWN_END_RETIRED && s->reason != SPAWN_END_LOST && !s->spawner->stopping;
}

/* True if the room is to end at once: nothing ran in it, or what ran has been seen off already. */
static bool is_idle(const struct sandbox *s) {
        return s->state != SANDBOX_RUNNING && s->state != SANDBOX_CLEARING;
}

void sandbox_end(struct sandbox *s, enum spawn_end reason) {
        if (s->reason == 0)
                s->reason = reason;
        bool over = reason == SPAWN_END_RETIRED || reason == SPAWN_END_LOST;
        if (s->state == SANDBOX_ENDING || (s->state == SANDBOX_CLEARING && !over))
                return;
        bool at_once = is_idle(s), was_clearing = s->state == SANDBOX_CLEARING;
        s->state = room_stays(s) ? SANDBOX_CLEARING : SANDBOX_ENDING;
        if (was_clearing) {
                sandbox_kill_pidfd(s->init_pidfd); /* its deadline is set */
                maybe_gone(s);
                return;
        }
        loop_remove(s->spawner->loop, &s->report_source);
        close_fd(&s->main_report);
        sandbox_close_own_inside_ends(s);

        sandbox_kill_pidfd(s->main_pidfd);
        sandbox_set_timer(s, FINISH_TIMEOUT_NS, on_finish_overdue);
        if (at_once && s->state == SANDBOX_ENDING)
                sandbox_kill_pidfd(s->init_pidfd);
        else if (s->main_pid == 0)
                order_clearing(s); /* else the order follows when it is reaped */
        /* What takes a hundred processes down is not to wait for the sandbox's share of the processor. Most often there
         * is nothing left to take down, and init, which is at work by now, need not wait for this. */
        cgroup_set_cpu(&s->cgroup, CGROUP_CPU_UNLIMITED);
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
        if (s->usage.oom_kills > s->oom_kills_before && (s->reason == SPAWN_END_EXIT || s->reason == SPAWN_END_LOST))
                s->reason = SPAWN_END_MEMORY;
}

static void tell_api(struct sandbox *s) {
        uint64_t image_bytes = 0;
        if (s->told)
                return;
        s->told = true;
        if (s->state == SANDBOX_ENDING)
                end_network(s);
        bool image_kept = s->work[0] && s->ready_sent && s->reason == SPAWN_END_EXIT && s->wait_status == 0 &&
                          import_keep(s, &image_bytes) == 0;
        struct spawn_message message = {
                .type = s->ready_sent ? SPAWN_EXITED : SPAWN_CREATE_FAILED,
                .request = s->request,
                .sandbox = s->ready_sent ? s->id : (struct sandbox_id){0, 0},
                .reason = s->reason,
                .wait_status = s->wait_status,
                .step = s->failed_step ? s->failed_step : (s->ready_sent ? STEP_NONE : STEP_LOST),
                .error = s->failed_step ? s->failed_errno : 0,
                .memory_peak = s->usage.memory_peak,
                .room_kept = s->state == SANDBOX_KEPT,
                .image_kept = image_kept,
                .image = image_kept ? s->id : (struct sandbox_id){0, 0},
                .image_bytes = image_bytes,
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

static void on_kept_overdue(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        sandbox_end(s, SPAWN_END_RETIRED);
}

/* The room is empty but for its files and has its limits back: it waits for a new process, though not for long. */
static void keep_room(struct sandbox *s) {
        assert(s->state == SANDBOX_CLEARING && !s->main_pid);
        if (cgroup_set_memory(&s->cgroup, s->profile->memory_bytes) < 0 ||
            cgroup_set_cpu(&s->cgroup, s->profile->cpu_percent) < 0) {
                sandbox_end(s, SPAWN_END_LOST);
                return;
        }
        read_usage(s);
        s->state = SANDBOX_KEPT;
        sandbox_set_timer(s, KEPT_NS, on_kept_overdue);
        tell_api(s);

        /* From here on it is as one that has not been claimed yet. */
        close_fd(&s->main_pidfd);
        s->cpu_at_claim_us = s->usage.cpu_us;
        s->oom_kills_before = s->usage.oom_kills;
        s->counted_done = s->told = false;
        s->reason = 0;
        s->wait_status = 0;
}

/*
 * Init is done. If the room ends, all is over but the kernel's cleaning up: its memory goes with the keeper, and init
 * waits for that.
 */
static void on_cleared(void *data, int fd, uint32_t events) {
        struct sandbox *s = data;
        struct step_report report;
        uint32_t wanted = s->state == SANDBOX_CLEARING ? REPORT_CLEAN : REPORT_DONE;
        (void)events;
        loop_remove(s->spawner->loop, &s->init_source);
        if (recv(fd, &report, sizeof(report), MSG_DONTWAIT) != (ssize_t)sizeof(report) || report.kind != wanted)
                return; /* it died: that comes by SIGCHLD */
        if (s->state == SANDBOX_CLEARING) {
                keep_room(s);
                return;
        }
        read_usage(s);
        tell_api(s);
}

/* Once all its processes are reaped, and at the latest then: report, clean up. */
static void maybe_gone(struct sandbox *s) {
        if (s->state != SANDBOX_ENDING || s->builder_pid || s->starter_pid || s->init_pid || s->main_pid ||
            s->sweeper_pid)
                return;
        read_usage(s);
        tell_api(s);
        if (s->work[0] && !s->swept) {
                s->swept = true;
                s->sweeper_pid = import_discard(s); /* its user is nobody else's until that is done */
                if (s->sweeper_pid)
                        return;
        }
        import_end(s);
        sandbox_release(s);
        remove_from_list(s);
        destroy_cgroup(s);
}

static void main_reaped(struct sandbox *s, int wait_status) {
        bool by_itself = s->state == SANDBOX_RUNNING || s->state == SANDBOX_RESTING;
        s->main_pid = 0;
        s->wait_status = wait_status;
        sandbox_hear_out(s);
        if (s->state != SANDBOX_ENDING && s->state != SANDBOX_CLEARING) {
                sandbox_end(s, by_itself ? SPAWN_END_EXIT : SPAWN_END_LOST);
                return;
        }
        if (s->init_pid)
                order_clearing(s);
        maybe_gone(s);
}

/* The kernel kills a room with its init, and the main process is reaped first: what looks like its own end is not. */
static void init_reaped(struct sandbox *s, int wait_status) {
        s->init_pid = 0;
        if (s->reason == SPAWN_END_EXIT && WIFSIGNALED(s->wait_status) && WTERMSIG(s->wait_status) == SIGKILL &&
            WIFSIGNALED(wait_status))
                s->reason = SPAWN_END_LOST;
        if (s->state == SANDBOX_ENDING)
                maybe_gone(s);
        else
                sandbox_end(s, SPAWN_END_LOST);
}

bool sandbox_reaped(struct spawner *spawner, pid_t pid, int wait_status) {
        for (struct sandbox *s = spawner->sandboxes; s; s = s->next) {
                if (pid == s->main_pid)
                        main_reaped(s, wait_status);
                else if (pid == s->init_pid)
                        init_reaped(s, wait_status);
                else if (pid == s->builder_pid || pid == s->starter_pid || pid == s->sweeper_pid) {
                        *(pid == s->builder_pid   ? &s->builder_pid
                          : pid == s->starter_pid ? &s->starter_pid
                                                  : &s->sweeper_pid) = 0;
                        maybe_gone(s);
                } else
                        continue;
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
        if (cgroup_read_usage(&s->cgroup, &usage) == 0 && usage.oom_kills > s->oom_kills_before)
                sandbox_end(s, SPAWN_END_MEMORY);
}

int sandbox_watch_memory(struct sandbox *s) {
        uint32_t events;
        int fd = cgroup_oom_fd(&s->cgroup, &events);
        return loop_add_fd(s->spawner->loop, fd, events, on_out_of_memory, s, &s->oom_source);
}

static void on_time_over(void *data) {
        struct sandbox *s = data;
        s->timer = NULL;
        sandbox_end(s, SPAWN_END_TIMEOUT);
}

/* It may have died while the message was on its way, with SPAWN_EXITED on the way back: no offence. */
static bool has_died(const struct sandbox *s) {
        return s->state == SANDBOX_CLEARING || s->state == SANDBOX_KEPT || s->state == SANDBOX_ENDING;
}

int sandbox_claim(struct sandbox *s, uint32_t timeout_ms, bool session) {
        if (timeout_ms > s->profile->timeout_max_ms || (session && !s->profile->session))
                return -EPROTO;
        if (s->state != SANDBOX_PARKED && s->state != SANDBOX_RESTING)
                return has_died(s) ? 0 : -EPROTO;
        s->state = SANDBOX_RUNNING;
        s->session = session;
        sandbox_set_timer(s, timeout_ms * NS_PER_MS, on_time_over);
        return 0;
}

/* Before the claim and not at it: the snippet, which wakes up just then, would wait for the reading of files. */
void sandbox_count_from_here(struct sandbox *s) {
        struct cgroup_usage usage;
        cgroup_reset_peak(&s->cgroup);
        if (cgroup_read_usage(&s->cgroup, &usage) == 0)
                s->cpu_at_claim_us = usage.cpu_us;
}

int sandbox_rest(struct sandbox *s) {
        struct cgroup_usage usage = {0};
        if (s->state != SANDBOX_RUNNING || !s->session)
                return has_died(s) ? 0 : -EPROTO;
        s->state = SANDBOX_RESTING;
        loop_remove(s->spawner->loop, &s->timer);
        cgroup_read_usage(&s->cgroup, &usage);
        struct spawn_message message = {
                .type = SPAWN_RESTED,
                .sandbox = s->id,
                .cpu_us = usage.cpu_us > s->cpu_at_claim_us ? usage.cpu_us - s->cpu_at_claim_us : 0,
                .memory_peak = usage.memory_peak,
        };
        service_send(s->spawner, &message, NULL, 0);
        cgroup_reset_peak(&s->cgroup);
        s->cpu_at_claim_us = usage.cpu_us;
        return 0;
}
