/* One client connection: reading, checking, passing on, its clocks; see http_front.h. The way back is http_relay.c. */
#include "api/http_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/http_channel.h"
#include "base/cleanup.h"
#include "base/config.h"

#define IDLE_NS (75 * NS_PER_S)       /* between two requests */
#define CHUNKED_END_NS (2 * NS_PER_S) /* for libmicrohttpd to find that a body is complete */
#define ASK_AGAIN_NS (2 * NS_PER_S)

static void on_inner(void *data, int fd, uint32_t events);

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
        connection_close_inner(c);
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
                connection_refuse(c, HTTP_OVERLOADED, "The service has no resources left for this request; try again.");
                return;
        }
        if (!send_head(c)) {
                connection_lost(c);
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
                        sent = (ssize_t)
                                count; /* it has answered early and closed: connection_relay() will see the end */
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
                connection_refuse(c, c->guard.kind, c->guard.reason);
                break;
        }
}

static void process_input(struct front_connection *c) {
        if (c->in_used && !c->reply_left && (c->phase == CONNECTION_IDLE || c->phase == CONNECTION_HEAD))
                process_head(c);
        if (!c->dead && c->phase == CONNECTION_BODY)
                pump_body(c);
        if (!c->dead && !c->in_used)
                free(TAKE_PTR(c->in));
        if (!c->dead && c->input_ended && !c->reply_left &&
            (c->phase == CONNECTION_IDLE || c->phase == CONNECTION_HEAD))
                connection_finish(c);
        else
                connection_watch(c);
}

/*
 * The end of what the client sends. Requests that came before it are still answered; half a request never is. Whether a
 * chunked body is complete, libmicrohttpd knows: it calls front_body_done if so, within a moment.
 */
static void end_of_input(struct front_connection *c) {
        uint64_t soon = clock_now_ns() + CHUNKED_END_NS;
        c->half_closed = c->input_ended = true;
        if (c->phase == CONNECTION_HEAD || (c->phase == CONNECTION_BODY && !c->guard.chunked)) {
                connection_lost(c);
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
                connection_lost(c);
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
                connection_lost(c);
                return;
        }
        if (events & EPOLLOUT && c->out_used) {
                if (!connection_flush(c)) {
                        connection_lost(c);
                        return;
                }
                if (!c->out_used && c->inner >= 0)
                        connection_relay(c);
                else if (!c->out_used && c->phase == CONNECTION_LINGER)
                        connection_linger(c);
        }
        if (!c->dead && events & EPOLLRDHUP && !c->half_closed) {
                c->half_closed = true;
                c->ask_ns = 0;
        }
        if (!c->dead && events & EPOLLIN) {
                if (c->phase == CONNECTION_LINGER)
                        connection_discard_input(c);
                else if (c->phase != CONNECTION_REPLY)
                        read_input(c);
        }
        connection_watch(c);
}

static void on_inner(void *data, int fd, uint32_t events) {
        struct front_connection *c = data;
        (void)fd;
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                connection_relay(c);
        if (!c->dead && events & EPOLLOUT && c->phase == CONNECTION_BODY) {
                pump_body(c);
                connection_watch(c);
        }
}

/* ---- news from libmicrohttpd's side */

void front_allow_time(struct front_connection *c, uint64_t seconds) {
        if (c->phase == CONNECTION_BODY && c->deadline_ns)
                c->deadline_ns = c->head.received_ns + seconds * NS_PER_S;
}

void front_body_done(struct front_connection *c) {
        if (c->dead || (c->phase != CONNECTION_BODY && c->phase != CONNECTION_REPLY))
                return;
        c->phase = CONNECTION_REPLY;
        c->deadline_ns = 0; /* not before: should libmicrohttpd wait for more than the guard found, this ends it */
        connection_watch(c);
}

static void on_kick(void *data) {
        struct front_connection *c = data;
        c->kick = NULL;
        connection_relay(c);
        if (c->dead || c->phase != CONNECTION_IDLE || c->reply_left)
                return;
        if (c->front->draining)
                connection_finish(c);
        else
                process_input(c);
}

static void kick(struct front_connection *c) {
        if (!c->kick)
                loop_add_timer(c->front->api->loop, 0, on_kick, c, &c->kick);
}

/*
 * The next request begins when the answer to this one has been passed on whole: what the front itself may have to say
 * to the next one must not get into the middle of this.
 */
void front_request_done(struct front_connection *c) {
        /* In the middle of a body it has answered early: it will close, and connection_relay() sees that. */
        if (c->dead || c->phase != CONNECTION_REPLY)
                return;
        c->phase = CONNECTION_IDLE;
        c->reply_left = true;
        c->deadline_ns = clock_now_ns() + IDLE_NS;
        kick(c);
        connection_watch(c);
}

void connection_all_relayed(struct front_connection *c) {
        if (!c->reply_left)
                return;
        c->reply_left = false;
        if (c->phase == CONNECTION_IDLE && (c->in_used || c->input_ended || c->front->draining))
                kick(c);
}

void connection_drain(struct front_connection *c) {
        if (c->phase == CONNECTION_IDLE && !c->reply_left)
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
        if (possible ? !connection_send(c, question, sizeof(question) - 1) : c->half_closed)
                connection_lost(c);
}

void connection_sweep(struct front_connection *c, uint64_t now) {
        if (c->stall_deadline_ns && now >= c->stall_deadline_ns) {
                front_count_refusal(c->front, "stalled");
                connection_lost(c);
                return;
        }
        if (c->phase == CONNECTION_REPLY && now >= c->ask_ns && channel_is_waiting(c->channel)) {
                ask_whether_there(c, now);
                return;
        }
        if (!c->deadline_ns || now < c->deadline_ns)
                return;
        if (c->reply_begun)
                connection_lost(c);
        else if (c->phase != CONNECTION_IDLE && c->phase != CONNECTION_LINGER)
                connection_refuse(c, HTTP_REQUEST_TIMEOUT,
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
