/*
 * The egress channel: what the egress process decided about the connections of one sandbox.
 *
 * Runs in the api process. The other end is a process of the service, which reads what a sandbox sends; so its frames are
 * checked like those of the sandbox, and a bad one ends the reading. Host names in them are the sandbox's own words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "run/frame_reader.h"
#include "run/run_files.h"

struct egress_channel {
        struct loop *loop;
        int fd; /* owned; -1: there is none */
        struct loop_source *source;
        struct frame_reader reader;
        bool ended; /* nothing more will come */
        void (*on_ended)(void *data);
        void *data;
        struct rendered_list records; /* each the JSON of one decision */
        unsigned decisions[EGRESS_FAILED + 1];
        bool failed; /* one of them is not there, for want of memory */
};

/* Owns `fd` from here on; -1: a sandbox without network, whose channel is at its end. */
void egress_channel_init(struct egress_channel *channel, struct loop *loop, int fd, void (*on_ended)(void *data),
                         void *data);
void egress_channel_deinit(struct egress_channel *channel);

/* Reads from the loop from now on; on_ended follows. 0 or negative errno. */
int egress_channel_listen(struct egress_channel *channel);

const char *egress_decision_name(uint32_t decision);
