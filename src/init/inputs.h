/* The input files of a run: received, written below the working directory, and remembered; see inputs.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads frames until FRAME_INPUTS_END and writes the files; answers each one that does not fit with FRAME_INPUT_FAILED,
 * and all of it with FRAME_INPUTS_END. 0 or negative errno when the channel is of no more use.
 */
int inputs_receive(int work_fd, int workdir_fd);

/* Is this file, by path below the working directory, an input with the very same content? Reads it if sizes agree. */
bool inputs_unchanged(const char *path, int file_fd, uint64_t size);
