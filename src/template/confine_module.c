/*
 * _confine: the C part of the fork server, as an extension module of the image's own Python.
 *
 * Runs in the template, which holds CAP_SYS_ADMIN in the outer user namespace and nothing on the host, and in its
 * children until they are confined. Trusts the spawner. Built against the stable ABI, so that the distribution's
 * headers serve for the image's interpreter.
 *
 * Children are made by a raw clone with CLONE_PARENT, so that they are the spawner's children: it sees their end
 * itself, and a busy or dead template takes none of them with it. What glibc's fork would have done beyond that, for a
 * process with one thread: keep the thread's cached ID right (CLONE_CHILD_SETTID), register the robust futex list again
 * (done here), and run pthread_atfork handlers (those in the image guard threads that do not exist here). Python's own
 * are called.
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "sandbox/profile.h"
#include "sandbox/seccomp.h"
#include "sandbox/steps.h"
#include "sandbox/walk_in.h"
#include "spawn/proto.h"
#include "template/protocol.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static struct {
        int spawner_fd;
        int own_pid_namespace;
        int *tid_address; /* where glibc keeps this thread's ID */
        void *robust_list;
        size_t robust_list_size;
} template = {.spawner_fd = -1, .own_pid_namespace = -1};

static int learn_about_thread(void) {
        if (prctl(PR_GET_TID_ADDRESS, &template.tid_address) < 0) /* CONFIG_CHECKPOINT_RESTORE */
                return -errno;
        if (syscall(SYS_get_robust_list, 0, &template.robust_list, &template.robust_list_size) < 0)
                return -errno;
        return 0;
}

static int raise_open_files(void) {
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        files.rlim_cur = 4096 < files.rlim_max ? 4096 : files.rlim_max; /* children number descriptors from 1024 on */
        return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

static int send_message(uint32_t kind, uint64_t number, int error, int pidfd) {
        struct template_message message = {.kind = kind, .number = number, .error = error};
        return fdpass_send(template.spawner_fd, &message, sizeof(message), &pidfd, pidfd >= 0 ? 1 : 0);
}

static PyObject *raise_errno(int negative_errno) {
        errno = -negative_errno;
        return PyErr_SetFromErrno(PyExc_OSError);
}

/* start(fd): everything is warm. Loads the fork server's filter and tells the spawner. */
static PyObject *confine_start(PyObject *self, PyObject *args) {
        (void)self;
        if (!PyArg_ParseTuple(args, "i", &template.spawner_fd))
                return NULL;
        if (fcntl(template.spawner_fd, F_SETFD, FD_CLOEXEC) < 0)
                return raise_errno(-errno);
        template.own_pid_namespace = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
        if (template.own_pid_namespace < 0)
                return raise_errno(-errno);
        int r = learn_about_thread();
        if (r >= 0)
                r = raise_open_files();
        if (r >= 0)
                r = seccomp_load(SECCOMP_TEMPLATE);
        if (r >= 0)
                r = send_message(TEMPLATE_READY, 0, 0, -1);
        if (r < 0)
                return raise_errno(r);
        Py_RETURN_NONE;
}

/* 0 in the child; in the template the child's PID there, or negative errno. */
static long clone_like_fork(int *ret_pidfd) {
        const unsigned long flags = CLONE_PARENT | CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
#if defined(__x86_64__)
        long r = syscall(SYS_clone, flags, NULL, ret_pidfd, template.tid_address, NULL);
#else
        long r = syscall(SYS_clone, flags, NULL, ret_pidfd, NULL, template.tid_address);
#endif
        return r < 0 ? -errno : r;
}

static _Noreturn void abandon(void) {
        _exit(125); /* the spawner has been told, or sees the end */
}

static void enter_room(const int *fds) {
        struct walk_in_plan plan = {
                .profile = profile_find(SPAWN_PROFILE_SNIPPET),
                .room_fd = fds[TEMPLATE_FD_ROOM],
                .user_namespace_fd = fds[TEMPLATE_FD_USER_NS],
                .claim_fd = fds[TEMPLATE_FD_CLAIM],
                .stdout_fd = fds[TEMPLATE_FD_STDOUT],
                .stderr_fd = fds[TEMPLATE_FD_STDERR],
                .report_fd = fds[TEMPLATE_FD_REPORT],
        };
        syscall(SYS_set_robust_list, template.robust_list, template.robust_list_size);
        if (walk_in(&plan) < 0)
                abandon();
}

static void close_all(const int *fds, size_t count) {
        for (size_t i = 0; i < count; i++)
                close(fds[i]);
}

/* Forks into the room of this request. True in the child. */
static int fork_into_room(const struct template_message *request, const int *fds) {
        int pidfd = -1;
        int r = setns(fds[TEMPLATE_FD_PID_NS], CLONE_NEWPID) < 0 ? -errno : 0;
        if (r >= 0) {
                PyOS_BeforeFork();
                long pid = clone_like_fork(&pidfd);
                if (pid == 0) {
                        enter_room(fds);
                        PyOS_AfterFork_Child(); /* after the cgroup: what it touches is the sandbox's */
                        return 1;
                }
                PyOS_AfterFork_Parent();
                r = pid < 0 ? (int)pid : 0;
        }
        if (setns(template.own_pid_namespace, CLONE_NEWPID) < 0)
                abandon(); /* the next child would be born in a stranger's room */
        send_message(TEMPLATE_FORKED, request->number, -r, r < 0 ? -1 : pidfd);
        if (pidfd >= 0)
                close(pidfd);
        return 0;
}

/* serve(): answers requests for ever in the template; returns in each child, confined. None when the spawner is gone.
 */
static PyObject *confine_serve(PyObject *self, PyObject *unused) {
        (void)self;
        (void)unused;
        for (;;) {
                struct template_message request;
                int fds[TEMPLATE_FORK_FDS];
                size_t fd_count = 0;
                ssize_t got =
                        fdpass_recv(template.spawner_fd, &request, sizeof(request), fds, TEMPLATE_FORK_FDS, &fd_count);
                if (got != (ssize_t)sizeof(request) || request.kind != TEMPLATE_FORK || fd_count != TEMPLATE_FORK_FDS)
                        Py_RETURN_NONE;
                if (fork_into_room(&request, fds))
                        return PyLong_FromLong(WALK_IN_CLAIM_FD);
                close_all(fds, fd_count);
        }
}

/* populate(ranges): bytes of struct {u64 start, end, write}; faults the pages in, in batches instead of one by one. */
static PyObject *confine_populate(PyObject *self, PyObject *args) {
        const char *bytes;
        Py_ssize_t length;
        (void)self;
        if (!PyArg_ParseTuple(args, "y#", &bytes, &length))
                return NULL;
        const uint64_t *range = (const uint64_t *)(const void *)bytes;
        for (size_t i = 0; i < (size_t)length / sizeof(uint64_t[3]); i++, range += 3)
                /* A hint: a range that is no longer mapped like that is faulted in when it is used. */
                if (madvise((void *)(uintptr_t)range[0], range[1] - range[0],
                            range[2] ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) < 0)
                        continue;
        Py_RETURN_NONE;
}

/* parked(): the child is ready for a run. Closes the last descriptor that leads out of the room. */
static PyObject *confine_parked(PyObject *self, PyObject *unused) {
        (void)self;
        (void)unused;
        int r = step_report_send(WALK_IN_REPORT_FD, REPORT_READY, STEP_NONE, 0);
        close(WALK_IN_REPORT_FD);
        if (r < 0)
                abandon();
        Py_RETURN_NONE;
}

/* failed(): the runner could not be prepared; says so and ends the process. */
static PyObject *confine_failed(PyObject *self, PyObject *unused) {
        (void)self;
        (void)unused;
        step_report_send(WALK_IN_REPORT_FD, REPORT_FAILED, STEP_PREPARE, EIO);
        abandon();
}

static PyMethodDef methods[] = {
        {"start", confine_start, METH_VARARGS, "start(fd): load the fork server's filter, tell the spawner"},
        {"serve", confine_serve, METH_NOARGS, "serve(): answer requests; returns the claim descriptor in a child"},
        {"populate", confine_populate, METH_VARARGS, "populate(ranges): fault pages in, in batches"},
        {"parked", confine_parked, METH_NOARGS, "parked(): tell the spawner that this child waits for a run"},
        {"failed", confine_failed, METH_NOARGS,
         "failed(): tell the spawner that this child is of no use; does not return"},
        {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
        .m_base = PyModuleDef_HEAD_INIT,
        .m_name = "_confine",
        .m_doc = "The C part of the fork server: forking into rooms and being confined there.",
        .m_size = -1,
        .m_methods = methods,
};

PyMODINIT_FUNC PyInit__confine(void);
PyMODINIT_FUNC PyInit__confine(void) {
        return PyModule_Create(&module);
}
