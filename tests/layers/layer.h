/*
 * What the layer tests share: doing something in a child process that confines itself, and hearing what came of it.
 *
 * Each layer is tested with all the others off: the children are root, in the host's namespaces, and only the one thing
 * under test stands between them and the kernel. Nothing here sends a packet.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What a child did. */
struct outcome {
        long result; /* what its function returned */
        int signal;  /* that killed it, or 0 */
};

/*
 * Runs `confine` (may be NULL), then `act`, in a child of their own. `confine` returns 0 or a negative errno, which
 * fails the test. The child has its own mount namespace, so that what gets through changes nothing outside.
 */
struct outcome layer_run(int (*confine)(void), long (*act)(const void *data), const void *data);

/* -errno if a call returned -1, else its result. */
#define ERRNO_OF(call) ((call) == -1 ? -(long)errno : 0L)

/* Skips the test unless it runs as root. */
void layer_need_root(void);

/*
 * In a child, before it confines itself: puts empty folders where a room has its writable places (/mnt/data, /tmp,
 * /home/nonroot, /dev/shm), and on /opt, where none is. The rest is the host. 0 or a negative errno.
 */
int layer_make_places(void);
