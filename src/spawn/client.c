/* Stub of the privilege boundary; see client.h and proto.h. */
#include "spawn/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "base/log.h"

/*
 * Requests that the socket has not taken yet. A sandbox has at most three in its life or for each call of a session,
 * and the numbers of both are bounded, so a full outbox means that the spawner has stopped reading.
 */
#define OUTBOX_MAX 4096
/* Messages read in one go, so that news from the spawner cannot starve the rest of the loop. */
#define MESSAGES_A_ROUND 32

struct spawn_client {
        struct loop *loop;
        int sock;
        struct loop_source *source;
        const struct spawn_handler *handler;
        void *data;
        bool greeted; /* the first message has been seen */
        bool lost;
        struct spawn_message *outbox; /* `out_count` messages from `out_first` on; allocated when first needed */
        size_t out_first, out_count;
};

static void lose(struct spawn_client *client, const char *why) {
        if (client->lost)
                return;
        client->lost = true;
        loop_remove(client->loop, &client->source);
        client->handler->on_lost(client->data, why);
}

/* May so many descriptors come with this type? */
static bool descriptors_fit(uint32_t type, size_t count) {
        if (type == SPAWN_READY)
                return count >= SPAWN_RENEWED_FDS && count <= SPAWN_READY_FDS;
        return count == (type == SPAWN_SETTINGS ? 1 : 0);
}

static bool is_news(uint32_t type) {
        return type >= SPAWN_HELLO && type <= SPAWN_SETTINGS;
}

static const char *check(const struct spawn_client *client, const struct spawn_message *message, size_t fd_count) {
        if (message->version != SPAWN_PROTOCOL_VERSION)
                return "the spawner speaks another version of the protocol: install both programs from one build";
        if (!client->greeted && message->type != SPAWN_HELLO)
                return "the spawner's first message was not its greeting";
        if (!is_news(message->type))
                return "the spawner sent a message of an unknown type";
        if (!descriptors_fit(message->type, fd_count))
                return "the spawner sent another number of descriptors than the message needs";
        if (message->type == SPAWN_EXITED && (message->reason < SPAWN_END_EXIT || message->reason > SPAWN_END_LOST))
                return "the spawner gave an unknown reason for the end of a sandbox";
        if (message->room_kept > (message->type == SPAWN_EXITED ? 1u : 0u))
                return "the spawner said something else than yes or no of a kept room";
        if (message->image_kept > (message->type == SPAWN_EXITED ? 1u : 0u))
                return "the spawner said something else than yes or no of a kept image";
        if (message->type == SPAWN_TEMPLATE &&
            (message->template_state < SPAWN_TEMPLATE_STARTING || message->template_state > SPAWN_TEMPLATE_FAILED))
                return "the spawner reported an unknown state of the template";
        return NULL;
}

static void dispatch(struct spawn_client *client, const struct spawn_message *message, const int *fds,
                     size_t fd_count) {
        const struct spawn_handler *handler = client->handler;
        int ready[SPAWN_READY_FDS];
        switch (message->type) {
        case SPAWN_HELLO:
                client->greeted = true;
                handler->on_hello(client->data, message->max_sandboxes);
                break;
        case SPAWN_READY:
                for (size_t i = 0; i < SPAWN_READY_FDS; i++)
                        ready[i] = i < fd_count ? fds[i] : -1;
                handler->on_ready(client->data, message->request, message->sandbox, ready);
                break;
        case SPAWN_CREATE_FAILED:
                handler->on_failed(client->data, message->request, message->step, message->error);
                break;
        case SPAWN_EXITED:
                handler->on_exited(client->data, &(struct spawn_exit){
                                                         .sandbox = message->sandbox,
                                                         .reason = (enum spawn_end)message->reason,
                                                         .wait_status = message->wait_status,
                                                         .cpu_us = message->cpu_us,
                                                         .memory_peak = message->memory_peak,
                                                         .room_kept = message->room_kept == 1,
                                                         .image_kept = message->image_kept == 1,
                                                         .image_bytes = message->image_bytes,
                                                 });
                break;
        case SPAWN_TEMPLATE:
                handler->on_template(client->data, &(struct spawn_template_news){
                                                           .state = (enum spawn_template_state)message->template_state,
                                                           .generation = message->template_generation,
                                                           .forks = message->template_forks,
                                                   });
                break;
        case SPAWN_RESTED:
                handler->on_rested(client->data, message->sandbox, message->cpu_us, message->memory_peak);
                break;
        case SPAWN_IMAGE:
                if (handler->on_image) /* who makes no calls needs none */
                        handler->on_image(client->data, message->image, message->image_bytes);
                break;
        case SPAWN_SETTINGS:
                if (handler->on_settings)
                        handler->on_settings(client->data, message->max_sandboxes, fds[0]);
                close(fds[0]);
                break;
        }
}

/* Takes one message. False: there is none, or there will be none any more. */
static bool receive(struct spawn_client *client) {
        struct spawn_message message;
        int fds[FDPASS_MAX];
        size_t fd_count;

        ssize_t got = fdpass_recv(client->sock, &message, sizeof(message), fds, FDPASS_MAX, &fd_count);
        if (got == -EAGAIN)
                return false;
        const char *wrong = NULL;
        if (got == 0 || got == -ECONNRESET)
                wrong = "the spawner has ended";
        else if (got != (ssize_t)sizeof(message))
                wrong = "the spawner sent a message of another size";
        else
                wrong = check(client, &message, fd_count);
        if (wrong) {
                for (size_t i = 0; got > 0 && i < fd_count; i++)
                        close(fds[i]);
                lose(client, wrong);
                return false;
        }
        dispatch(client, &message, fds, fd_count);
        return !client->lost;
}

/* True: the socket took it, or is dead, which the reading side will find out. */
static bool send_now(struct spawn_client *client, const struct spawn_message *message) {
        int r = fdpass_send(client->sock, message, sizeof(*message), NULL, 0);
        if (r < 0 && r != -EAGAIN && r != -EPIPE && r != -ECONNRESET)
                log_warning("a request to the spawner could not be sent", "error", log_errno(r));
        return r != -EAGAIN;
}

static void flush(struct spawn_client *client) {
        while (client->out_count > 0 && send_now(client, &client->outbox[client->out_first])) {
                client->out_first = (client->out_first + 1) % OUTBOX_MAX;
                client->out_count--;
        }
        if (client->out_count == 0)
                loop_set_events(client->loop, client->source, EPOLLIN);
}

static void on_socket(void *data, int fd, uint32_t events) {
        struct spawn_client *client = data;
        (void)fd;
        if ((events & EPOLLOUT) && client->out_count > 0)
                flush(client);
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                for (int i = 0; i < MESSAGES_A_ROUND && receive(client); i++)
                        ;
}

static void post(struct spawn_client *client, const struct spawn_message *message) {
        if (client->lost || (client->out_count == 0 && send_now(client, message)))
                return;
        if (!client->outbox)
                client->outbox = calloc(OUTBOX_MAX, sizeof(*client->outbox));
        if (!client->outbox || client->out_count == OUTBOX_MAX) {
                log_error("the spawner does not read its messages");
                shutdown(client->sock,
                         SHUT_RDWR); /* the loop reads the end and reports the loss: no callback from here */
                return;
        }
        client->outbox[(client->out_first + client->out_count++) % OUTBOX_MAX] = *message;
        if (client->out_count == 1)
                loop_set_events(client->loop, client->source, EPOLLIN | EPOLLOUT);
}

int spawn_client_new(struct loop *loop, int sock, const struct spawn_handler *handler, void *data,
                     struct spawn_client **ret) {
        struct spawn_client *client = calloc(1, sizeof(*client));
        if (!client) {
                close(sock);
                return -ENOMEM;
        }
        *client = (struct spawn_client){.loop = loop, .sock = sock, .handler = handler, .data = data};

        int flags = fcntl(sock, F_GETFL);
        int r = flags < 0 || fcntl(sock, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
        if (r == 0)
                r = loop_add_fd(loop, sock, EPOLLIN, on_socket, client, &client->source);
        if (r < 0) {
                spawn_client_free(client);
                return r;
        }
        *ret = client;
        return 0;
}

void spawn_client_free(struct spawn_client *client) {
        if (!client)
                return;
        loop_remove(client->loop, &client->source);
        close_fd(&client->sock);
        free(client->outbox);
        free(client);
}

void spawn_create(struct spawn_client *client, uint64_t request, enum spawn_profile profile) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_CREATE,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .request = request,
                             .profile = profile,
                     });
}

void spawn_create_call(struct spawn_client *client, uint64_t request, enum spawn_profile profile,
                       struct sandbox_id image) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_CREATE,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .request = request,
                             .profile = profile,
                             .image = image,
                     });
}

void spawn_image_drop(struct spawn_client *client, struct sandbox_id image) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_IMAGE_DROP,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .image = image,
                     });
}

void spawn_claim(struct spawn_client *client, struct sandbox_id sandbox, uint32_t timeout_ms, uint32_t flags) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_CLAIM,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .sandbox = sandbox,
                             .timeout_ms = timeout_ms,
                             .flags = flags,
                     });
}

void spawn_rest(struct spawn_client *client, struct sandbox_id sandbox) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_REST,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .sandbox = sandbox,
                     });
}

void spawn_renew(struct spawn_client *client, uint64_t request, struct sandbox_id sandbox) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_RENEW,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .request = request,
                             .sandbox = sandbox,
                     });
}

void spawn_kill(struct spawn_client *client, struct sandbox_id sandbox, enum spawn_end reason) {
        post(client, &(struct spawn_message){
                             .type = SPAWN_KILL,
                             .version = SPAWN_PROTOCOL_VERSION,
                             .sandbox = sandbox,
                             .reason = reason,
                     });
}
