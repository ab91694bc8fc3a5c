/*
 * Messages from the api process: checked field by field, answered by one function each.
 *
 * Runs in the spawner, as root. The sender is taken for hostile: a message that is not exactly right ends the service,
 * because the api process that this project wrote does not send one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "spawner/images.h"
#include "spawner/sandbox.h"

static int answer_create(struct spawner *spawner, const struct spawn_message *in) {
        const struct profile *profile = profile_find(in->profile);
        bool names_image = in->image.high != 0 || in->image.low != 0;
        if (!profile || names_image != profile->own_image)
                return -EPROTO;
        int r = -EAGAIN;
        if (spawner->sandbox_count < spawner->sandbox_max)
                r = sandbox_create(spawner, profile, in->image, in->request);
        if (r < 0) {
                struct spawn_message out = {.type = SPAWN_CREATE_FAILED, .request = in->request, .error = -r};
                service_send(spawner, &out, NULL, 0);
        }
        return 0;
}

/* An id that is unknown may have ended a moment ago, with SPAWN_EXITED on its way: no reason to end the service. */
static int answer_claim(struct spawner *spawner, const struct spawn_message *in) {
        if (in->timeout_ms == 0 || in->timeout_ms > SPAWN_IMPORT_TIMEOUT_MAX_MS ||
            (in->flags & ~(uint32_t)SPAWN_CLAIM_SESSION))
                return -EPROTO;
        struct sandbox *sandbox = sandbox_find(spawner, in->sandbox);
        return sandbox ? sandbox_claim(sandbox, in->timeout_ms, in->flags & SPAWN_CLAIM_SESSION) : 0;
}

static int answer_rest(struct spawner *spawner, const struct spawn_message *in) {
        struct sandbox *sandbox = sandbox_find(spawner, in->sandbox);
        return sandbox ? sandbox_rest(sandbox) : 0;
}

/* A room that was kept may have ended a moment ago: whoever asks for it is answered all the same. */
static int answer_renew(struct spawner *spawner, const struct spawn_message *in) {
        struct sandbox *sandbox = sandbox_find(spawner, in->sandbox);
        if (sandbox && sandbox->state == SANDBOX_KEPT) {
                sandbox_renew(sandbox, in->request);
                return 0;
        }
        if (sandbox && sandbox->state != SANDBOX_ENDING)
                return -EPROTO;
        struct spawn_message out = {.type = SPAWN_CREATE_FAILED, .request = in->request, .error = ESRCH};
        service_send(spawner, &out, NULL, 0);
        return 0;
}

static int answer_kill(struct spawner *spawner, const struct spawn_message *in) {
        if (in->reason != SPAWN_END_OUTPUT && in->reason != SPAWN_END_CANCELLED && in->reason != SPAWN_END_RETIRED)
                return -EPROTO;
        struct sandbox *sandbox = sandbox_find(spawner, in->sandbox);
        if (sandbox)
                sandbox_end(sandbox, in->reason);
        return 0;
}

static int answer_image_drop(struct spawner *spawner, const struct spawn_message *in) {
        images_drop(spawner, in->image);
        return 0;
}

static const struct {
        uint32_t type;
        int (*answer)(struct spawner *spawner, const struct spawn_message *in);
} requests[] = {
        {SPAWN_CREATE, answer_create},
        {SPAWN_CLAIM, answer_claim},
        {SPAWN_KILL, answer_kill},
        {SPAWN_REST, answer_rest},
        {SPAWN_RENEW, answer_renew},
        {SPAWN_IMAGE_DROP, answer_image_drop},
};

static int dispatch(struct spawner *spawner, const struct spawn_message *in) {
        if (in->version != SPAWN_PROTOCOL_VERSION)
                return -EPROTO;
        for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
                if (requests[i].type == in->type)
                        return requests[i].answer(spawner, in);
        return -EPROTO;
}

void requests_on_readable(void *data, int fd, uint32_t events) {
        struct spawner *spawner = data;
        (void)events;
        for (;;) {
                struct spawn_message in;
                size_t fd_count = 0;
                ssize_t got = fdpass_recv(fd, &in, sizeof(in), NULL, 0, &fd_count);
                if (got == -EAGAIN)
                        return;
                int r = got == 0                     ? -ECONNRESET
                        : got < 0                    ? (int)got
                        : got != (ssize_t)sizeof(in) ? -EPROTO
                                                     : dispatch(spawner, &in);
                if (r >= 0)
                        continue;
                loop_remove(spawner->loop, &spawner->api_source);
                if (spawner->api_pid > 0)
                        kill(spawner->api_pid, SIGKILL); /* it hung up or is not what it should be: no second chance */
                if (r != -ECONNRESET)
                        log_error("the api process sent a malformed message; the service ends", "error", strerror(-r));
                spawner_stop(spawner, r == -ECONNRESET ? 0 : 1);
                return;
        }
}
