/* One client connection: reading, checking, passing on, closing; see http_front.h. */
#include "api/http_connection.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/http_channel.h"
#include "api/http_error.h"
#include "base/cleanup.h"
#include "base/config.h"

#define IDLE_NS (75 * NS_PER_S)       /* between two requests */
#define STALL_NS (30 * NS_PER_S)      /* a client that takes nothing of a reply */
#define LINGER_NS (2 * NS_PER_S)      /* without a byte, after our side is closed */
#define LINGER_END_NS (15 * NS_PER_S) /* as a whole; long enough to let a large body pass by */
#define ASK_AGAIN_NS (2 * NS_PER_S)
#define RELAY_ROUNDS 16 /* per wake-up, so that one connection does not hold up the others */

static void on_inner(void *data, int fd, uint32_t events);

/* ---- what is watched */

static uint32_t wanted_events(const struct front_connection *c) {
        uint32_t events = c->out_used ? EPOLLOUT : 0;
        switch (c->phase) {
        case CONNECTION_IDLE:
        case CONNECTION_HEAD:
                return events | (c->input_ended ? 0 : EPOLLIN);
        case CONNECTION_BODY:
                return events | (c->inner_blocked || c->input_ended ? 0 : EPOLLIN);
        case CONNECTION_REPLY:
                return events | (c->half_closed ? 0 : EPOLLRDHUP);
        case CONNECTION_LINGER:
                return events | (c->shut ? EPOLLIN : 0);
        }
        return events;
}

static void watch(struct front_connection *c) {
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

static void close_inner(struct front_connection *c) {
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
        close_inner(c);
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

static void lost(struct front_connection *c) {
        if (c->channel)
                channel_client_gone(c->channel);
        connection_close(c);
}

/*
 * Closing a socket with unread input makes the kernel send a reset, which may destroy the answer before the client has
 * read it (RFC 9112, 9.6). So close our side only, and throw away what comes for a while.
 */
static void linger(struct front_connection *c) {
        close_inner(c);
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
        watch(c);
}

/* No more requests: what libmicrohttpd has written goes out, then our side is closed. */
static void finish(struct front_connection *c) {
        c->phase = CONNECTION_LINGER;
        c->in_used = 0;
        c->deadline_ns = 0; /* but that of a client which takes nothing stays */
        if (c->inner >= 0)
                shutdown(c->inner, SHUT_WR); /* it closes, and relay() sees that */
        else
                linger(c);
        watch(c);
}

static void discard_input(struct front_connection *c) {
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
static bool send_out(struct front_connection *c, const char *bytes, size_t length) {
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

static bool flush_out(struct front_connection *c) {
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
static void relay(struct front_connection *c) {
        for (int i = 0; i < RELAY_ROUNDS && !c->out_used && c->inner >= 0; i++) {
                ssize_t count = recv(c->inner, c->front->scratch, RELAY_BYTES, MSG_DONTWAIT);
                if (count < 0 && (errno == EAGAIN || errno == EINTR))
                        break;
                if (count <= 0) { /* libmicrohttpd is done with this connection, with unread input or without */
                        linger(c);
                        return;
                }
                c->reply_begun |= c->phase == CONNECTION_REPLY;
                if (!send_out(c, c->front->scratch, (size_t)count)) {
                        lost(c);
                        return;
                }
        }
        watch(c);
}

static void refuse(struct front_connection *c, enum http_error kind, const char *message) {
        CLEANUP_FREE char *reply = NULL;
        size_t length;

        front_count_refusal(c->front, http_error_type(kind));
        close_inner(c);
        if (!c->out_used) { /* else the client does not even read the answer to an earlier request */
                reply = http_error_raw(kind, message, &length);
                if (!reply || !send_out(c, reply, length)) {
                        connection_close(c);
                        return;
                }
        }
        linger(c);
}

void front_refuse(struct front_connection *c, enum http_error kind, const char *message) {
        if (!c->dead && c->phase == CONNECTION_BODY)
                refuse(c, kind, message);
}

/* ---- from the client */

static bool open_inner(struct front_connection *c) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return false;
        c->inner = pair[0];
        c->channel = channel_open(c->front->server, pair[1], c);
        if (c->channel && loop_add_fd(c->front->api->loop, c->inner, EPOLLIN, on_inner, c, &c->inner_source) == 0) {
                c->inner_events = EPOLLIN;
                return true;
        }
        close_inner(c);
        return false;
}

static void consume(struct front_connection *c, size_t count) {
        c->in_used -= count;
        if (c->in_used)
                memmove(c->in, c->in + count, c->in_used);
}

/* The head fits into the empty socket pair whole: libmicrohttpd has read all of the request before. */
static bool send_head(struct front_connection *c) {
        static const char close_header[] = "Connection: close\r\n";
        const char *line = c->in + c->guard.start;
        size_t length = c->guard.head_length - c->guard.start;
        size_t first = (size_t)((const char *)memchr(line, '\n', length) - line) + 1;
        /* The front does not parse chunks, so it cannot tell what follows a chunked body: nothing may. */
        struct iovec parts[] = {
                {(void *)(uintptr_t)line, first},
                {(void *)(uintptr_t)close_header, c->guard.chunked ? sizeof(close_header) - 1 : 0},
                {(void *)(uintptr_t)(line + first), length - first},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
        size_t whole = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;
        return sendmsg(c->inner, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)whole;
}

static void begin_request(struct front_connection *c) {
        const struct guard *guard = &c->guard;
        free(c->head.target);
        c->head = (struct front_head){
                .target = strndup(c->in + guard->target, guard->target_length),
                .has_body = guard->chunked || guard->content_length,
                .chunked = guard->chunked,
                .content_length = guard->content_length,
                .received_ns = c->head.received_ns,
        };
        c->body_left = guard->content_length;
        c->phase = c->head.has_body ? CONNECTION_BODY : CONNECTION_REPLY;
        if (!c->head.target || (c->inner < 0 && !open_inner(c))) {
                refuse(c, HTTP_OVERLOADED, "The service has no resources left for this request; try again.");
                return;
        }
        if (!send_head(c)) {
                lost(c);
                return;
        }
        consume(c, guard->head_length);
}

/* Passes on what has come of the body. */
static void pump_body(struct front_connection *c) {
        size_t count = c->in_used;
        if (!c->guard.chunked && count > c->body_left)
                count = (size_t)c->body_left;
        if (count) {
                ssize_t sent = send(c->inner, c->in, count, MSG_DONTWAIT | MSG_NOSIGNAL);
                if (sent < 0 && errno != EAGAIN && errno != EINTR)
                        sent = (ssize_t)count; /* it has answered early and closed: relay() will see the end */
                c->inner_blocked = sent < (ssize_t)count;
                if (sent > 0) {
                        consume(c, (size_t)sent);
                        if (!c->guard.chunked)
                                c->body_left -= (uint64_t)sent;
                }
        }
        if (!c->guard.chunked && c->body_left == 0)
                c->phase = CONNECTION_REPLY;
}

static void process_head(struct front_connection *c) {
        if (c->phase == CONNECTION_IDLE) {
                uint64_t now = clock_now_ns();
                c->phase = CONNECTION_HEAD;
                c->guard = (struct guard){.head_length = 0};
                c->reply_begun = false;
                c->ask_ns = 0;
                c->head.received_ns = now;
                c->deadline_ns = now + (uint64_t)c->front->api->config->request_timeout_s * NS_PER_S;
        }
        switch (guard_feed(&c->guard, c->in, c->in_used)) {
        case GUARD_MORE:
                break;
        case GUARD_COMPLETE:
                begin_request(c);
                break;
        case GUARD_REFUSED:
                refuse(c, c->guard.kind, c->guard.reason);
                break;
        }
}

static void process_input(struct front_connection *c) {
        if (c->in_used && (c->phase == CONNECTION_IDLE || c->phase == CONNECTION_HEAD))
                process_head(c);
        if (!c->dead && c->phase == CONNECTION_BODY)
                pump_body(c);
        if (!c->dead && !c->in_used)
                free(TAKE_PTR(c->in));
        if (!c->dead && c->input_ended && (c->phase == CONNECTION_IDLE || c->phase == CONNECTION_HEAD))
                finish(c);
        else
                watch(c);
}

/*
 * The end of what the client sends. Requests that came before it are still answered; half a request never is. Whether a
 * chunked body is complete, libmicrohttpd knows: it calls front_body_done if so, within a moment.
 */
static void end_of_input(struct front_connection *c) {
        uint64_t soon = clock_now_ns() + LINGER_NS;
        c->half_closed = c->input_ended = true;
        if (c->phase == CONNECTION_HEAD || (c->phase == CONNECTION_BODY && !c->guard.chunked)) {
                lost(c);
                return;
        }
        if (c->phase == CONNECTION_BODY && soon < c->deadline_ns)
                c->deadline_ns = soon;
        process_input(c);
}

static void read_input(struct front_connection *c) {
        if (!c->in && !(c->in = malloc(RELAY_BYTES))) {
                connection_close(c);
                return;
        }
        if (c->in_used == RELAY_BYTES)
                return;
        ssize_t count = recv(c->fd, c->in + c->in_used, RELAY_BYTES - c->in_used, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (count < 0) {
                lost(c);
        } else if (count == 0) {
                end_of_input(c);
        } else {
                c->in_used += (size_t)count;
                process_input(c);
        }
}

static void on_socket(void *data, int fd, uint32_t events) {
        struct front_connection *c = data;
        (void)fd;
        if (events & (EPOLLERR | EPOLLHUP)) {
                lost(c);
                return;
        }
        if (events & EPOLLOUT && c->out_used) {
                if (!flush_out(c)) {
                        lost(c);
                        return;
                }
                if (c->phase == CONNECTION_LINGER && !c->out_used && c->inner < 0)
                        linger(c);
        }
        if (!c->dead && events & EPOLLRDHUP && !c->half_closed) {
                c->half_closed = true;
                c->ask_ns = 0;
        }
        if (!c->dead && events & EPOLLIN) {
                if (c->phase == CONNECTION_LINGER)
                        discard_input(c);
                else if (c->phase != CONNECTION_REPLY)
                        read_input(c);
        }
        watch(c);
}

static void on_inner(void *data, int fd, uint32_t events) {
        struct front_connection *c = data;
        (void)fd;
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                relay(c);
        if (!c->dead && events & EPOLLOUT && c->phase == CONNECTION_BODY) {
                pump_body(c);
                watch(c);
        }
}

/* ---- news from libmicrohttpd's side */

void front_body_done(struct front_connection *c) {
        if (c->dead || (c->phase != CONNECTION_BODY && c->phase != CONNECTION_REPLY))
                return;
        c->phase = CONNECTION_REPLY;
        c->deadline_ns = 0; /* not before: should libmicrohttpd wait for more than the guard found, this ends it */
        watch(c);
}

static void on_kick(void *data) {
        struct front_connection *c = data;
        c->kick = NULL;
        relay(c);
        if (c->dead || c->phase != CONNECTION_IDLE)
                return;
        if (c->front->draining)
                finish(c);
        else
                process_input(c);
}

void front_request_done(struct front_connection *c) {
        /* In the middle of a body it has answered early: it will close, and relay() sees that. */
        if (c->dead || c->phase != CONNECTION_REPLY)
                return;
        c->phase = CONNECTION_IDLE;
        c->deadline_ns = clock_now_ns() + IDLE_NS;
        if ((c->in_used || c->input_ended || c->front->draining) && !c->kick)
                loop_add_timer(c->front->api->loop, 0, on_kick, c, &c->kick);
        watch(c);
}

void connection_drain(struct front_connection *c) {
        if (c->phase == CONNECTION_IDLE)
                relay(c);
        if (!c->dead && c->phase == CONNECTION_IDLE && !c->out_used)
                connection_close(c);
}

/* ---- clocks */

/* Behind input that is not read yet, an end of the client's side may hide. */
static bool may_be_gone(const struct front_connection *c) {
        int unread = 0;
        return c->half_closed || c->in_used || (ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0);
}

/* More than once: a client that could still read when it was asked may close later, and nothing tells of that. */
static void ask_whether_there(struct front_connection *c, uint64_t now) {
        static const char question[] = "HTTP/1.1 100 Continue\r\n\r\n";
        bool possible = !c->reply_begun && !c->guard.http_1_0 && !c->out_used;
        c->ask_ns = now + ASK_AGAIN_NS;
        if (!may_be_gone(c))
                return;
        if (possible ? !send_out(c, question, sizeof(question) - 1) : c->half_closed)
                lost(c);
}

void connection_sweep(struct front_connection *c, uint64_t now) {
        if (c->stall_deadline_ns && now >= c->stall_deadline_ns) {
                front_count_refusal(c->front, "stalled");
                lost(c);
                return;
        }
        if (c->phase == CONNECTION_REPLY && now >= c->ask_ns && channel_is_waiting(c->channel)) {
                ask_whether_there(c, now);
                return;
        }
        if (!c->deadline_ns || now < c->deadline_ns)
                return;
        if (c->reply_begun)
                lost(c);
        else if (c->phase != CONNECTION_IDLE && c->phase != CONNECTION_LINGER)
                refuse(c, HTTP_REQUEST_TIMEOUT,
                       "Headers and body did not arrive within the time for a request "
                       "(SANDBOX_REQUEST_TIMEOUT_SECONDS).");
        else
                connection_close(c);
}

/* ---- the beginning */

/* Limits count IPv4 addresses whole and IPv6 addresses by /64, the least that one customer is given. */
static void set_address(struct front_connection *c, const struct sockaddr *address) {
        static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
        struct in_addr v4 = {0};
        bool is_v4 = address->sa_family == AF_INET;
        if (is_v4)
                v4 = ((const struct sockaddr_in *)(const void *)address)->sin_addr;
        else if (address->sa_family == AF_INET6) {
                c->address = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
                inet_ntop(AF_INET6, &c->address, c->client, sizeof(c->client));
                is_v4 = memcmp(&c->address, mapped, sizeof(mapped)) == 0;
                memcpy(&v4, (const char *)&c->address + 12, sizeof(v4));
                memset((char *)&c->address + 8, 0, 8);
        }
        if (is_v4) {
                inet_ntop(AF_INET, &v4, c->client, sizeof(c->client));
                memcpy(&c->address, mapped, sizeof(mapped));
                memcpy((char *)&c->address + 12, &v4, sizeof(v4));
        }
}

int connection_new(struct front *front, int fd, const struct sockaddr *address, struct front_connection **ret) {
        struct front_connection *c = calloc(1, sizeof(*c));
        if (!c) {
                close(fd);
                return -ENOMEM;
        }
        *c = (struct front_connection){.front = front, .fd = fd, .inner = -1, .events = EPOLLIN};
        set_address(c, address);
        c->deadline_ns = clock_now_ns() + (uint64_t)front->api->config->request_timeout_s * NS_PER_S;
        int r = loop_add_fd(front->api->loop, fd, EPOLLIN, on_socket, c, &c->source);
        if (r < 0) {
                close(fd);
                free(c);
                return r;
        }
        c->next = front->first;
        if (c->next)
                c->next->previous = c;
        front->first = c;
        front->count++;
        *ret = c;
        return 0;
}

const struct front_head *front_connection_head(const struct front_connection *c) {
        return &c->head;
}

const char *front_connection_client(const struct front_connection *c) {
        return c->client;
}
