#include "layer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 60

struct report {
        int stage; /* 1: confined; 2: done */
        int error; /* of confining */
        long result;
};

static _Noreturn void child(struct report *report, int (*confine)(void), long (*act)(const void *data),
                            const void *data) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(CHILD_SECONDS);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                report->error = -errno;
        else
                report->error = confine ? confine() : 0;
        if (report->error == 0) {
                report->stage = 1;
                report->result = act(data);
                report->stage = 2;
        }
        _exit(0);
}

struct outcome layer_run(int (*confine)(void), long (*act)(const void *data), const void *data) {
        struct report *report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        struct outcome outcome = {0};
        int status = 0;
        pid_t pid;

        assert_ptr_not_equal(report, MAP_FAILED);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                child(report, confine, act, data);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (report->stage == 0)
                fail_msg("the child could not be confined: %s", strerror(-report->error));
        outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        outcome.result = report->result;
        if (!outcome.signal)
                assert_int_equal(report->stage, 2);
        munmap(report, sizeof *report);
        return outcome;
}

void layer_need_root(void) {
        if (geteuid() != 0) {
                print_message("needs root\n");
                skip();
        }
}

int layer_make_places(void) {
        static const char *const places[] = {"/mnt", "/home", "/tmp", "/dev/shm", "/opt"};

        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
                if (mount("tmpfs", places[i], "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
                        return -errno;
        if (mkdir("/mnt/data", 0777) < 0 || mkdir("/home/nonroot", 0777) < 0 || mkdir("/opt/folder", 0777) < 0)
                return -errno;
        return 0;
}
