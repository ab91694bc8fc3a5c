/*
 * The work channel: input files to the room's init before the run, the files that the snippet wrote after it.
 *
 * Runs in the api process. Init is our own small program, but it runs as the sandbox's user inside the sandbox, so its
 * frames are hostile: sizes, counts and names are checked here again, and a bad frame ends the reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/frame_reader.h"
#include "base/loop.h"

struct work_input {
        const char *name; /* not NUL-terminated by contract */
        size_t name_length;
        const char *bytes;
        size_t size;
};

struct work_file {
        const char *name; /* borrowed for the call; bytes of any kind but NUL, name_length of them */
        size_t name_length;
        uint64_t size;
        const char *bytes;        /* what it holds; NULL for one that was skipped */
        char **block;             /* the malloc()ed memory of `bytes`, for who wants to take it; NULL: not to be had */
        enum skip_reason skipped; /* why; 0 for one that was not */
};

struct work_handler {
        /* All inputs were tried. `failed_name` is NULL, or names the first that did not fit, with a positive errno. */
        void (*on_inputs_tried)(void *data, const char *failed_name, size_t name_length, int error);
        void (*on_file)(void *data, const struct work_file *file);
        void (*on_files_end)(void *data, const struct files_end *end);
};

/* Inputs that go together: all that failed of a batch is told at once. */
struct work_batch {
        const struct work_input *inputs;
        size_t count;
        uint32_t flags; /* enum inputs_flags */
};

struct work_channel {
        struct loop *loop;
        int fd; /* owned; -1: closed */
        struct loop_source *source;
        const struct work_handler *handler;
        void *data;
        struct frame_reader reader;
        bool ended;               /* nothing more will be read */
        bool listening_to_inputs; /* FRAME_INPUT_FAILED and FRAME_INPUTS_END are due */
        char failed_name[FILE_NAME_MAX];
        size_t failed_name_length;
        int failed_error;
        unsigned files, skipped;
        uint64_t files_bytes;
        bool complete;                   /* FRAME_FILES_END has come */
        struct work_batch batch;         /* borrowed while it is sent */
        size_t input;                    /* is being sent; batch.count: the end frame */
        size_t sent;                     /* of that frame, header included */
};

void work_channel_init(struct work_channel *channel, struct loop *loop, int fd, const struct work_handler *handler,
                       void *data);
void work_channel_deinit(struct work_channel *channel);
/*
 * Instead of deinit: gives the descriptor back for the session's next call; -1 if the channel is of no further use. What
 * it may still hold is to be read and thrown away.
 */
int work_channel_release(struct work_channel *channel);

/* Sends inputs, which must stay until on_inputs_tried, from the loop. One batch at a time. 0 or negative errno. */
int work_channel_send_inputs(struct work_channel *channel, struct work_batch batch);

/* Asks for the files that a call of a session has changed, and listens for them. 0 or negative errno. */
int work_channel_collect(struct work_channel *channel);

/* Listens for files; call it at the claim. 0 or negative errno. */
int work_channel_listen(struct work_channel *channel);

/* Reads what is left when the sandbox is known to be gone. True: there is nothing more to come. */
bool work_channel_drain(struct work_channel *channel);

/* A path below the working directory as init hands it over: see frames.h. For names from outside, see input_names.h. */
bool work_name_is_good(const char *name, size_t length);
