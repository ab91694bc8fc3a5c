/*
 * The api process's stub of the privilege boundary: what it may ask of the spawner, and the news that come back.
 *
 * Runs in the api process. The spawner is trusted, but the link is checked all the same: a message of another size,
 * type or version, or with another number of descriptors than its type has, means that the two programs do not belong
 * together, and ends the service as the loss of the spawner does.
 *
 * Nothing here waits: a request is one message on the socket, and every answer is a callback from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "spawn/proto.h"

struct spawn_client;

struct spawn_exit {
        struct sandbox_id sandbox;
        enum spawn_end reason;
        int wait_status;
        uint64_t cpu_us;
        uint64_t memory_peak;
        bool room_kept;  /* of a session: RENEW it, or KILL it; SPAWN_FD_WORK is still open */
        bool image_kept; /* of an import: there is an image under this sandbox's id, `image_bytes` long */
        uint64_t image_bytes;
};

struct spawn_template_news {
        enum spawn_template_state state;
        uint64_t generation;
        uint64_t forks;
};

/* All are called from the loop, with the `data` of spawn_client_new. None may free the client. */
struct spawn_handler {
        void (*on_hello)(void *data, uint32_t max_sandboxes);
        /*
         * The SPAWN_READY_FDS descriptors belong to the handler from here on. Those that did not come are -1: of a
         * snippet's sandbox SPAWN_FD_EGRESS, of a renewed one also SPAWN_FD_WORK, which the handler has already.
         */
        void (*on_ready)(void *data, uint64_t request, struct sandbox_id sandbox, const int *fds);
        void (*on_failed)(void *data, uint64_t request, uint32_t step, int error);
        void (*on_exited)(void *data, const struct spawn_exit *end);
        void (*on_template)(void *data, const struct spawn_template_news *news);
        /* The call is over: what it has used. */
        void (*on_rested)(void *data, struct sandbox_id sandbox, uint64_t cpu_us, uint64_t memory_peak);
        /* An image is on the disk, from an earlier run of the service; comes once for each, after on_hello. */
        void (*on_image)(void *data, struct sandbox_id image, uint64_t bytes);
        /* The operator has changed settings: `fd` holds a struct config_numbers, and stays the client's. May be NULL. */
        void (*on_settings)(void *data, uint32_t max_sandboxes, int fd);
        /* The spawner is gone or talks nonsense. Called once; nothing is called after it. */
        void (*on_lost)(void *data, const char *why);
};

/* `sock` is owned by the client from here on, also on failure. 0 or negative errno. */
int spawn_client_new(struct loop *loop, int sock, const struct spawn_handler *handler, void *data,
                     struct spawn_client **ret);
void spawn_client_free(struct spawn_client *client);

/*
 * Requests. They cannot fail: what the socket does not take at once is sent from the loop, in order, and when the
 * socket is dead the reading side notices and calls on_lost.
 */
void spawn_create(struct spawn_client *client, uint64_t request, enum spawn_profile profile);
/* A sandbox for one tool call, or for discovery, from an image that an import has made. Answered as spawn_create is. */
void spawn_create_call(struct spawn_client *client, uint64_t request, enum spawn_profile profile,
                       struct sandbox_id image);
/* Nobody needs this image any more. */
void spawn_image_drop(struct spawn_client *client, struct sandbox_id image);
void spawn_claim(struct spawn_client *client, struct sandbox_id sandbox, uint32_t timeout_ms,
                 uint32_t flags); /* enum spawn_claim_flags */
void spawn_rest(struct spawn_client *client, struct sandbox_id sandbox);
/* Answered as spawn_create is: by on_ready, with a new id, or by on_failed, after which the room is gone. */
void spawn_renew(struct spawn_client *client, uint64_t request, struct sandbox_id sandbox);
void spawn_kill(struct spawn_client *client, struct sandbox_id sandbox, enum spawn_end reason);

static inline int sandbox_id_equal(struct sandbox_id a, struct sandbox_id b) {
        return a.high == b.high && a.low == b.low;
}
