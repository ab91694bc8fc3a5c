/*
 * The claim channel: hands a sandbox its code and hears from the runner.
 *
 * Runs in the api process. After the code has been sent, everything that comes from the other end is hostile: the
 * snippet can reach the runner's memory, so frames are only ever believed about the snippet itself. Bad frames, and
 * results past a limit, end the reading; the run goes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "run/frame_reader.h"
#include "base/loop.h"

struct claim_handler {
        void (*on_started)(void *data);
        /* One result: a MIME map as compact JSON, which belongs to the handler (free). */
        void (*on_result)(void *data, char *json, size_t length);
        /* The call of a session is over; nothing more is read until the next one. NULL for a run that is none. */
        void (*on_call_over)(void *data, int exit_code);
        /* A tool call or an import says what came of it, once. NULL bytes: with more of them than are read. */
        void (*on_call_end)(void *data, const char *json, size_t length);
        /* How far an import is: any bytes, not yet known to be JSON. */
        void (*on_progress)(void *data, const char *json, size_t length);
};

struct claim_channel {
        struct loop *loop;
        int fd; /* owned; -1: closed */
        struct loop_source *source;
        const struct claim_handler *handler;
        void *data;
        struct frame_reader reader;
        bool ended;   /* nothing more will be read */
        bool started; /* FRAME_STARTED has come */
        unsigned results;
        size_t results_bytes;
        bool over;    /* FRAME_CELL_END or FRAME_CALL_END has come */
        bool broken;  /* a bad frame came, or the other end is closed: of no use for another call */
        struct frame head;    /* of the code frame */
        const char *code;     /* borrowed until all is sent */
        size_t to_send, sent; /* of head and code together */
        int fds[CELL_FDS];    /* owned until they are sent, with the first byte */
        unsigned fd_count;
};

void claim_channel_init(struct claim_channel *channel, struct loop *loop, int fd, const struct claim_handler *handler,
                        void *data);
void claim_channel_deinit(struct claim_channel *channel);
/* Instead of deinit, before a call or after on_call_over: gives the descriptor back for the session's next call, or -1. */
int claim_channel_release(struct claim_channel *channel);

/*
 * Sends the code and the descriptors (taken over as said above; `code` must stay until the channel is deinitialised),
 * as much at once as the socket takes and the rest from the loop, and starts to listen. FRAME_CODE and FRAME_CALL take one
 * descriptor, standard input; FRAME_CELL takes CELL_FDS of them. 0 or negative errno.
 */
int claim_channel_send(struct claim_channel *channel, enum frame_type type, const char *code, size_t length,
                       const int *fds);

/* Reads what is left when the sandbox is known to be gone. True: there is nothing more to come. */
bool claim_channel_drain(struct claim_channel *channel);
