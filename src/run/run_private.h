/*
 * Within one run: shared by run.c, run_output.c and run_call.c only.
 *
 * Runs in the api process.
 */
#pragma once

#include "run/run.h"

/* Output is read in slices of this size, one for each wake-up, so that runs take turns. */
#define SLICE_BYTES (64 << 10)

/* An event of sched/run_state.h has come; does what is to be done about it. */
void run_step(struct run *run, enum run_event event);

/* run_output.c: what the snippet prints. */
uint64_t run_output_total(const struct run *run);
int run_listen(struct run *run);
/* Stops listening: the snippet blocks as soon as the pipe is full. */
void run_deafen(struct run *run);
/* Reads one slice. False: there is no more now. */
bool run_read_slice(struct run *run, enum run_stream stream);
void run_pipe_close(struct run *run, struct run_pipe *pipe);
/* Makes the next call's pipes. 0 or a negative errno. */
int run_pipes_prepare(void);
/* Pipes for a call alone, instead of those that came with the sandbox; their other ends go into `fds`. */
int run_make_pipes(struct run *run, int fds[CELL_FDS]);
/* From here on they are at their end when nobody in the sandbox holds them. */
void run_let_pipes_end(struct run *run);

/* run_call.c: the end of a session's call. */
void run_call_on_over(void *data, int exit_code);
void run_call_collect(struct run *run);
/* Steps on if everything of the call is there. */
void run_call_finish(struct run *run);
