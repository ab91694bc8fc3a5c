/*
 * Init of a room: pid 1 of one sandbox.
 *
 * Runs inside the room, as its only user (65532), without capabilities, under its own seccomp filter, in memory of its
 * own (a static program executed from a sealed memory file, so that nothing of the spawner is in it and nothing of the
 * host's files can be reached through /proc/1/exe, CVE-2019-5736). It gives the snippet an ordinary process to be:
 * signals act by default, orphans are reaped. It writes the input files, and hands over the output files: when all else
 * is dead, and in a session after each call.
 *
 * Descriptors: 3, orders from the spawner (sandbox/steps.h); 4, the work channel of the api process (spawn/frames.h).
 *
 * Called "holder", it does only the reaping: pid 1 of the outer PID namespace, which keeps that namespace alive. Called
 * "sweeper", it empties the folder that it is started in, as the user of an import that is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "init/collect.h"
#include "init/inputs.h"
#include "init/io.h"
#include "init/scratch.h"
#include "sandbox/caps.h"
#include "sandbox/seccomp.h"
#include "sandbox/steps.h"
#include "spawn/frames.h"

enum { ORDERS_FD = 3, WORK_FD = 4 };

#define LAST_ONE_TRIES 1000 /* of a millisecond */
#define LINGER_NS 3000000 /* by then the reply has been read, on a machine that is not busy */

static void on_child(int signal_number) {
        (void)signal_number; /* only there to interrupt ppoll */
}

/* SIGCHLD stays blocked except inside ppoll, so that none is missed between reaping and waiting. */
static int prepare_signals(sigset_t *while_waiting) {
        struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGCHLD);
        sigemptyset(while_waiting);
        if (sigaction(SIGCHLD, &action, NULL) < 0 || sigprocmask(SIG_SETMASK, &blocked, NULL) < 0)
                return -errno;
        return 0;
}

static void reap(void) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

/* Nanoseconds, below a second. */
static void rest(long ns) {
        const struct timespec time = {.tv_nsec = ns};
        nanosleep(&time, NULL);
}

/*
 * kill(-1) reaches every process of the namespace but this one, and a fork that is under way fails with the signal
 * pending: one call is enough. Orphans become children of init before their parent is waited for, so ECHILD means that
 * all of them are gone. The main process is the spawner's child and was reaped before the order came; the keeper
 * (sandbox/keeper.h) is on its way out of the kernel and runs no code any more.
 */
static void end_everything(void) {
        pid_t reaped;
        kill(-1, SIGKILL);
        do
                reaped = waitpid(-1, NULL, __WALL);
        while (reaped > 0 || (reaped < 0 && errno == EINTR));
}

/*
 * Until the keeper has left as well, its memory is charged to the room, and a new process might find none. The spawner
 * reaps it; signal 0 finds nobody then.
 */
static void await_last_one(void) {
        for (int i = 0; i < LAST_ONE_TRIES && kill(-1, 0) == 0; i++)
                rest(1000000);
}

/*
 * Once the main process is reaped: what it has left behind are children of init, which is told of each. (No snippet can
 * make its child the spawner's: seccomp/snippet.policy.) Only the keeper is not, which can do nothing, and dies with
 * this process.
 */
static bool left_nobody(void) {
        pid_t reaped;
        do
                reaped = waitpid(-1, NULL, WNOHANG | __WALL);
        while (reaped > 0 || (reaped < 0 && errno == EINTR));
        return reaped < 0 && errno == ECHILD;
}

static int confine(void) {
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        /* The builder has emptied every set before exec; this reads them back. */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        int r = caps_drop_all();
        return r < 0 ? r : seccomp_load(SECCOMP_INIT);
}

static int limit(void) {
        static const struct rlimit none = {0, 0}, files = {64, 64};
        if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        return 0;
}

/* Once nobody reads, or a frame is torn, there is no use in another one. */
static int hand_over(int workdir_fd) {
        static bool torn;
        int r = torn ? -EPIPE : collect(WORK_FD, workdir_fd);
        if (r < 0 && !torn)
                shutdown(WORK_FD, SHUT_RDWR);
        torn = r < 0;
        return r;
}

/* One frame of the api process. 0 or negative errno when the channel is of no more use. */
static int serve_frame(int workdir_fd) {
        struct frame frame;
        int r = read_whole(WORK_FD, &frame, sizeof(frame));
        if (r < 0)
                return r;
        switch (frame.type) {
        case FRAME_INPUT:
                return inputs_receive(WORK_FD, workdir_fd, frame.length);
        case FRAME_INPUTS_END:
                return inputs_end(WORK_FD, frame.length);
        case FRAME_COLLECT:
                return frame.length == 0 ? hand_over(workdir_fd) : -EPROTO;
        default:
                return -EPROTO;
        }
}

/*
 * The last order. With the keeper goes the memory, and a processor is busy with that for one or two milliseconds, which
 * it does not interrupt for the one who is waiting for the reply (PREEMPT_NONE, and a time slice of three milliseconds).
 * So most often it is left alone until the reply must have arrived.
 */
static int finish(int workdir_fd) {
        bool linger = left_nobody();
        if (!linger)
                end_everything();
        hand_over(workdir_fd); /* if nobody reads, nobody wants them */
        int r = step_report_send(ORDERS_FD, REPORT_DONE, STEP_NONE, 0);
        if (linger)
                rest(LINGER_NS);
        return r;
}

/* The room goes on, for another process. */
static int clean(int workdir_fd) {
        end_everything();
        hand_over(workdir_fd);
        scratch_empty();
        await_last_one();
        int r = step_report_send(ORDERS_FD, REPORT_CLEAN, STEP_NONE, 0);
        return r < 0 ? r : 1;
}

/* 1: the room goes on; 0: it is over. Or negative errno; -ECONNRESET when the spawner is gone, and with it the room. */
static int serve_order(int workdir_fd) {
        uint32_t order;
        if (recv(ORDERS_FD, &order, sizeof(order), 0) != (ssize_t)sizeof(order) ||
            (order != ORDER_FINISH && order != ORDER_CLEAN))
                return -ECONNRESET;
        return order == ORDER_FINISH ? finish(workdir_fd) : clean(workdir_fd);
}

/* Frames first: what was asked for before the process died comes before what its death brings. */
static int serve(int workdir_fd, const sigset_t *while_waiting) {
        struct pollfd polls[] = {{.fd = ORDERS_FD, .events = POLLIN}, {.fd = WORK_FD, .events = POLLIN}};
        for (;;) {
                reap();
                if (ppoll(polls, ARRAY_SIZE(polls), NULL, while_waiting) < 0) {
                        if (errno != EINTR)
                                return -errno;
                        continue;
                }
                if (polls[1].revents) {
                        if (serve_frame(workdir_fd) < 0)
                                polls[1].fd = -1; /* nobody will send any; files may still be asked for */
                        continue;
                }
                if (polls[0].revents) {
                        int r = serve_order(workdir_fd);
                        if (r <= 0)
                                return r;
                }
        }
}

static int hold(void) {
        sigset_t while_waiting;
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
            prepare_signals(&while_waiting) < 0)
                return 1;
        for (struct pollfd orders = {.fd = ORDERS_FD, .events = POLLIN};;) {
                reap();
                if (ppoll(&orders, 1, NULL, &while_waiting) > 0)
                        return 0; /* the other end is closed: the service has ended */
        }
}

int main(int argc, char **argv) {
        sigset_t while_waiting;
        if (argc == 1 && strcmp(argv[0], "holder") == 0)
                return hold();
        if (argc == 1 && strcmp(argv[0], "sweeper") == 0) {
                scratch_sweep();
                return 0;
        }

        int workdir_fd = open("/mnt/data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = workdir_fd < 0 ? -errno : prepare_signals(&while_waiting);
        if (r < 0 || (r = limit()) < 0) {
                step_report_send(ORDERS_FD, REPORT_FAILED, STEP_LIMITS, -r);
                return 1;
        }
        r = confine();
        if (r < 0) {
                step_report_send(ORDERS_FD, REPORT_FAILED, STEP_PRIVILEGES, -r);
                return 1;
        }
        if (step_report_send(ORDERS_FD, REPORT_READY, STEP_NONE, 0) < 0)
                return 1;
        return serve(workdir_fd, &while_waiting) < 0 ? 1 : 0;
}
