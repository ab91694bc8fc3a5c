/* The input files of a run: received, written below the working directory, and noted; see inputs.c. */
#pragma once

#include <stdint.h>

/*
 * Reads the payload of one FRAME_INPUT and writes the file, or answers with FRAME_INPUT_FAILED. 0 or negative errno
 * when the channel is of no more use.
 */
int inputs_receive(int work_fd, int workdir_fd, uint32_t length);

/* FRAME_INPUTS_END: answers it; the next input begins another set. */
int inputs_end(int work_fd, uint32_t length);
