/*
 * Names that are unique for ever: runs, files, sandboxes.
 *
 * Runs in the api process. A run or file id is its prefix and a ULID: 48 bits of milliseconds and 80 random bits in
 * Crockford's base 32, so that ids sort by age and cannot be guessed. A sandbox id shows the spawner's 128 random bits.
 */
#pragma once

#include "spawn/proto.h"

#define ID_TEXT_BYTES 40 /* prefix, ULID or 32 hexadecimal digits, NUL */

/* "run_01J9ZQ4Q6R8S…"; `prefix` ("run_", "file_") is at most 8 bytes long. */
void id_new(char id[ID_TEXT_BYTES], const char *prefix);

/* "sbx_0123…": 32 hexadecimal digits. */
void id_of_sandbox(char id[ID_TEXT_BYTES], struct sandbox_id sandbox);
