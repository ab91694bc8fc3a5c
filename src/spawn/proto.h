/*
 * THE PRIVILEGE BOUNDARY: every message between the api process and the spawner.
 *
 * The api process is unprivileged and reads bytes from the network; the spawner is root and builds sandboxes. They share
 * one SOCK_SEQPACKET socket pair and this header, nothing else. Every message is one `struct spawn_message` of fixed
 * size; descriptors travel beside it (SCM_RIGHTS). There are no strings, no pointers, no paths and no lengths in it. The
 * spawner takes the api process for hostile: a message of another size, an unknown type, a value out of range or an id
 * that is not its own ends the connection, and with it the service.
 *
 * Data (code, input, output, files) never crosses here: it flows over the descriptors that SPAWN_READY carries, straight
 * between the api process and the sandbox; see frames.h.
 *
 * Life of a sandbox:   CREATE → READY (parked) → CLAIM → EXITED
 *                      CREATE → CREATE_FAILED          READY → EXITED (a parked one died, or was KILLed)
 *
 * Life of a session:   READY → CLAIM (SPAWN_CLAIM_SESSION) → REST → RESTED → CLAIM → REST → RESTED … → KILL → EXITED
 *   When the main process dies, or is killed at the end of a call's time, the room stays with all its files: EXITED says
 *   `room_kept`. Then RENEW puts a fresh process into it (READY, under a new id), or KILL ends it. A kept room that ends,
 *   also by itself or because nothing is asked of it for SPAWN_KEPT_SECONDS, is told of by a second EXITED, without
 *   `room_kept`. RENEW is always answered: CREATE_FAILED (ESRCH if it came too late) means that the room is gone.
 *   REST and CLAIM that cross an EXITED on their way are passed over.
 *
 * Life of a tool call: CREATE with an agent's image → READY → CLAIM → EXITED. Made when it is wanted, from the image
 *   alone, and never a session. The same for an import, which turns an archive or a registry's image into one file: if
 *   it ends by itself with status 0, the spawner keeps that file as an image under the import's own id, and EXITED says
 *   `image_kept`. IMAGE_DROP removes it again; after HELLO, one SPAWN_IMAGE names each image that is there.
 */
#pragma once

#include <stdint.h>

#define SPAWN_PROTOCOL_VERSION 3

/* Limits of one snippet sandbox. Both sides know them; the spawner enforces them, the api process reports them. */
#define SANDBOX_MEMORY_BYTES (UINT64_C(512) << 20)
#define SANDBOX_CPU_PERCENT 100 /* of one CPU */
#define SANDBOX_PIDS 128        /* processes and threads, the room's init and the snippet included */
#define SANDBOX_WORKDIR_BYTES (UINT64_C(128) << 20)
#define SANDBOX_WORKDIR_INODES 16384
#define SANDBOX_TMP_BYTES (UINT64_C(64) << 20)
#define SANDBOX_TMP_INODES 8192
#define SANDBOX_SHM_BYTES (UINT64_C(64) << 20)
#define SANDBOX_OPEN_FILES 1024
#define SANDBOX_UID 65532 /* "nonroot", the only user inside; GID alike */

/* Of a tool call: what differs. */
#define CALL_MEMORY_BYTES (UINT64_C(1) << 30)
#define CALL_CPU_PERCENT 200
#define CALL_SOCKET_BYTES (UINT64_C(64) << 20) /* of its TCP and UDP sockets' buffers */

#define SPAWN_TIMEOUT_MAX_MS 120000
#define SPAWN_IMPORT_TIMEOUT_MAX_MS 1800000
#define SPAWN_KEPT_SECONDS 30

enum spawn_type {
        /* api → spawner */
        SPAWN_CREATE = 1, /* request: chosen by the caller, comes back; profile; image, of a call */
        SPAWN_CLAIM,      /* sandbox, parked or resting; timeout_ms: the clock starts now; flags: enum spawn_claim_flags */
        SPAWN_KILL,       /* sandbox; reason: SPAWN_END_OUTPUT, SPAWN_END_CANCELLED or SPAWN_END_RETIRED */
        SPAWN_REST,       /* sandbox, of a session: the call is over, the clock stops */
        SPAWN_RENEW,      /* request; sandbox: one that EXITED with `room_kept` */
        SPAWN_IMAGE_DROP, /* image: nobody needs it any more; passed over if it is not there, put off while it is used */

        /* spawner → api */
        SPAWN_HELLO = 64,    /* version, max_sandboxes: the first message */
        SPAWN_READY,         /* request, sandbox; descriptors in the order of enum spawn_ready_fd, as many as the
                                profile has */
        SPAWN_CREATE_FAILED, /* request; step (enum sandbox_step of sandbox/steps.h), error: a positive errno */
        SPAWN_EXITED,        /* sandbox; reason, wait_status, cpu_us, memory_peak: it is gone, its descriptors are at end,
                                but for SPAWN_FD_WORK if the room is kept (room_kept) */
        SPAWN_TEMPLATE,      /* template_state, template_generation: news of the fork server */
        SPAWN_RESTED,        /* sandbox; cpu_us of the call, memory_peak: answers REST */
        SPAWN_IMAGE,         /* image; image_bytes: it is on the disk. Once for each, after HELLO */
        SPAWN_SETTINGS,      /* max_sandboxes; beside it a sealed memory file, struct config_numbers: the operator has
                                changed settings */
};

enum spawn_claim_flags {
        SPAWN_CLAIM_SESSION = 1, /* more calls may follow; the room outlives its main process, unless KILLed as RETIRED */
};

enum spawn_profile {
        SPAWN_PROFILE_SNIPPET = 1, /* data-science image, forked from the template, no network */
        SPAWN_PROFILE_CALL,        /* an agent's image, started cold, network by way of the egress process */
        SPAWN_PROFILE_IMPORT,      /* makes such an image: the host's own tools, a folder on the disk, network as above */
        SPAWN_PROFILE_DISCOVERY,   /* a call without a network: its code is only imported, to see which tools it has */
};

/* Why a sandbox ended: the first cause wins. */
enum spawn_end {
        SPAWN_END_EXIT = 1,  /* its main process ended by itself; wait_status says how */
        SPAWN_END_TIMEOUT,   /* the time given with CLAIM was over */
        SPAWN_END_MEMORY,    /* the kernel killed a process of it for memory */
        SPAWN_END_OUTPUT,    /* KILLed by the api process: too much output */
        SPAWN_END_CANCELLED, /* KILLed by the api process: nobody waits for it any more */
        SPAWN_END_RETIRED,   /* KILLed while parked or resting: too old, a session's end, or the service stops */
        SPAWN_END_LOST,      /* its room died or was killed from outside, or the spawner could not go on with it */
};

enum spawn_template_state { SPAWN_TEMPLATE_STARTING = 1, SPAWN_TEMPLATE_SERVING, SPAWN_TEMPLATE_FAILED };

/*
 * Descriptors of SPAWN_READY, in this order. All are close-on-exec and owned by the receiver. A renewed sandbox comes
 * with SPAWN_RENEWED_FDS of them: the room's work channel is the receiver's already. A snippet's sandbox has the first
 * SPAWN_SNIPPET_FDS, one with a network all.
 */
enum spawn_ready_fd {
        SPAWN_FD_CLAIM,  /* stream socket to the runner in the sandbox: frames.h, "claim channel" */
        SPAWN_FD_STDOUT, /* read end of a pipe */
        SPAWN_FD_STDERR, /* read end of a pipe */
        SPAWN_RENEWED_FDS,
        SPAWN_FD_WORK = SPAWN_RENEWED_FDS, /* stream socket to the room's init: frames.h, "work channel" */
        SPAWN_SNIPPET_FDS,
        SPAWN_FD_EGRESS = SPAWN_SNIPPET_FDS, /* stream socket to the egress process: frames.h, "egress channel" */
        SPAWN_READY_FDS
};

/* A sandbox's name: 128 random bits, never used twice. */
struct sandbox_id {
        uint64_t high, low;
};

struct spawn_message {
        uint32_t type; /* enum spawn_type */
        uint32_t version;
        uint64_t request;
        struct sandbox_id sandbox;
        struct sandbox_id image; /* the id of the import that made it */
        uint64_t image_bytes;
        uint32_t profile;
        uint32_t timeout_ms;
        uint32_t reason;
        int32_t wait_status; /* as waitpid(2) gives it; meaningless if the main process never ran */
        uint32_t step;
        int32_t error;
        uint32_t flags;     /* enum spawn_claim_flags */
        uint16_t room_kept;  /* 0 or 1 */
        uint16_t image_kept; /* 0 or 1 */
        uint64_t cpu_us; /* since CLAIM, all processes */
        uint64_t memory_peak;
        uint32_t max_sandboxes;
        uint32_t template_state;
        uint64_t template_generation;
        uint64_t template_forks; /* made by this generation so far */
};

_Static_assert(sizeof(struct spawn_message) == 128, "the layout is the contract: no padding, no surprises");
