/*
 * The order in which a process is confined, as data.
 *
 * Runs between clone and drop, in a process that has privileges left and has not run anything untrusted yet: the future
 * init of a room (room.c), a child of the template on its way into a room (walk_in.c), or the template itself. Each
 * step has a number, so that a failure can be told to the spawner as {step, errno} without a word of text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum sandbox_step {
        STEP_NONE,
        STEP_CLONE,       /* make the process and its namespaces */
        STEP_MAP,         /* write its UID and GID maps */
        STEP_CGROUP,      /* put it into its cgroup */
        STEP_CGROUP_NS,   /* own cgroup namespace, rooted where it now is */
        STEP_JOIN,        /* join the namespaces of the room */
        STEP_IDENTITY,    /* become UID and GID 65532 */
        STEP_ROOT,        /* the image, read-only, as the root to be */
        STEP_PROC,        /* own /proc */
        STEP_DEV,         /* /dev with five devices and a bounded /dev/shm */
        STEP_WORKDIR,     /* /mnt/data */
        STEP_SCRATCH,     /* /tmp and HOME */
        STEP_TOOLS,       /* the template's own code */
        STEP_PIVOT,       /* leave the old root behind */
        STEP_NETWORK,     /* loopback, routes, listeners */
        STEP_HOSTNAME,    /* a name that says nothing */
        STEP_DESCRIPTORS, /* close all but our own, number them */
        STEP_LIMITS,      /* resource limits */
        STEP_PRIVILEGES,  /* no capabilities, no new privileges */
        STEP_KEEPER,      /* a second user of the memory, for a quick end */
        STEP_LANDLOCK,
        STEP_SECCOMP,
        STEP_EXEC,
        STEP_PREPARE, /* the runner's own preparations */
        STEP_LOST,    /* it died without a word */
        STEP_COUNT
};

/* A short name for logs and messages: "mount /proc". Never NULL. */
const char *sandbox_step_name(uint32_t step);

struct step {
        enum sandbox_step id;
        int (*run)(void *plan); /* 0 or negative errno */
};

/* What a process that is being confined tells the spawner over its report socket (SOCK_SEQPACKET). */
struct step_report {
        uint32_t kind; /* enum step_report_kind */
        uint32_t step; /* REPORT_FAILED: enum sandbox_step */
        int32_t error; /* REPORT_FAILED: a positive errno */
};

enum step_report_kind {
        REPORT_CLONED = 1, /* one descriptor beside it: the pidfd of the new process */
        REPORT_READY,      /* confined; nothing that is not its own is left in it */
        REPORT_FAILED,
        REPORT_DONE,  /* a room's init: all else is dead, the files are handed over */
        REPORT_CLEAN, /* the same, and it goes on: a new process may come */
};

/* What the spawner tells it. */
enum step_order {
        ORDER_GO = 1, /* you are in your cgroup: go on */
        ORDER_FINISH, /* to a room's init: kill everything, hand over the files, end */
        ORDER_CLEAN,  /* to a room's init: kill everything, hand over the files, empty /tmp and /dev/shm, stay */
};

/*
 * Runs the steps in order. On failure reports {step, errno} over `*report_fd`, as it is numbered by then, and returns
 * the negative errno.
 */
int steps_run(const struct step *steps, size_t count, void *plan, const int *report_fd);

int step_report_send(int report_fd, enum step_report_kind kind, uint32_t step, int error);

/* Waits for one order. 0 or negative errno; -ECONNRESET when the spawner is gone or says something else. */
int step_order_wait(int report_fd, enum step_order expected);
