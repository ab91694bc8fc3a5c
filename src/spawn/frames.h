/*
 * What flows between the api process and one sandbox, past the spawner.
 *
 * Two stream sockets (AF_UNIX). Whatever comes out of a sandbox is hostile: the api process bounds and checks every
 * frame; a bad one ends the reading of that channel, and the run is reported with what had come before it.
 *
 * Every frame is a `struct frame` followed by `length` bytes of payload. Integers are little-endian (the only byte order
 * this software runs on).
 *
 * CLAIM CHANNEL, api process ↔ runner (Python, in the sandbox; src/template/python/runner.py)
 *   → FRAME_CODE     once. Payload: the source, UTF-8. The first byte carries one descriptor (SCM_RIGHTS): the snippet's
 *                    standard input, a sealed memfd at offset 0, or /dev/null.
 *   ← FRAME_STARTED  empty; sent right before the first instruction of the snippet
 *   ← FRAME_RESULT   a JSON object that maps MIME types to strings (base64 for binary ones): a shown figure, or the value
 *                    of the last expression. At most RESULT_FRAME_BYTES each, RESULTS_MAX a run.
 *
 * WORK CHANNEL, api process ↔ init of the room (C, pid 1 in the sandbox, as the sandbox's user; src/init/)
 *   before the claim, only if the run has input files:
 *   → FRAME_INPUT       payload: struct file_head, the name, then the content (all counted in `length`)
 *   → FRAME_INPUTS_END  empty
 *   ← FRAME_INPUT_FAILED  payload: struct file_head (error set), the name: this input does not fit
 *   ← FRAME_INPUTS_END    empty: all inputs were tried; the claim may follow
 *   after the main process ended and every other process of the room is dead (init starts this when the spawner says so):
 *   ← FRAME_FILE     payload: struct file_head, the name, then the content: a regular file, new or changed
 *   ← FRAME_SKIPPED  payload: struct file_head (reason set), the name: something that is not handed over
 *   ← FRAME_FILES_END  payload: struct files_end
 *
 * Names are paths below the working directory: bytes without NUL, not necessarily UTF-8, no leading slash, no "." or
 * ".." component. Init walks in sorted order (bytewise, per folder), so that limits cut at the same place every time.
 */
#pragma once

#include <stdint.h>

enum frame_type {
        FRAME_CODE = 1,
        FRAME_STARTED,
        FRAME_RESULT,

        FRAME_INPUT = 32,
        FRAME_INPUTS_END,
        FRAME_INPUT_FAILED,
        FRAME_FILE,
        FRAME_SKIPPED,
        FRAME_FILES_END,
};

struct frame {
        uint32_t type;   /* enum frame_type */
        uint32_t length; /* of the payload in bytes */
};

enum skip_reason {
        SKIP_TOO_LARGE = 1,  /* over FILE_BYTES_MAX */
        SKIP_TOTAL_TOO_LARGE, /* would go over FILES_BYTES_MAX */
        SKIP_TOO_MANY,       /* after FILES_MAX, below DEPTH_MAX, or when the time for collecting was over */
        SKIP_NOT_REGULAR,    /* link, hard link to a file already taken, FIFO, socket, device */
        SKIP_UNREADABLE,     /* could not be opened or read, or changed while it was read */
        SKIP_NAME,           /* a name that cannot be handed over */
};

struct file_head {
        uint32_t name_length; /* 1 … FILE_NAME_MAX */
        uint32_t reason;      /* FRAME_SKIPPED: enum skip_reason; FRAME_INPUT_FAILED: a positive errno; else 0 */
        uint64_t size;        /* of the file; in FRAME_FILE and FRAME_INPUT exactly what follows the name */
};

struct files_end {
        uint32_t files, skipped; /* how many there were; `skipped` may be more than were named */
};

#define CODE_BYTES_MAX (UINT32_C(32) << 20)
#define RESULT_FRAME_BYTES (UINT32_C(8) << 20)
#define RESULTS_BYTES_MAX (UINT32_C(16) << 20)
#define RESULTS_MAX 100

#define FILE_BYTES_MAX (UINT64_C(4) << 20)
#define FILES_BYTES_MAX (UINT64_C(16) << 20)
#define FILES_MAX 256        /* handed over a run */
#define SKIPPED_NAMED_MAX 256 /* named a run; the rest is counted */
#define INPUTS_MAX 256
#define FILE_NAME_MAX 1024 /* of a whole path below the working directory */
#define DEPTH_MAX 16       /* folders below the working directory */
#define ENTRIES_MAX 20000  /* looked at a run: bounds the time for a folder of a million */
#define COLLECT_MS_MAX 3000
