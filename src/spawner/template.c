/*
 * The fork servers: started, asked, renewed, replaced when they die.
 *
 * Runs in the spawner. A template is the image's own interpreter with everything imported, in the outer user namespace.
 * Its children share its address layout and hash seed, so it is renewed after a number of forks and after a time; the
 * new one warms up beside the old one, and takes over when it is ready.
 */
#include "spawner/template.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "sandbox/caps.h"
#include "sandbox/room.h"
#include "sandbox/steps.h"
#include "spawner/sandbox.h"
#include "template/protocol.h"

#define WARM_UP_TIMEOUT_NS (120 * NS_PER_S)
#define RETRY_MAX_S 30
#define TEMPLATE_MEMORY_BYTES (UINT64_C(2) << 30)
#define TEMPLATE_PIDS 32

struct template {
        struct spawner *spawner;
        pid_t pid;
        int fd; /* requests and answers, and the reports of its own confinement */
        struct loop_source *source, *timer;
        struct cgroup cgroup;
        uint64_t generation, forks;
        uint32_t unanswered;
        bool ready, retired;
        struct template *next; /* among the retired */
};

static struct template *retired; /* finish what they were asked for, then end */

/* ---- in the child: becoming a template ---- */

/* Survives exec as a user other than root: capabilities(7), "ambient". Nothing else is kept. */
static int keep_sys_admin(void) {
        int r = caps_bound(CAP_BIT(CAP_SYS_ADMIN));
        if (r < 0)
                return r;
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct data[2] = {{
                .effective = 1u << CAP_SYS_ADMIN,
                .permitted = 1u << CAP_SYS_ADMIN,
                .inheritable = 1u << CAP_SYS_ADMIN,
        }};
        if (syscall(SYS_capset, &header, data) < 0)
                return -errno;
        return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) < 0 ? -errno : 0;
}

static void run_interpreter(int fd) {
        static char *const arguments[] = {(char *)"/usr/local/bin/python3", (char *)"/opt/sandbox/template.py", NULL};
        static char *const environment[] = {
                (char *)"PATH=/usr/local/bin:/usr/bin:/bin",
                (char *)"HOME=/home/nonroot",
                (char *)"USER=nonroot",
                (char *)"LOGNAME=nonroot",
                (char *)"LANG=C.UTF-8",
                (char *)"TZ=UTC",
                (char *)"MPLBACKEND=Agg",
                (char *)"MPLCONFIGDIR=/home/nonroot/.config/matplotlib",
                (char *)"PYTHONUNBUFFERED=1",
                (char *)"PYTHONDONTWRITEBYTECODE=1",
                (char *)"OPENBLAS_NUM_THREADS=1",
                (char *)"OMP_NUM_THREADS=1",
                (char *)"MKL_NUM_THREADS=1",
                (char *)"NUMEXPR_NUM_THREADS=1",
                NULL,
        };
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (dup2(fd, 3) == 3)
                execve(arguments[0], arguments, environment);
}

static _Noreturn void become_template(const struct spawner *spawner, int fd) {
        struct room_plan plan = {
                .kind = ROOM_TEMPLATE,
                .image = spawner->image_dir,
                .devices = spawner->dev_dir,
                .tools = spawner->tools_dir,
                .root_fd = -1,
                .report_fd = fd,
        };
        setsid();
        sandbox_close_inside_ends(spawner, NULL);
        int r = outer_enter(spawner, SANDBOX_UID);
        if (r >= 0 && unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
                r = -errno;
        if (r < 0) {
                step_report_send(fd, REPORT_FAILED, STEP_IDENTITY, -r);
                _exit(1);
        }
        if (room_furnish(&plan) < 0)
                _exit(1);
        r = prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno
                                                                                               : keep_sys_admin();
        if (r < 0) {
                step_report_send(fd, REPORT_FAILED, STEP_PRIVILEGES, -r);
                _exit(1);
        }
        run_interpreter(fd);
        step_report_send(fd, REPORT_FAILED, STEP_EXEC, errno);
        _exit(1);
}

/* ---- life ---- */

void template_tell(struct spawner *spawner) {
        const struct template *t = spawner->template;
        struct spawn_message message = {
                .type = SPAWN_TEMPLATE,
                .template_state = t                            ? SPAWN_TEMPLATE_SERVING
                                  : spawner->template_failures ? SPAWN_TEMPLATE_FAILED
                                                               : SPAWN_TEMPLATE_STARTING,
                .template_generation = t ? t->generation : spawner->template_generation,
                .template_forks = t ? t->forks : 0,
        };
        service_send(spawner, &message, NULL, 0);
}

/* A child that it had just made may still be on its way from this group to its own. */
static void destroy_cgroup(void *data) {
        struct template *t = data;
        t->timer = NULL;
        if (cgroup_destroy(&t->cgroup) == -EBUSY &&
            loop_add_timer(t->spawner->loop, 50 * NS_PER_MS, destroy_cgroup, t, &t->timer) == 0)
                return;
        free(t);
}

static void template_free(struct template *t) {
        loop_remove(t->spawner->loop, &t->source);
        loop_remove(t->spawner->loop, &t->timer);
        close_fd(&t->fd);
        destroy_cgroup(t);
}

static void template_kill(struct template *t) {
        if (t->pid > 0)
                kill(t->pid, SIGKILL);
}

static void on_retry(void *data) {
        struct spawner *spawner = data;
        spawner->template_timer = NULL;
        template_start(spawner);
}

static void start_later(struct spawner *spawner) {
        uint64_t seconds = UINT64_C(1) << (spawner->template_failures < 5 ? spawner->template_failures : 5);
        if (spawner->stopping || spawner->template_timer)
                return;
        loop_add_timer(spawner->loop, (seconds < RETRY_MAX_S ? seconds : RETRY_MAX_S) * NS_PER_S, on_retry, spawner,
                       &spawner->template_timer);
}

static void retire(struct template *t) {
        t->retired = true;
        t->next = retired;
        retired = t;
        loop_remove(t->spawner->loop, &t->timer);
        if (t->unanswered == 0)
                template_kill(t);
}

static void on_age(void *data) {
        struct template *t = data;
        t->timer = NULL;
        template_start(t->spawner);
}

static void on_warm_up_overdue(void *data) {
        struct template *t = data;
        t->timer = NULL;
        log_error("the template did not get ready in time and is killed");
        template_kill(t);
}

static void take_over(struct template *t) {
        struct spawner *spawner = t->spawner;
        t->ready = true;
        spawner->next_template = NULL;
        spawner->template_failures = 0;
        if (spawner->template)
                retire(spawner->template);
        spawner->template = t;
        loop_remove(spawner->loop, &t->timer);
        loop_add_timer(spawner->loop, (uint64_t)spawner->config.template_max_age_s * NS_PER_S, on_age, t, &t->timer);
        log_info("template serves", "generation", log_num((long long)t->generation));
        template_tell(spawner);
        sandbox_serve_waiting(spawner);
}

static void on_forked(struct template *t, const struct template_message *message, int pidfd) {
        struct sandbox *sandbox = sandbox_find_number(t->spawner, message->number);
        if (t->unanswered > 0)
                t->unanswered--;
        if (sandbox)
                sandbox_forked(sandbox, message->error, pidfd);
        else if (pidfd >= 0) {
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
                close(pidfd);
        }
        if (t->retired && t->unanswered == 0)
                template_kill(t);
}

static void on_message(void *data, int fd, uint32_t events) {
        struct template *t = data;
        union {
                struct template_message message;
                struct step_report report; /* before it is an interpreter */
        } in;
        int pidfd = -1;
        size_t fd_count = 0;
        (void)events;

        ssize_t got = fdpass_recv(fd, &in, sizeof(in), &pidfd, 1, &fd_count);
        if (got == -EAGAIN)
                return;
        if (fd_count == 0)
                pidfd = -1;
        if (got == (ssize_t)sizeof(in.message) && in.message.kind == TEMPLATE_READY && !t->ready && pidfd < 0)
                take_over(t);
        else if (got == (ssize_t)sizeof(in.message) && in.message.kind == TEMPLATE_FORKED && t->ready &&
                 (in.message.error == 0) == (pidfd >= 0))
                on_forked(t, &in.message, pidfd);
        else {
                if (got == (ssize_t)sizeof(in.report) && in.report.kind == REPORT_FAILED)
                        log_error("could not start the template", "step", sandbox_step_name(in.report.step), "error",
                                  strerror(in.report.error));
                if (pidfd >= 0)
                        close(pidfd);
                loop_remove(t->spawner->loop, &t->source);
                template_kill(t); /* what follows comes with its death */
        }
}

static int make_cgroup(struct template *t, struct err *e) {
        static const struct cgroup_limits limits = {
                .memory_bytes = TEMPLATE_MEMORY_BYTES, .pids = TEMPLATE_PIDS, .cpu_percent = 100};
        char name[40];
        snprintf(name, sizeof(name), "template-%llu", (unsigned long long)t->generation);
        return cgroup_create(t->spawner->cgroups, name, &limits, &t->cgroup, e);
}

static int start_process(struct template *t) {
        struct err e;
        int pair[2];
        uint32_t go = ORDER_GO;
        int r = make_cgroup(t, &e);
        if (r < 0) {
                log_error("could not make a cgroup for the template", "error", e.message);
                return r;
        }
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        t->fd = pair[0];
        t->pid = fork();
        if (t->pid == 0)
                become_template(t->spawner, pair[1]);
        r = t->pid < 0 ? -errno : 0;
        close(pair[1]);
        if (r >= 0)
                r = cgroup_attach(&t->cgroup, t->pid);
        if (r >= 0)
                r = fdpass_send(t->fd, &go, sizeof(go), NULL, 0);
        if (r >= 0)
                r = loop_add_fd(t->spawner->loop, t->fd, EPOLLIN, on_message, t, &t->source);
        if (r >= 0)
                r = loop_add_timer(t->spawner->loop, WARM_UP_TIMEOUT_NS, on_warm_up_overdue, t, &t->timer);
        return r;
}

void template_start(struct spawner *spawner) {
        if (spawner->next_template || spawner->stopping)
                return;
        struct template *t = calloc(1, sizeof(*t));
        if (!t) {
                start_later(spawner);
                return;
        }
        *t = (struct template){
                .spawner = spawner, .fd = -1, .cgroup = CGROUP_INIT, .generation = ++spawner->template_generation};
        int r = start_process(t);
        if (r >= 0) {
                spawner->next_template = t;
                return;
        }
        log_error("could not start the template", "error", strerror(-r));
        if (t->pid > 0) {
                spawner->next_template = t;
                template_kill(t);
                return;
        }
        template_free(t);
        spawner->template_failures++;
        start_later(spawner);
}

bool template_serves(const struct spawner *spawner) {
        return spawner->template != NULL;
}

int template_fork(struct spawner *spawner, struct sandbox *sandbox) {
        struct template *t = spawner->template;
        struct template_message message = {.kind = TEMPLATE_FORK, .number = sandbox->number};
        CLEANUP_CLOSE int user_namespace = namespace_open(sandbox->init_pid, "user");
        CLEANUP_CLOSE int pid_namespace = namespace_open(sandbox->init_pid, "pid");
        const int fds[TEMPLATE_FORK_FDS] = {
                [TEMPLATE_FD_ROOM] = sandbox->init_pidfd,
                [TEMPLATE_FD_USER_NS] = user_namespace,
                [TEMPLATE_FD_PID_NS] = pid_namespace,
                [TEMPLATE_FD_CLAIM] = sandbox->claim_inside,
                [TEMPLATE_FD_STDOUT] = sandbox->stdout_inside,
                [TEMPLATE_FD_STDERR] = sandbox->stderr_inside,
                [TEMPLATE_FD_REPORT] = sandbox->main_report_inside,
        };
        if (user_namespace < 0 || pid_namespace < 0)
                return -ESRCH;
        int r = fdpass_send(t->fd, &message, sizeof(message), fds, TEMPLATE_FORK_FDS);
        if (r < 0)
                return r;
        t->forks++;
        t->unanswered++;
        if ((int64_t)t->forks >= spawner->config.template_max_forks)
                template_start(spawner);
        return 0;
}

/* Whoever was to be forked by it waits in vain. */
static void fail_unanswered(struct spawner *spawner) {
        for (struct sandbox *s = spawner->sandboxes, *next; s; s = next) {
                next = s->next;
                if (s->state == SANDBOX_FORKING)
                        sandbox_fail(s, STEP_CLONE, ECONNRESET);
        }
}

bool template_reaped(struct spawner *spawner, pid_t pid, int wait_status) {
        struct template *t = NULL;
        (void)wait_status;
        if (spawner->template && spawner->template->pid == pid) {
                t = TAKE_PTR(spawner->template);
                if (!spawner->stopping)
                        log_warning("the template died and is made anew", "generation",
                                    log_num((long long)t->generation));
        } else if (spawner->next_template && spawner->next_template->pid == pid) {
                t = TAKE_PTR(spawner->next_template);
                spawner->template_failures++;
        } else {
                struct template **place = &retired;
                while (*place && (*place)->pid != pid)
                        place = &(*place)->next;
                if (!*place)
                        return false;
                t = *place;
                *place = t->next;
        }
        if (t->unanswered > 0)
                fail_unanswered(spawner);
        bool needed = !spawner->template && !spawner->next_template;
        template_free(t);
        if (!needed)
                return true;
        template_tell(spawner);
        if (spawner->template_failures == 0)
                template_start(spawner);
        else
                start_later(spawner);
        return true;
}

void template_end_all(struct spawner *spawner) {
        loop_remove(spawner->loop, &spawner->template_timer);
        if (spawner->template)
                template_kill(spawner->template);
        if (spawner->next_template)
                template_kill(spawner->next_template);
        for (struct template *t = retired; t; t = t->next)
                template_kill(t);
}
