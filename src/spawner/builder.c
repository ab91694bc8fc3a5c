/*
 * Makes the init of a room.
 *
 * Runs in a short-lived child of the spawner, the builder: it enters the outer user namespace, where it has
 * capabilities and the host has nothing to fear from them, clones the future init into seven new namespaces (as the
 * spawner's child, not its own: CLONE_PARENT), maps the one ID, hands the pidfd to the spawner, and ends. The clone
 * then furnishes its room (sandbox/room.c) and executes the static init.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "sandbox/caps.h"
#include "sandbox/room.h"
#include "sandbox/steps.h"
#include "spawner/egress.h"
#include "spawner/images.h"
#include "spawner/sandbox.h"

#define ROOM_NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

static int write_map(pid_t host_pid, const char *name, uint32_t outer_id) {
        char path[64], map[64];
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)host_pid, name);
        int length = snprintf(map, sizeof(map), "%d %u 1\n", SANDBOX_UID, outer_id);
        CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return write(fd, map, (size_t)length) < 0 ? -errno : 0;
}

/* Standard descriptors on /dev/null, orders on 3, work channel on 4; all else is close-on-exec. */
static int number_descriptors(int orders, int work) {
        CLEANUP_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        CLEANUP_CLOSE int high_orders = fcntl(orders, F_DUPFD_CLOEXEC, 16);
        CLEANUP_CLOSE int high_work = fcntl(work, F_DUPFD_CLOEXEC, 16);
        if (null < 0 || high_orders < 0 || high_work < 0)
                return -errno;
        for (int fd = 0; fd < 3; fd++)
                if (dup2(null, fd) < 0)
                        return -errno;
        return dup2(high_orders, 3) < 0 || dup2(high_work, 4) < 0 ? -errno : 0;
}

static const char *root_of(const struct sandbox *sandbox) {
        if (sandbox->profile->room == ROOM_IMPORT)
                return sandbox->spawner->import_dir;
        return sandbox->image ? images_dir(sandbox->image) : sandbox->spawner->image_dir;
}

static _Noreturn void become_init(const struct sandbox *sandbox, int orders, int work, int egress) {
        static char *const arguments[] = {(char *)"init", NULL}, *const environment[] = {NULL};
        char folder[256];
        struct room_plan plan = {
                .kind = sandbox->profile->room,
                .image = root_of(sandbox),
                .work = folder,
                .devices = sandbox->spawner->dev_dir,
                .tools = sandbox->spawner->call_dir,
                .egress_fd = egress,
                .root_fd = -1,
                .report_fd = orders,
        };
        plan.port_count = egress_more_ports(sandbox->spawner, &plan.ports);
        int init_fd = fcntl(sandbox->spawner->init_fd, F_DUPFD_CLOEXEC, 32);

        snprintf(folder, sizeof(folder), "%s/%s", sandbox->spawner->store_dir, sandbox->work);
        setsid();
        if (init_fd < 0 || room_furnish(&plan) < 0)
                _exit(1);
        int r = number_descriptors(orders, work);
        if (r < 0) {
                step_report_send(orders, REPORT_FAILED, STEP_DESCRIPTORS, -r);
                _exit(1);
        }
        /* Here, because exec as another user than root takes the right to empty the bounding set. */
        r = caps_drop_all();
        if (r < 0) {
                step_report_send(orders, REPORT_FAILED, STEP_PRIVILEGES, -r);
                _exit(1);
        }
        fexecve(init_fd, arguments, environment);
        step_report_send(3, REPORT_FAILED, STEP_EXEC, errno);
        _exit(1);
}

static int report_clone(int orders, int pidfd) {
        struct step_report report = {.kind = REPORT_CLONED};
        return fdpass_send(orders, &report, sizeof(report), &pidfd, 1);
}

static _Noreturn void build(const struct sandbox *sandbox, int orders, int work, int egress) {
        sandbox_close_inside_ends(sandbox->spawner, NULL); /* of the others: this one is not listed yet */
        int r = outer_enter(sandbox->spawner, 0);
        if (r < 0) {
                step_report_send(orders, REPORT_FAILED, STEP_IDENTITY, -r);
                _exit(1);
        }

        int pidfd = -1;
        struct clone_args args = {
                .flags = ROOM_NAMESPACES | CLONE_PARENT | CLONE_PIDFD,
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
        };
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0)
                become_init(sandbox, orders, work, egress);
        if (pid < 0) {
                step_report_send(orders, REPORT_FAILED, STEP_CLONE, errno);
                _exit(1);
        }

        pid_t host_pid = pidfd_host_pid(pidfd);
        r = host_pid > 0 ? write_map(host_pid, "uid_map", sandbox->uid) : -ESRCH;
        if (r >= 0)
                r = write_map(host_pid, "gid_map", sandbox->uid);
        if (r < 0) {
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
                step_report_send(orders, REPORT_FAILED, STEP_MAP, -r);
                _exit(1);
        }
        _exit(report_clone(orders, pidfd) < 0 ? 1 : 0);
}

int builder_start(struct sandbox *sandbox, int init_orders_inside, int work_inside, int egress_inside) {
        pid_t pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                build(sandbox, init_orders_inside, work_inside, egress_inside);
        sandbox->builder_pid = pid;
        return 0;
}
