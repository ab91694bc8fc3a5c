#include "sandbox/probe_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "sandbox/seccomp.h"

#define ROOM_UID 65532
#define ROOM_OUTER_ID 1 /* in the outer namespace */

/* What a trial and the processes below it write, and the process that started it reads. */
struct notes {
        int result;
        const char *step; /* a literal: forked processes have it at the same address */
};

struct trial {
        uint64_t uid_base, uid_count;
        int flags;
        int (*inside)(struct notes *notes); /* runs in the room, or NULL */
        struct notes *notes;                /* shared memory */
};

static int wait_for(pid_t pid) {
        int status;

        while (waitpid(pid, &status, __WALL) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int trial_run(int (*function)(void *data), void *data) {
        struct notes *notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pid_t pid;
        int r;

        if (notes == MAP_FAILED)
                return -errno;
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                notes->result = function(data);
                _exit(0);
        }
        r = pid < 0 ? -errno : wait_for(pid);
        if (r == 0)
                r = notes->result;
        munmap(notes, sizeof *notes);
        return r;
}

/* A raw clone without a new stack is a fork with flags. */
static pid_t fork_with(int flags) {
        return (pid_t)syscall(SYS_clone, (unsigned long)flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static int write_map(pid_t pid, const char *file, uint64_t inside, uint64_t outside, uint64_t count) {
        char path[64], map[96];
        CLEANUP_CLOSE int fd = -1;

        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
        snprintf(map, sizeof map, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", inside, outside, count);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 || write(fd, map, strlen(map)) < 0 ? -errno : 0;
}

static int become(unsigned id) {
        return setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ? -errno : 0;
}

/* Clones with `flags`, maps IDs into the new user namespace, and lets `child` run in it as `id`. */
static int in_namespaces(int flags, unsigned id, uint64_t outside, uint64_t count, int (*child)(struct trial *),
                         struct trial *trial) {
        int gate[2], r;
        pid_t pid;

        if (pipe2(gate, O_CLOEXEC) < 0)
                return -errno;
        trial->notes->result = -EIO;
        pid = fork_with(flags);
        if (pid == 0) {
                char go;

                close(gate[1]);
                if (read(gate[0], &go, 1) != 1) /* the other end was closed: no map */
                        _exit(0);
                r = become(id);
                if (r == 0 && prctl(PR_SET_DUMPABLE, 1) < 0) /* else its files in /proc are not its own */
                        r = -errno;
                trial->notes->result = r < 0 ? r : child(trial);
                _exit(0);
        }
        r = pid < 0 ? -errno : write_map(pid, "uid_map", id, outside, count);
        if (r == 0)
                r = write_map(pid, "gid_map", id, outside, count);
        if (r == 0 && write(gate[1], "", 1) != 1)
                r = -errno;
        close(gate[0]);
        close(gate[1]);
        if (pid > 0 && wait_for(pid) < 0 && r == 0)
                r = -EIO;
        return r < 0 ? r : trial->notes->result;
}

static int room(struct trial *trial) {
        return trial->inside ? trial->inside(trial->notes) : 0;
}

static int outer(struct trial *trial) {
        if (trial->flags == 0)
                return 0;
        return in_namespaces(CLONE_NEWUSER | trial->flags, ROOM_UID, ROOM_OUTER_ID, 1, room, trial);
}

static int start(void *data) {
        struct trial *trial = data;

        return in_namespaces(CLONE_NEWUSER, 0, trial->uid_base, trial->uid_count, outer, trial);
}

static int run(struct trial *trial, const char **ret_step) {
        int r;

        trial->notes = mmap(NULL, sizeof *trial->notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (trial->notes == MAP_FAILED)
                return -errno;
        r = trial_run(start, trial);
        if (ret_step)
                *ret_step = trial->notes->step;
        munmap(trial->notes, sizeof *trial->notes);
        return r;
}

int trial_outer(uint64_t uid_base, uint64_t uid_count) {
        struct trial trial = {.uid_base = uid_base, .uid_count = uid_count};

        return run(&trial, NULL);
}

int trial_room(uint64_t uid_base, uint64_t uid_count, int flags) {
        struct trial trial = {.uid_base = uid_base, .uid_count = uid_count, .flags = flags};

        return run(&trial, NULL);
}

static int mount_in_room(struct notes *notes) {
        notes->step = "making its mounts private";
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        notes->step = "mounting a tmpfs";
        if (mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=64") < 0)
                return -errno;
        notes->step = "mounting a /proc of its own";
        return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=invisible") < 0
                       ? -errno
                       : 0;
}

int trial_mounts(uint64_t uid_base, uint64_t uid_count, const char **ret_step) {
        struct trial trial = {
                .uid_base = uid_base,
                .uid_count = uid_count,
                .flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
                .inside = mount_in_room,
        };

        *ret_step = "making it";
        return run(&trial, ret_step);
}

static int filter(void *data) {
        int r;

        (void)data;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -errno;
        r = seccomp_load(SECCOMP_SNIPPET);
        if (r < 0)
                return r;
        /* The kernel would say EBADF, EINVAL, EFAULT. */
        return syscall(SYS_setns, -1, 0) < 0 && errno == EPERM && syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS
                       ? 0
                       : 1;
}

int trial_seccomp(void) {
        return trial_run(filter, NULL);
}
