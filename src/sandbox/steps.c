/* The order in which a process is confined; see steps.h. */
#include "sandbox/steps.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fdpass.h"

const char *sandbox_step_name(uint32_t step) {
        static const char *const names[STEP_COUNT] = {
                [STEP_NONE] = "nothing",
                [STEP_CLONE] = "make namespaces",
                [STEP_MAP] = "write ID maps",
                [STEP_CGROUP] = "enter cgroup",
                [STEP_CGROUP_NS] = "make cgroup namespace",
                [STEP_JOIN] = "join the room's namespaces",
                [STEP_IDENTITY] = "become UID 65532",
                [STEP_ROOT] = "mount the image",
                [STEP_PROC] = "mount /proc",
                [STEP_DEV] = "make /dev",
                [STEP_WORKDIR] = "mount /mnt/data",
                [STEP_SCRATCH] = "mount /tmp and HOME",
                [STEP_TOOLS] = "mount the template's code",
                [STEP_PIVOT] = "change root",
                [STEP_NETWORK] = "open the network",
                [STEP_HOSTNAME] = "set host name",
                [STEP_DESCRIPTORS] = "close descriptors",
                [STEP_LIMITS] = "set resource limits",
                [STEP_PRIVILEGES] = "drop privileges",
                [STEP_KEEPER] = "start the keeper",
                [STEP_LANDLOCK] = "enable Landlock",
                [STEP_SECCOMP] = "load seccomp filter",
                [STEP_EXEC] = "execute",
                [STEP_PREPARE] = "prepare the interpreter",
                [STEP_LOST] = "stay alive",
        };
        return step < STEP_COUNT && names[step] ? names[step] : "unknown step";
}

int step_report_send(int report_fd, enum step_report_kind kind, uint32_t step, int error) {
        struct step_report report = {.kind = kind, .step = step, .error = error};
        return fdpass_send(report_fd, &report, sizeof(report), NULL, 0);
}

int steps_run(const struct step *steps, size_t count, void *plan, const int *report_fd) {
        for (size_t i = 0; i < count; i++) {
                int r = steps[i].run(plan);
                if (r < 0) {
                        step_report_send(*report_fd, REPORT_FAILED, steps[i].id, -r);
                        return r;
                }
        }
        return 0;
}

int step_order_wait(int report_fd, enum step_order expected) {
        uint32_t order;
        ssize_t got;
        do
                got = recv(report_fd, &order, sizeof(order), 0);
        while (got < 0 && errno == EINTR);
        if (got < 0)
                return -errno;
        return got == (ssize_t)sizeof(order) && order == (uint32_t)expected ? 0 : -ECONNRESET;
}
