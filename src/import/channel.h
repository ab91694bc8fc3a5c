/*
 * The claim channel of an import: frames of spawn/frames.h, seen from inside.
 *
 * Runs in the import's room. The api process is trusted to ask for something sensible, not to keep reading: when nobody
 * does any more, the import ends.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Waits for FRAME_CALL. 0 with a new reference and the descriptor beside it (-1: none), or a negative errno. */
int channel_receive(int channel, json_t **ret, int *ret_fd);

/* Sends one frame; `payload` (may be NULL) is encoded as JSON. 0 or negative errno. */
int channel_send(int channel, uint32_t type, const json_t *payload);

/* FRAME_PROGRESS; total 0: not known. Ends the process if nobody reads any more. */
void channel_progress(int channel, const char *step, uint64_t done, uint64_t total, const char *message);
