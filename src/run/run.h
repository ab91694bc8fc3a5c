/*
 * One run: from its place in the queue to the moment when everything about it is known.
 *
 * Runs in the api process. The run owns its end of the sandbox's descriptors: it sends inputs and code, reads output,
 * results and files, all of which is hostile, and follows the table of sched/run_state.h. It knows neither HTTP (its
 * owner listens by struct run_handler) nor the pool (the engine gives it a sandbox by run_lease and tells it of the end
 * by run_sandbox_gone); what it wants of the spawner it asks of the engine by struct run_host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "run/call_end.h"
#include "run/claim_channel.h"
#include "run/egress_channel.h"
#include "run/ids.h"
#include "run/outcome.h"
#include "run/output.h"
#include "run/run_files.h"
#include "run/work_channel.h"
#include "sched/admission.h"
#include "sched/run_state.h"
#include "spawn/client.h"

struct run;

enum run_kind {
        RUN_SNIPPET,
        RUN_CALL,      /* of an agent's tool */
        RUN_DISCOVERY, /* of the tools that an agent has */
        RUN_IMPORT,    /* of an agent's image */
};

/* What is to be run. All memory is borrowed and must stay until the run has been answered. */
struct run_request {
        enum run_kind kind;
        struct sandbox_id image; /* of a call: what its sandbox is made from */
        int archive_fd;          /* of an import: what it reads, from its beginning, borrowed; -1: nothing */
        const char *code;        /* of a call or an import: the JSON that says what to do */
        size_t code_length;
        const char *stdin_bytes;
        size_t stdin_length;
        const struct work_input *inputs;
        size_t input_count;
        size_t memory_bytes; /* that the request holds while it waits */
        uint32_t timeout_ms;
        bool inline_files;
        bool keep_files; /* hold the contents of files until the run is freed: they go to the store */
        bool watched;     /* somebody wants output, results and files as they come */
        const char *lane; /* of the queue: the name of the project */
        struct session *session; /* whose call it is; NULL: it is none, and has its sandbox for itself */
};

struct run_limits {
        size_t output_keep_bytes;
        uint64_t output_max_bytes;
};

enum run_refusal {
        RUN_REFUSED_QUEUE_FULL,
        RUN_REFUSED_WAITED,   /* too long in the queue */
        RUN_REFUSED_STOPPING, /* the service stops */
        RUN_REFUSED_INPUT,    /* an input file does not fit: see run->input_error */
        RUN_REFUSED_MEMORY,   /* the service has none left for it */
        RUN_REFUSED_DELETED,  /* its conversation is gone */
        RUN_REFUSED_IMAGE,    /* the file of the agent's image is gone */
        RUN_REFUSED_ROOM,     /* no sandbox could be made */
};

enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

/* News for whoever asked for the run. None may free it; run_cancel is allowed. */
struct run_handler {
        /* For a run that is watched. What is passed is valid for the call. */
        void (*on_started)(struct run *run, void *data);
        void (*on_output)(struct run *run, void *data, enum run_stream stream, const char *bytes, size_t length);
        void (*on_result)(struct run *run, void *data, const struct rendered *result);
        void (*on_file)(struct run *run, void *data, const struct rendered *file);
        /* Exactly one of these is called, and nothing after it; after run_cancel none is. */
        void (*on_done)(struct run *run, void *data);
        void (*on_refused)(struct run *run, void *data, enum run_refusal why);
        /* Of an import, before those: hostile bytes, not yet known to be JSON. NULL: nobody wants them. */
        void (*on_progress)(struct run *run, void *data, const char *json, size_t length);
};

/* What a run needs of the engine. All of it only takes note: no other call of this header is made from within. */
struct run_host {
        void (*claim)(void *data, struct run *run);    /* start the sandbox's clock */
        void (*rest)(void *data, struct run *run);     /* a call is over: stop the clock; run_rested follows */
        void (*overflow)(void *data, struct run *run); /* end the sandbox for its output; run_sandbox_gone follows */
        void (*abandon)(void *data, struct run *run);  /* end the sandbox; the run wants to hear no more of it */
        void (*requeue)(void *data, struct run *run);  /* the run needs another sandbox, later */
        void (*finished)(void *data, struct run *run); /* answered or cancelled: run_free it, later */
};

struct run_setup {
        struct loop *loop;
        const struct run_request *request;
        struct run_limits limits;
        const struct run_handler *handler;
        void *handler_data;
        const struct run_host *host;
        void *host_data;
};

struct run_pipe {
        int fd;   /* owned; -1: at its end, and closed */
        int held; /* owned, or -1: the other end of a session's call, which says itself when it is over: its pipes need not */
        struct loop_source *source;
        struct output output;
};

struct run {
        struct run_setup setup;
        struct session *session; /* as in the request, which is gone when the run has been answered */
        enum run_kind kind;      /* the same */
        struct run_machine machine;
        struct admission_ticket ticket; /* the engine's */
        struct run *next;               /* the engine's, or while it waits its session's */
        bool held, let_go;              /* the engine's: somebody still reads it, though it is over */
        char id[ID_TEXT_BYTES];

        /* The sandbox, from run_lease on. */
        enum { RUN_NO_SANDBOX, RUN_HAS_SANDBOX, RUN_SANDBOX_GONE } hold; /* RUN_NO_SANDBOX again once it is abandoned */
        bool overflowed;                                                 /* the sandbox is being ended for its output */
        struct sandbox_id sandbox;
        char sandbox_id[ID_TEXT_BYTES];
        struct claim_channel claim;
        struct work_channel work;
        struct egress_channel egress;
        struct run_pipe pipes[RUN_STREAMS];
        bool channels_open; /* the four above are initialised */
        struct loop_source *timer;

        /* Of a session's call. */
        const struct work_batch *restore; /* old files to be put there first; see run_restore */
        bool restoring;
        bool collected, rested; /* what is due when the call is over */
        bool unusable;          /* the sandbox is of no use for another call */

        /* What came of it. */
        uint64_t queued_ns, claimed_ns, started_ns, ended_ns; /* points in time; 0: not yet */
        uint64_t making_ns; /* of a call: when its turn came, and its sandbox began to be made */
        unsigned rooms_failed; /* sandboxes for it that could not be made */
        int64_t started_at_ms;                                /* of the claim: since 1970, UTC */
        struct rendered_list results;
        struct run_files files;
        bool files_complete; /* the list of files has come to its end */
        struct spawn_exit end;
        struct outcome_of_run outcome; /* of a call: as its process ended; call_end_judge tells how the call did */
        struct call_end call_end;
        enum run_refusal refusal;
        struct {
                char name[FILE_NAME_MAX + 1];
                int error; /* positive errno */
        } input_error;
};

/* Makes what a next run or call of a session needs in any case, while nobody waits for it. */
void run_prepare(void);

/* A run with an id, that is to be queued. NULL without memory. */
struct run *run_new(const struct run_setup *setup);
/* Closes what is open. Not from within any callback of the run's. */
void run_free(struct run *run);

/* The engine gives it a sandbox that is parked; the descriptors are the run's from here on. */
void run_lease(struct run *run, struct sandbox_id sandbox, const int fds[SPAWN_READY_FDS]);
/*
 * The call of a session is to find these files in its working directory, which is new. Before run_lease; `batch` stays
 * with its owner.
 */
void run_restore(struct run *run, const struct work_batch *batch);
/* The clock of a session's call is stopped; this is what the call has used. */
void run_rested(struct run *run, uint64_t cpu_us, uint64_t memory_peak);
/* What it did is done, and stays so if its client goes away now. */
bool run_is_over(const struct run *run);
/*
 * The descriptors of a sandbox that outlives the run, for the next call. The places of those that are of no further use
 * are -1; late output of the call may still come from the pipes. Once the run is answered, or the sandbox abandoned.
 */
void run_give_back(struct run *run, int fds[SPAWN_READY_FDS]);

/* The sandbox has ended. */
void run_sandbox_gone(struct run *run, const struct spawn_exit *end);
/* It will get no sandbox. */
void run_refuse(struct run *run, enum run_refusal why);

/* Nobody waits for it any more. The handler is not called again. */
void run_cancel(struct run *run);
/* Stops and resumes the reading of output, for a watcher that does not keep up: the snippet then blocks as it prints. */
void run_pause_output(struct run *run, bool pause);
