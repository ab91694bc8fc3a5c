/* A child of the template walks into a room and is confined; see walk_in.h. */
#include "sandbox/walk_in.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/caps.h"
#include "sandbox/keeper.h"
#include "sandbox/profile.h"
#include "sandbox/seccomp.h"
#include "sandbox/steps.h"
#include "spawn/proto.h"

/* Until then this process is charged to the template's cgroup, so it touches as little memory as it can. */
static int await_cgroup(void *data) {
        struct walk_in_plan *plan = data;
        return step_order_wait(plan->report_fd, ORDER_GO);
}

/* The PID namespace was chosen before the clone: setns changes it for children only. */
static int join_room(void *data) {
        struct walk_in_plan *plan = data;
        /*
         * First the user namespace, where this process then has every capability: joining the others by pidfd takes the
         * right to look into init, which is not dumpable (ptrace(2), "Ptrace access mode checking").
         */
        if (setns(plan->user_namespace_fd, CLONE_NEWUSER) < 0)
                return -errno;
        const int others = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
        return setns(plan->room_fd, others) < 0 ? -errno : 0;
}

static int become_nonroot(void *data) {
        (void)data;
        if (setgroups(0, NULL) < 0 || setresgid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0 ||
            setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0)
                return -errno;
        /* Or its own /proc/self would belong to nobody; nothing untrusted has run yet, and no other user is in the
         * room. */
        if (prctl(PR_SET_DUMPABLE, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        umask(022);
        setsid();
        return chdir("/mnt/data") < 0 ? -errno : 0;
}

static int number_descriptors(void *data) {
        struct walk_in_plan *plan = data;
        CLEANUP_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0)
                return -errno;
        if (dup3(plan->report_fd, WALK_IN_REPORT_FD, O_CLOEXEC) < 0)
                return -errno;
        plan->report_fd = WALK_IN_REPORT_FD;
        if (dup3(plan->claim_fd, WALK_IN_CLAIM_FD, O_CLOEXEC) < 0 || dup2(null, STDIN_FILENO) < 0 ||
            dup2(plan->stdout_fd, STDOUT_FILENO) < 0 || dup2(plan->stderr_fd, STDERR_FILENO) < 0)
                return -errno;
        take_fd(&null); /* one of those that go now */
        if (close_range(3, WALK_IN_CLAIM_FD - 1, 0) < 0 || close_range(WALK_IN_REPORT_FD + 1, UINT_MAX, 0) < 0)
                return -errno;
        return 0;
}

static int limit(void *data) {
        const struct profile *profile = ((struct walk_in_plan *)data)->profile;
        const uint64_t pids = UINT64_C(2) * profile->pids; /* a second wall: the cgroup counts first */
        const struct {
                int resource;
                struct rlimit limit;
        } limits[] = {
                {RLIMIT_CORE, {0, 0}},
                {RLIMIT_FSIZE, {profile->file_bytes, profile->file_bytes}},
                {RLIMIT_NOFILE, {SANDBOX_OPEN_FILES, SANDBOX_OPEN_FILES}},
                {RLIMIT_NPROC, {pids, pids}},
                {RLIMIT_STACK, {8 << 20, 64 << 20}},
                {RLIMIT_MEMLOCK, {0, 0}},
                {RLIMIT_MSGQUEUE, {0, 0}},
                {RLIMIT_RTPRIO, {0, 0}},
                {RLIMIT_NICE, {0, 0}},
                {RLIMIT_SIGPENDING, {1024, 1024}},
        };
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                if (setrlimit(limits[i].resource, &limits[i].limit) < 0)
                        return -errno;
        return 0;
}

static int drop_privileges(void *data) {
        (void)data;
        int r = caps_drop_all();
        if (r < 0)
                return r;
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int start_keeper(void *data) {
        const struct walk_in_plan *plan = data;
        return plan->profile->keeper ? keeper_start() : 0;
}

static int enable_landlock(void *data) {
        const struct walk_in_plan *plan = data;
        int r = plan->profile->landlock();
        return r < 0 ? r : 0; /* a kernel without it: the other layers hold, and `platformctl doctor` says so */
}

static int load_filter(void *data) {
        const struct walk_in_plan *plan = data;
        return seccomp_load(plan->profile->filter);
}

int walk_in(struct walk_in_plan *plan) {
        static const struct step steps[] = {
                {STEP_CGROUP, await_cgroup},
                {STEP_JOIN, join_room},
                {STEP_IDENTITY, become_nonroot},
                {STEP_DESCRIPTORS, number_descriptors},
                {STEP_LIMITS, limit},
                {STEP_PRIVILEGES, drop_privileges},
                {STEP_KEEPER, start_keeper},
                {STEP_LANDLOCK, enable_landlock},
                {STEP_SECCOMP, load_filter}, /* last: it refuses what the others need */
        };
        return steps_run(steps, ARRAY_SIZE(steps), plan, &plan->report_fd);
}
