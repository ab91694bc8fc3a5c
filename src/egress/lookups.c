/* The name server of a room; see lookups.h. */
#include "egress/lookups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/relay.h"
#include "egress/resolver.h"
#include "egress/route.h"

#define AT_ONCE 32    /* over UDP; more wait in the socket, and then in nobody's memory */
#define STREAMS_MAX 8 /* connections */
#define BURST 100
#define A_SECOND 50
#define PAUSE_NS (20 * NS_PER_MS)
#define STREAM_NS (10 * NS_PER_S)
#define QUERY_MAX 512
#define BY_TCP_HEADER 2

/* Who waits for an answer: the sender of one datagram, or a connection with one query after the other. */
struct client {
        struct client *next, *previous;
        struct lookups *lookups;
        struct question *question;
        struct dns_query query;
        int fd; /* -1: a datagram */
        struct loop_source *source, *timer;
        size_t at;
        uint8_t bytes[BY_TCP_HEADER + QUERY_MAX];
        struct sockaddr_storage peer;
        socklen_t peer_length;
        size_t control_length; /* says to which address the datagram was sent */
        uint8_t control[CMSG_SPACE(64)];
};

struct lookups {
        struct egress *egress;
        struct names *names;
        lookups_may_fn may;
        void *data;
        int fd;
        struct loop_source *source, *pause;
        struct client *clients; /* list */
        size_t datagrams, streams;
        uint64_t tokens, filled_ns; /* thousandths */
};

/* ---- how many, how fast */

static bool take_token(struct lookups *lookups) {
        const uint64_t now = clock_now_ns(), passed = now - lookups->filled_ns;
        lookups->tokens += passed / (NS_PER_S / 1000) * A_SECOND;
        lookups->filled_ns = now - passed % (NS_PER_S / 1000);
        if (lookups->tokens > BURST * 1000)
                lookups->tokens = BURST * 1000;
        if (lookups->tokens < 1000)
                return false;
        lookups->tokens -= 1000;
        return true;
}

static void on_pause_over(void *data) {
        struct lookups *lookups = data;
        lookups->pause = NULL;
        loop_set_events(lookups->egress->loop, lookups->source, EPOLLIN);
}

/* What comes meanwhile waits in the socket, as far as it takes it. */
static void make_pause(struct lookups *lookups) {
        if (!lookups->pause &&
            loop_add_timer(lookups->egress->loop, PAUSE_NS, on_pause_over, lookups, &lookups->pause) == 0)
                loop_set_events(lookups->egress->loop, lookups->source, 0);
}

/* ---- clients */

static struct client *client_new(struct lookups *lookups, int fd) {
        struct client *client = malloc(sizeof(*client));
        if (!client)
                return NULL;
        client->lookups = lookups;
        client->question = NULL;
        client->source = client->timer = NULL;
        client->fd = fd;
        client->at = 0;
        client->previous = NULL;
        client->next = lookups->clients;
        if (client->next)
                client->next->previous = client;
        lookups->clients = client;
        *(fd < 0 ? &lookups->datagrams : &lookups->streams) += 1;
        return client;
}

static void client_end(struct client *client) {
        struct lookups *lookups = client->lookups;
        question_drop(&client->question);
        loop_remove(lookups->egress->loop, &client->source);
        loop_remove(lookups->egress->loop, &client->timer);
        *(client->fd < 0 ? &lookups->datagrams : &lookups->streams) -= 1;
        close_fd(&client->fd);
        if (client->next)
                client->next->previous = client->previous;
        if (client->previous)
                client->previous->next = client->next;
        else
                lookups->clients = client->next;
        free(client);
}

/* A datagram's client is gone after it; a connection may go on. */
static void reply(struct client *client, const struct dns_answer *answer) {
        uint8_t bytes[BY_TCP_HEADER + DNS_REPLY_BYTES];
        const size_t length = dns_write_reply(&client->query, answer, bytes + BY_TCP_HEADER);
        if (client->fd < 0) {
                struct iovec part = {bytes + BY_TCP_HEADER, length};
                const struct msghdr message = {
                        .msg_name = &client->peer,
                        .msg_namelen = client->peer_length,
                        .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = client->control_length > 0 ? client->control : NULL,
                        .msg_controllen = client->control_length,
                };
                sendmsg(client->lookups->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL); /* else it asks again */
                client_end(client);
                return;
        }
        bytes[0] = (uint8_t)(length >> 8);
        bytes[1] = (uint8_t)length;
        client->at = 0;
        if (send(client->fd, bytes, BY_TCP_HEADER + length, MSG_DONTWAIT | MSG_NOSIGNAL) !=
                    (ssize_t)(BY_TCP_HEADER + length) ||
            loop_set_events(client->lookups->egress->loop, client->source, EPOLLIN) < 0)
                client_end(client);
}

static void reply_code(struct client *client, enum dns_code code) {
        const struct dns_answer answer = {.code = code};
        reply(client, &answer);
}

/* ---- lookups */

static bool is_usable(const struct egress *egress, const struct address *address, uint16_t type) {
        return address->family == (type == DNS_TYPE_A ? 4 : 6) && policy_allows_any_port(&egress->policy, address) &&
               route_to(egress->route_fd, address) != ROUTE_NONE;
}

static void on_answer(void *data, const struct dns_answer *answer) {
        struct client *client = data;
        struct lookups *lookups = client->lookups;
        struct dns_answer usable = {.code = answer->code, .ttl = answer->ttl};
        const struct address *blocked = NULL;
        client->question = NULL;
        for (size_t i = 0; i < answer->count; i++) {
                if (is_usable(lookups->egress, &answer->addresses[i], client->query.type))
                        usable.addresses[usable.count++] = answer->addresses[i];
                else if (!policy_allows_any_port(&lookups->egress->policy, &answer->addresses[i]))
                        blocked = &answer->addresses[i];
        }
        names_add(lookups->names, client->query.text, &usable, blocked, EGRESS_RULE_NAME);
        reply(client, &usable);
}

static void look_up(struct client *client) {
        static const struct dns_answer nothing;
        struct lookups *lookups = client->lookups;
        if (client->query.type != DNS_TYPE_A && client->query.type != DNS_TYPE_AAAA) {
                reply_code(client, DNS_OK);
        } else if (!lookups->may(lookups->data)) {
                reply_code(client, DNS_REFUSED);
        } else if (!lookups->egress->policy.on) {
                names_add(lookups->names, client->query.text, &nothing, NULL, EGRESS_RULE_OFF);
                reply_code(client, DNS_REFUSED);
        } else if (question_ask(lookups->egress->resolver, &client->query, on_answer, client, &client->question) < 0) {
                reply_code(client, DNS_FAILURE);
        }
}

static void take_query(struct client *client, const uint8_t *bytes, size_t length) {
        int r = dns_read_query(bytes, length, &client->query);
        if (r < 0)
                client_end(client);
        else if (r > 0)
                reply_code(client, (enum dns_code)r);
        else
                look_up(client);
}

/* ---- datagrams */

static void on_datagram(void *data, int fd, uint32_t events) {
        struct lookups *lookups = data;
        uint8_t bytes[QUERY_MAX];
        (void)events;
        if (lookups->datagrams >= AT_ONCE || !take_token(lookups)) {
                make_pause(lookups);
                return;
        }
        struct client *client = client_new(lookups, -1);
        if (!client) {
                make_pause(lookups);
                return;
        }
        struct iovec part = {bytes, sizeof(bytes)};
        struct msghdr message = {
                .msg_name = &client->peer,
                .msg_namelen = sizeof(client->peer),
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = client->control,
                .msg_controllen = sizeof(client->control),
        };
        ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
                client_end(client);
                return;
        }
        client->peer_length = message.msg_namelen;
        client->control_length = message.msg_controllen;
        take_query(client, bytes, (size_t)got);
}

int lookups_serve_datagrams(struct lookups *lookups, int fd) {
        if (lookups->fd >= 0) {
                close(fd);
                return -EEXIST;
        }
        int r = loop_add_fd(lookups->egress->loop, fd, EPOLLIN, on_datagram, lookups, &lookups->source);
        if (r < 0)
                close(fd);
        else
                lookups->fd = fd;
        return r;
}

/* ---- connections */

static void on_stream(void *data, int fd, uint32_t events) {
        struct client *client = data;
        const size_t length = client->at < BY_TCP_HEADER ? 0 : (size_t)(client->bytes[0] << 8 | client->bytes[1]);
        (void)events;
        if (client->question || length > QUERY_MAX) { /* the first: it has hung up */
                client_end(client);
                return;
        }
        ssize_t got = recv(fd, client->bytes + client->at, BY_TCP_HEADER + length - client->at, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got <= 0) {
                client_end(client);
                return;
        }
        client->at += (size_t)got;
        if (length == 0 || client->at < BY_TCP_HEADER + length)
                return;
        if (loop_set_events(client->lookups->egress->loop, client->source, 0) < 0)
                client_end(client);
        else if (!take_token(client->lookups)) {
                client->query = (struct dns_query){0};
                reply_code(client, DNS_REFUSED);
        } else {
                take_query(client, client->bytes + BY_TCP_HEADER, length);
        }
}

static void on_stream_overdue(void *data) {
        struct client *client = data;
        client->timer = NULL;
        client_end(client);
}

void lookups_serve_connection(struct lookups *lookups, int fd) {
        struct loop *loop = lookups->egress->loop;
        struct client *client = lookups->streams < STREAMS_MAX ? client_new(lookups, fd) : NULL;
        if (!client)
                relay_refuse(fd);
        else if (loop_add_fd(loop, fd, EPOLLIN, on_stream, client, &client->source) < 0 ||
                 loop_add_timer(loop, STREAM_NS, on_stream_overdue, client, &client->timer) < 0)
                client_end(client);
}

/* ---- life */

struct lookups *lookups_new(struct egress *egress, struct names *names, lookups_may_fn may, void *data) {
        struct lookups *lookups = malloc(sizeof(*lookups));
        if (lookups)
                *lookups = (struct lookups){
                        .egress = egress,
                        .names = names,
                        .may = may,
                        .data = data,
                        .fd = -1,
                        .tokens = BURST * 1000,
                        .filled_ns = clock_now_ns(),
                };
        return lookups;
}

void lookups_end(struct lookups **lookups) {
        struct lookups *ending = TAKE_PTR(*lookups);
        if (!ending)
                return;
        while (ending->clients)
                client_end(ending->clients);
        loop_remove(ending->egress->loop, &ending->pause);
        loop_remove(ending->egress->loop, &ending->source);
        close_fd(&ending->fd);
        free(ending);
}
