/*
 * What flows between the api process and one sandbox, past the spawner.
 *
 * Two stream sockets (AF_UNIX). Whatever comes out of a sandbox is hostile: the api process bounds and checks every
 * frame; a bad one ends the reading of that channel, and the run is reported with what had come before it.
 *
 * Every frame is a `struct frame` followed by `length` bytes of payload. Integers are little-endian (the only byte order
 * this software runs on).
 *
 * CLAIM CHANNEL, api process ↔ runner (Python, in the sandbox; src/template/python/sandbox_runner/)
 *   → FRAME_CODE     once. Payload: the source, UTF-8. The first byte carries one descriptor (SCM_RIGHTS): the snippet's
 *                    standard input, a sealed memfd at offset 0, or /dev/null.
 *   ← FRAME_STARTED  empty; sent right before the first instruction of the snippet
 *   ← FRAME_RESULT   a JSON object that maps MIME types to strings (base64 for binary ones): a shown figure, or the value
 *                    of the last expression. At most RESULT_FRAME_BYTES each, RESULTS_MAX a run.
 *   In a session, which the first frame decides:
 *   → FRAME_CELL     instead of FRAME_CODE, and again after each FRAME_CELL_END. The first byte carries CELL_FDS
 *                    descriptors: the call's standard input, and the write ends of its own stdout and stderr pipes, so
 *                    that nothing of an earlier call can be taken for output of this one.
 *   ← FRAME_STARTED, FRAME_RESULT as above, for each call
 *   ← FRAME_CELL_END payload: struct cell_end. The call is over, its output is written; the interpreter waits for the next
 *
 *   In a sandbox for a tool call (the runner is src/call/, in the image's own Python) and in one for an import (src/import/):
 *   → FRAME_CALL     once. Payload: a JSON object that says what to do. The first byte carries one descriptor: standard
 *                    input, /dev/null or empty; of an import, the archive
 *   ← FRAME_STARTED  empty; of a call, right before the agent's code is imported
 *   ← FRAME_PROGRESS a JSON object; of an import only, any number of them
 *   ← FRAME_CALL_END a JSON object: what came of it, at most CALL_END_BYTES
 *
 * EGRESS CHANNEL, api process ↔ egress process (src/egress/), for a sandbox with a network
 *   ← FRAME_EGRESS   payload: struct egress_record and the host name: one decision, when its connection is over. The end
 *                    of the channel, after the sandbox's own end, says that no more will follow
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
 *   In a session:
 *   → FRAME_INPUT … FRAME_INPUTS_END  before any call; an input takes the place of a file of its name. FRAME_INPUTS_END
 *                    may carry `uint32_t flags`: with INPUTS_RESTORED these files are old, and are handed over only once
 *                    they have been changed again
 *   → FRAME_COLLECT  empty: the call is over, its processes may live on. Answered by FRAME_FILE …, FRAME_FILES_END, with
 *                    what has changed since the last answer (told by ctime, which nobody in the room can set back). A
 *                    file that is changed or cut short while it is read is handed over as it then is, and again next time
 *   When the main process dies, the frames above come as if asked for, once everything else in the room is dead too; the
 *   channel stays open if the room is kept. So there is one FRAME_FILES_END for each FRAME_COLLECT, and one for each
 *   death; a FRAME_COLLECT that was sent before the death was known is answered before or after it.
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
        FRAME_CELL,
        FRAME_CELL_END,
        FRAME_CALL,
        FRAME_PROGRESS,
        FRAME_CALL_END,

        FRAME_EGRESS = 24,

        FRAME_INPUT = 32,
        FRAME_INPUTS_END,
        FRAME_INPUT_FAILED,
        FRAME_FILE,
        FRAME_SKIPPED,
        FRAME_FILES_END,
        FRAME_COLLECT,
};

enum { CELL_FD_STDIN, CELL_FD_STDOUT, CELL_FD_STDERR, CELL_FDS };

enum inputs_flags { INPUTS_RESTORED = 1 };

struct cell_end {
        int32_t exit_code; /* as a script's: 0, 1 after an exception, what was given to sys.exit(), 130 after Ctrl-C */
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

enum egress_decision { EGRESS_ALLOWED = 1, EGRESS_REFUSED, EGRESS_FAILED };

enum egress_rule {
        EGRESS_RULE_PUBLIC = 1, /* a public address */
        EGRESS_RULE_ALLOW,      /* the operator's SANDBOX_EGRESS_ALLOW */
        EGRESS_RULE_DENY,       /* the operator's SANDBOX_EGRESS_DENY */
        EGRESS_RULE_OFF,        /* the operator has switched the network of tool calls off */
        EGRESS_RULE_RESERVED,   /* not a public address: private, loopback, link-local, multicast … */
        EGRESS_RULE_NAME,       /* a name lookup: the name does not exist, or has no address that may be used */
        EGRESS_RULE_LIMIT,      /* too many connections or lookups */
        EGRESS_RULE_UNREACHABLE, /* allowed, but nobody answers there */
        EGRESS_RULE_PORT,       /* a public address, on a port that is open for others only */
};

struct egress_record {
        uint32_t decision;    /* enum egress_decision */
        uint32_t rule;        /* enum egress_rule */
        uint16_t family;      /* 4, 6; 0 of a name lookup without an address */
        uint16_t port;        /* 53 of a name lookup */
        uint32_t host_length; /* at most EGRESS_HOST_MAX; 0 where no name is known */
        uint8_t address[16];  /* in network byte order; the first four bytes if family is 4 */
        uint64_t bytes_sent, bytes_received; /* as the sandbox sees it */
        uint64_t opened_ms;   /* since 1970 */
};

#define EGRESS_HOST_MAX 253
#define EGRESS_RECORDS_MAX 1000 /* named a sandbox; later ones are counted in the last one's place */
#define PROGRESS_BYTES_MAX UINT32_C(4096)
#define CALL_BYTES_MAX (UINT32_C(2) << 20)
#define CALL_RESULT_BYTES_MAX (UINT32_C(8) << 20)
#define CALL_END_BYTES (CALL_RESULT_BYTES_MAX + (UINT32_C(256) << 10)) /* with the error and its traceback */

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
