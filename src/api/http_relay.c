/*
 * One client connection: what goes back to the client, and how it ends; see http_front.h.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/http_channel.h"
#include "api/http_connection.h"
#include "api/http_error.h"
#include "base/cleanup.h"

#define STALL_NS (30 * NS_PER_S)      /* a client that takes nothing of a reply */
#define LINGER_NS (2 * NS_PER_S)      /* without a byte, after our side is closed */
#define LINGER_END_NS (15 * NS_PER_S) /* as a whole; long enough to let a large body pass by */
#define RELAY_ROUNDS 16               /* per wake-up, so that one connection does not hold up the others */

/* ---- what is watched */

static uint32_t wanted_events(const struct front_connection *c) {
        uint32_t events = c->out_used ? EPOLLOUT : 0;
        switch (c->phase) {
        case CONNECTION_IDLE:
        case CONNECTION_HEAD:
                return events | (c->input_ended || c->reply_left ? 0 : EPOLLIN);
        case CONNECTION_BODY:
                return events | (c->inner_blocked || c->input_ended ? 0 : EPOLLIN);
        case CONNECTION_REPLY:
                return events | (c->half_closed ? 0 : EPOLLRDHUP);
        case CONNECTION_LINGER:
                return events | (c->shut ? EPOLLIN : 0);
        }
        return events;
}

void connection_watch(struct front_connection *c) {
        if (c->dead)
                return;
        uint32_t events = wanted_events(c);
        if (events != c->events && loop_set_events(c->front->api->loop, c->source, events) == 0)
                c->events = events;
        if (!c->inner_source)
                return;
        uint32_t inner_events = (c->out_used ? 0 : EPOLLIN) | (c->inner_blocked ? EPOLLOUT : 0);
        if (inner_events != c->inner_events && loop_set_events(c->front->api->loop, c->inner_source, inner_events) == 0)
                c->inner_events = inner_events;
}

/* ---- the end */

void connection_close_inner(struct front_connection *c) {
        loop_remove(c->front->api->loop, &c->inner_source);
        if (c->channel)
                channel_detach(c->channel);
        c->channel = NULL;
        close_fd(&c->inner);
        c->inner_blocked = false;
}

void connection_close(struct front_connection *c) {
        struct front *front = c->front;
        if (c->dead)
                return;
        c->dead = true;
        connection_close_inner(c);
        loop_remove(front->api->loop, &c->kick);
        loop_remove(front->api->loop, &c->source);
        close_fd(&c->fd);

        if (c->previous)
                c->previous->next = c->next;
        else
                front->first = c->next;
        if (c->next)
                c->next->previous = c->previous;
        front->count--;
        c->next = front->dead;
        front->dead = c;
}

void connection_free(struct front_connection *c) {
        free(c->head.target);
        free(c->in);
        free(c->out);
        free(c);
}

void connection_lost(struct front_connection *c) {
        if (c->channel)
                channel_client_gone(c->channel);
        connection_close(c);
}

/*
 * Closing a socket with unread input makes the kernel send a reset, which may destroy the answer before the client has
 * read it (RFC 9112, 9.6). So close our side only, and throw away what comes for a while.
 */
void connection_linger(struct front_connection *c) {
        connection_close_inner(c);
        c->phase = CONNECTION_LINGER;
        c->in_used = 0;
        c->deadline_ns = 0;
        if (!c->out_used) {
                uint64_t now = clock_now_ns();
                if (shutdown(c->fd, SHUT_WR) < 0) {
                        connection_close(c);
                        return;
                }
                c->shut = true;
                c->deadline_ns = now + LINGER_NS;
                c->linger_end_ns = now + LINGER_END_NS;
        }
        connection_watch(c);
}

/* No more requests: what libmicrohttpd has written goes out, then our side is closed. */
void connection_finish(struct front_connection *c) {
        c->phase = CONNECTION_LINGER;
        c->in_used = 0;
        c->deadline_ns = 0; /* but that of a client which takes nothing stays */
        if (c->inner >= 0)
                shutdown(c->inner, SHUT_WR); /* it closes, and connection_relay() sees that */
        else
                connection_linger(c);
        connection_watch(c);
}

void connection_discard_input(struct front_connection *c) {
        for (int i = 0; i < RELAY_ROUNDS; i++) {
                ssize_t count = recv(c->fd, c->front->scratch, RELAY_BYTES, MSG_DONTWAIT);
                if (count < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (count <= 0) {
                        connection_close(c);
                        return;
                }
                uint64_t deadline = clock_now_ns() + LINGER_NS;
                c->deadline_ns = deadline < c->linger_end_ns ? deadline : c->linger_end_ns;
        }
}

/* ---- towards the client */

/* Sends what it can; keeps the rest. False: the client is gone. */
bool connection_send(struct front_connection *c, const char *bytes, size_t length) {
        assert(!c->out_used);
        ssize_t sent = send(c->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
                return false;
        size_t rest = length - (sent > 0 ? (size_t)sent : 0);
        if (!rest)
                return true;
        c->out = malloc(rest);
        if (!c->out)
                return false;
        memcpy(c->out, bytes + (length - rest), rest);
        c->out_used = rest;
        c->out_sent = 0;
        c->stall_deadline_ns = clock_now_ns() + STALL_NS;
        return true;
}

bool connection_flush(struct front_connection *c) {
        ssize_t sent = send(c->fd, c->out + c->out_sent, c->out_used - c->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
                return errno == EAGAIN || errno == EINTR;
        c->out_sent += (size_t)sent;
        c->stall_deadline_ns = clock_now_ns() + STALL_NS;
        if (c->out_sent == c->out_used) {
                free(TAKE_PTR(c->out));
                c->out_used = c->out_sent = 0;
                c->stall_deadline_ns = 0;
        }
        return true;
}

/* Passes on what libmicrohttpd wrote. May close the connection. */
void connection_relay(struct front_connection *c) {
        for (int i = 0; i < RELAY_ROUNDS && !c->out_used && c->inner >= 0; i++) {
                ssize_t count = recv(c->inner, c->front->scratch, RELAY_BYTES, MSG_DONTWAIT);
                if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
                        connection_all_relayed(c);
                        break;
                }
                if (count <= 0) { /* libmicrohttpd is done with this connection, with unread input or without */
                        connection_linger(c);
                        return;
                }
                c->reply_begun |= c->phase == CONNECTION_REPLY;
                if (!connection_send(c, c->front->scratch, (size_t)count)) {
                        connection_lost(c);
                        return;
                }
        }
        connection_watch(c);
}

void connection_refuse(struct front_connection *c, enum http_error kind, const char *message) {
        CLEANUP_FREE char *reply = NULL;
        size_t length;

        front_count_refusal(c->front, http_error_type(kind));
        connection_close_inner(c);
        if (!c->out_used) { /* else the client does not even read the answer to an earlier request */
                reply = http_error_raw(kind, message, &length);
                if (!reply || !connection_send(c, reply, length)) {
                        connection_close(c);
                        return;
                }
        }
        connection_linger(c);
}

void front_refuse(struct front_connection *c, enum http_error kind, const char *message) {
        if (!c->dead && c->phase == CONNECTION_BODY)
                connection_refuse(c, kind, message);
}
