/* One room; see room.h. */
#include "egress/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "egress/channel.h"
#include "egress/lookups.h"
#include "egress/names.h"
#include "egress/protocol.h"
#include "egress/relay.h"

#define ACCEPTS_A_ROUND 16

struct listener {
        int fd;
        struct loop_source *source;
        uint16_t port;
};

struct room {
        struct room *next;
        struct egress *egress;
        uint64_t number;
        int listeners_fd; /* until they have come */
        struct loop_source *listeners_source;
        struct listener listeners[FDPASS_MAX];
        size_t listener_count;
        struct channel *channel;
        struct names *names;
        struct lookups *lookups;
        struct relay *relays; /* list */
        size_t relay_count;
        struct loop_source *pause; /* while there are no descriptors */
        struct loop_source *over;  /* in a moment it has no network any more */
};

struct egress *room_egress(struct room *room) {
        return room->egress;
}

/* From now on the room's kernel refuses by itself. */
static void close_listeners(struct room *room) {
        loop_remove(room->egress->loop, &room->pause);
        loop_remove(room->egress->loop, &room->listeners_source);
        close_fd(&room->listeners_fd);
        for (size_t i = 0; i < room->listener_count; i++) {
                loop_remove(room->egress->loop, &room->listeners[i].source);
                close_fd(&room->listeners[i].fd);
        }
        room->listener_count = 0;
        lookups_end(&room->lookups);
}

/* ---- what is told */

/* One is kept for telling that the limit was reached. */
static bool may_do_one_more(const struct room *room) {
        return channel_left(room->channel) > room->relay_count + names_count(room->names) + 1;
}

static void reach_limit(struct room *room) {
        const struct egress_record last = {
                .decision = EGRESS_REFUSED,
                .rule = EGRESS_RULE_LIMIT,
                .opened_ms = (uint64_t)clock_wall_ms(),
        };
        close_listeners(room);
        if (channel_left(room->channel) > 0)
                channel_tell(room->channel, &last, "");
}

static void tell_refused(struct room *room, const struct address *to, enum egress_rule rule) {
        struct egress_record record = {
                .decision = EGRESS_REFUSED,
                .rule = rule,
                .family = to->family,
                .port = to->port,
                .opened_ms = (uint64_t)clock_wall_ms(),
        };
        memcpy(record.address, to->bytes, sizeof(record.address));
        channel_tell(room->channel, &record, names_of(room->names, to, ""));
}

static void on_over(void *data) {
        struct room *room = data;
        room->over = NULL;
        if (channel_left(room->channel) > 0)
                reach_limit(room);
        else {
                close_listeners(room);
                while (room->relays)
                        relay_finish(room->relays);
        }
}

/* A moment later, as this is called in the middle of something. */
static void end_soon(void *data) {
        struct room *room = data;
        if (!room->over)
                loop_add_timer(room->egress->loop, 0, on_over, room, &room->over);
}

static bool may_look_up(void *data) {
        if (may_do_one_more(data))
                return true;
        end_soon(data);
        return false;
}

/* ---- connections */

void room_relay_began(struct room *room, struct relay *relay) {
        struct relay_link *link = relay_link(relay);
        *link = (struct relay_link){.next = room->relays};
        if (room->relays)
                relay_link(room->relays)->previous = relay;
        room->relays = relay;
        room->relay_count++;
        room->egress->connections++;
}

void room_relay_ended(struct room *room, struct relay *relay, const struct egress_record *record, const char *claimed) {
        const struct address address = address_of_bytes(record->address, record->family == 4 ? 4 : 16, record->port);
        const struct relay_link *link = relay_link(relay);
        if (link->next)
                relay_link(link->next)->previous = link->previous;
        if (link->previous)
                relay_link(link->previous)->next = link->next;
        else
                room->relays = link->next;
        room->relay_count--;
        room->egress->connections--;
        channel_tell(room->channel, record, names_of(room->names, &address, claimed));
}

static void tell_name(void *data, const struct egress_record *record, const char *name) {
        struct room *room = data;
        channel_tell(room->channel, record, name);
}

/* ---- listeners */

static void on_accept(void *data, int fd, uint32_t events);

static void watch_listeners(struct room *room, uint32_t events) {
        for (size_t i = 0; i < room->listener_count; i++)
                loop_set_events(room->egress->loop, room->listeners[i].source, events);
}

static void on_pause_over(void *data) {
        struct room *room = data;
        room->pause = NULL;
        watch_listeners(room, EPOLLIN);
}

/* Out of descriptors or memory: what waits in the queue would wake this process again and again. */
static void rest(struct room *room) {
        if (room->pause)
                return;
        watch_listeners(room, 0);
        if (loop_add_timer(room->egress->loop, 100 * NS_PER_MS, on_pause_over, room, &room->pause) < 0)
                reach_limit(room);
}

static void take_connection(struct room *room, int fd) {
        struct sockaddr_storage local;
        struct address to;
        socklen_t length = sizeof(local);
        if (getsockname(fd, (struct sockaddr *)&local, &length) < 0 || !address_from(&local, &to)) {
                relay_refuse(fd);
                return;
        }
        if (room->relay_count >= ROOM_CONNECTIONS_MAX || room->egress->connections >= room->egress->connections_max) {
                relay_refuse(fd);
                tell_refused(room, &to, EGRESS_RULE_LIMIT);
                return;
        }
        if (to.port == EGRESS_PORT_NAMES)
                lookups_serve_connection(room->lookups, fd);
        else
                relay_start(room, fd, &to);
}

static void on_accept(void *data, int fd, uint32_t events) {
        struct room *room = data;
        (void)events;
        for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
                if (!may_do_one_more(room)) {
                        reach_limit(room);
                        return;
                }
                int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (connection >= 0)
                        take_connection(room, connection);
                else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                        rest(room);
                if (room->listener_count == 0 || (connection < 0 && errno != EINTR && errno != ECONNABORTED))
                        return;
        }
}

static int add_listener(struct room *room, int fd) {
        struct sockaddr_storage local;
        struct address address;
        int type;
        socklen_t type_length = sizeof(type), length = sizeof(local);
        struct listener *listener = &room->listeners[room->listener_count];
        *listener = (struct listener){.fd = fd};
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) < 0 ||
            getsockname(fd, (struct sockaddr *)&local, &length) < 0 || !address_from(&local, &address)) {
                close(fd);
                return -EINVAL;
        }
        if (type != SOCK_STREAM)
                return lookups_serve_datagrams(room->lookups, fd);
        listener->port = address.port;
        int r = loop_add_fd(room->egress->loop, fd, EPOLLIN, on_accept, room, &listener->source);
        if (r < 0)
                close(fd);
        else
                room->listener_count++;
        return r;
}

static void on_listeners(void *data, int fd, uint32_t events) {
        struct room *room = data;
        int fds[FDPASS_MAX];
        size_t count = 0;
        char byte;
        (void)events;
        ssize_t got = fdpass_recv(fd, &byte, sizeof(byte), fds, FDPASS_MAX, &count);
        if (got == -EAGAIN)
                return;
        loop_remove(room->egress->loop, &room->listeners_source);
        close_fd(&room->listeners_fd);
        for (size_t i = 0; i < count; i++)
                add_listener(room, fds[i]);
}

/* ---- life */

int room_attach(struct egress *egress, uint64_t number, int listeners_fd, int channel_fd) {
        struct room *room = malloc(sizeof(*room));
        if (!room) {
                close(listeners_fd);
                close(channel_fd);
                return -ENOMEM;
        }
        *room = (struct room){.egress = egress, .number = number, .listeners_fd = listeners_fd};
        room->names = names_new(tell_name, room);
        room->lookups = room->names ? lookups_new(egress, room->names, may_look_up, room) : NULL;
        int r = room->lookups ? channel_new(egress->loop, channel_fd, end_soon, room, &room->channel) : -ENOMEM;
        if (r < 0)
                close(channel_fd);
        else
                r = loop_add_fd(egress->loop, listeners_fd, EPOLLIN, on_listeners, room, &room->listeners_source);
        if (r < 0) {
                channel_end(&room->channel);
                lookups_end(&room->lookups);
                names_end(&room->names);
                close(listeners_fd);
                free(room);
                return r;
        }
        room->next = egress->rooms;
        egress->rooms = room;
        return 0;
}

void room_detach(struct egress *egress, uint64_t number) {
        for (struct room **place = &egress->rooms; *place; place = &(*place)->next) {
                struct room *room = *place;
                if (room->number != number)
                        continue;
                *place = room->next;
                close_listeners(room);
                while (room->relays)
                        relay_finish(room->relays);
                names_end(&room->names);
                loop_remove(egress->loop, &room->over);
                channel_end(&room->channel);
                free(room);
                return;
        }
}
