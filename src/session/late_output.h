/*
 * Output that comes after its call is over, from processes which the call has left behind.
 *
 * Runs in the api process. Such output belongs to nobody and is dropped. The pipes are read on all the same, so that a
 * server in the background, say, is not killed by its own log; up to a limit, after which they are closed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

#define LATE_PIPES_MAX 8 /* of the last calls that have left somebody, two each */
#define LATE_BYTES_MAX (UINT64_C(16) << 20)

struct late_pipe {
        struct late_output *owner;
        int fd;
        struct loop_source *source;
        uint64_t dropped;
};

struct late_output {
        struct loop *loop;
        struct late_pipe pipes[LATE_PIPES_MAX];
        size_t next; /* the place that is emptied when none is free */
};

void late_output_init(struct late_output *late, struct loop *loop);
void late_output_deinit(struct late_output *late);
/* Takes a pipe's read end over; -1 is none. */
void late_output_add(struct late_output *late, int fd);
