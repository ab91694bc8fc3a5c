/* One connection; see relay.h. */
#include "egress/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "egress/sniff.h"

#define DIAL_LIMIT_NS (10 * NS_PER_S)
#define IDLE_LIMIT_NS (120 * NS_PER_S)
#define TOTAL_LIMIT_NS (1800 * NS_PER_S) /* an import's own limit; tool calls have a shorter one */
#define PIECE_BYTES 65536
#define LAST_PIECES 16

enum side { ROOM, WORLD, SIDES };

/* What one side has sent and the other has not taken yet. */
struct flow {
        uint8_t *bytes; /* NULL: nothing */
        size_t start, end;
        uint64_t total;
        bool ended;  /* its sender has finished */
        bool passed; /* and the receiver has been told */
};

struct relay {
        struct relay_link link;
        struct room *room;
        struct loop *loop;
        struct address to;
        struct {
                int fd;
                struct loop_source *source;
                uint32_t watched;
        } sides[SIDES];
        struct flow flows[SIDES]; /* by their sender */
        bool connected;
        enum egress_rule rule;
        struct loop_source *timer;
        uint8_t *start; /* what the room sent first, until the name in it is found; NULL: nothing is kept */
        size_t start_length;
        bool sniffed;
        char claimed[EGRESS_HOST_MAX + 1];
        uint64_t began_ns, moved_ns;
        uint64_t opened_ms;
};

struct relay_link *relay_link(struct relay *relay) {
        return &relay->link;
}

void relay_refuse(int fd) {
        const struct linger at_once = {.l_onoff = 1};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        close(fd);
}

/* ---- the end */

static void close_side(struct relay *relay, enum side side, bool reset) {
        loop_remove(relay->loop, &relay->sides[side].source);
        if (reset && relay->sides[side].fd >= 0)
                relay_refuse(take_fd(&relay->sides[side].fd));
        close_fd(&relay->sides[side].fd);
}

static void end(struct relay *relay, enum egress_decision decision, enum egress_rule rule, bool reset) {
        struct egress_record record = {
                .decision = decision,
                .rule = rule,
                .family = relay->to.family,
                .port = relay->to.port,
                .bytes_sent = relay->flows[ROOM].total,
                .bytes_received = relay->flows[WORLD].total,
                .opened_ms = relay->opened_ms,
        };
        memcpy(record.address, relay->to.bytes, sizeof(record.address));
        loop_remove(relay->loop, &relay->timer);
        for (enum side side = ROOM; side < SIDES; side++) {
                close_side(relay, side, reset);
                free(relay->flows[side].bytes);
        }
        free(relay->start);
        room_relay_ended(relay->room, relay, &record, relay->claimed);
        free(relay);
}

static void break_off(struct relay *relay) {
        if (relay->connected)
                end(relay, EGRESS_ALLOWED, relay->rule, true);
        else
                end(relay, EGRESS_FAILED, EGRESS_RULE_UNREACHABLE, true);
}

/* ---- bytes */

/* For the log only. */
static void look_for_name(struct relay *relay, const uint8_t *bytes, size_t length) {
        const size_t space = SNIFF_BYTES_MAX - relay->start_length;
        uint8_t *start = realloc(relay->start, SNIFF_BYTES_MAX);
        if (start) {
                relay->start = start;
                memcpy(start + relay->start_length, bytes, length < space ? length : space);
                relay->start_length += length < space ? length : space;
        }
        if (start && sniff_name(start, relay->start_length, relay->claimed) == SNIFF_MORE)
                return;
        relay->sniffed = true;
        free(TAKE_PTR(relay->start));
}

enum progress { MOVED, WAITING, BROKEN };

static enum progress send_some(struct relay *relay, enum side from, const uint8_t *bytes, size_t length,
                               size_t *ret_sent) {
        ssize_t sent = send(relay->sides[!from].fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        *ret_sent = sent < 0 ? 0 : (size_t)sent;
        if (sent < 0)
                return errno == EAGAIN || errno == EINTR ? WAITING : BROKEN;
        relay->flows[from].total += (size_t)sent;
        return (size_t)sent < length ? WAITING : MOVED;
}

static enum progress send_kept(struct relay *relay, enum side from) {
        struct flow *flow = &relay->flows[from];
        size_t sent;
        enum progress progress = send_some(relay, from, flow->bytes + flow->start, flow->end - flow->start, &sent);
        flow->start += sent;
        if (progress == MOVED)
                free(TAKE_PTR(flow->bytes));
        return progress;
}

static enum progress keep(struct flow *flow, const uint8_t *bytes, size_t length) {
        flow->bytes = malloc(length);
        if (!flow->bytes)
                return BROKEN;
        memcpy(flow->bytes, bytes, length);
        flow->start = 0;
        flow->end = length;
        return WAITING;
}

static enum progress pass_end_on(struct relay *relay, enum side from) {
        struct flow *flow = &relay->flows[from];
        if (!flow->ended || flow->passed)
                return WAITING;
        flow->passed = true;
        return shutdown(relay->sides[!from].fd, SHUT_WR) < 0 && errno != ENOTCONN ? BROKEN : WAITING;
}

/* One piece at most, so that no connection keeps the others waiting. */
static enum progress pump(struct relay *relay, enum side from) {
        static uint8_t piece[PIECE_BYTES];
        struct flow *flow = &relay->flows[from];
        size_t sent;
        if (flow->bytes) {
                enum progress progress = send_kept(relay, from);
                if (progress != MOVED)
                        return progress;
        }
        if (flow->ended)
                return pass_end_on(relay, from);
        ssize_t got = recv(relay->sides[from].fd, piece, sizeof(piece), MSG_DONTWAIT);
        if (got < 0)
                return errno == EAGAIN || errno == EINTR ? WAITING : BROKEN;
        relay->moved_ns = clock_now_ns();
        if (got == 0) {
                flow->ended = true;
                return pass_end_on(relay, from);
        }
        if (from == ROOM && !relay->sniffed)
                look_for_name(relay, piece, (size_t)got);
        enum progress progress = send_some(relay, from, piece, (size_t)got, &sent);
        return progress == WAITING ? keep(flow, piece + sent, (size_t)got - sent) : progress;
}

/* ---- events */

static void on_event(void *data, int fd, uint32_t events);

static bool is_done(const struct relay *relay) {
        return relay->flows[ROOM].passed && relay->flows[WORLD].passed;
}

static int watch_side(struct relay *relay, enum side side, uint32_t wanted) {
        int r = 0;
        if (wanted == relay->sides[side].watched)
                return 0;
        relay->sides[side].watched = wanted;
        if (wanted == 0)
                loop_remove(relay->loop, &relay->sides[side].source);
        else if (relay->sides[side].source)
                r = loop_set_events(relay->loop, relay->sides[side].source, wanted);
        else
                r = loop_add_fd(relay->loop, relay->sides[side].fd, wanted, on_event, relay,
                                &relay->sides[side].source);
        return r;
}

/*
 * A socket from which nothing is wanted is not watched at all: epoll tells of a hang-up also where nobody asked, again
 * and again, and a peer that does not read could keep this process busy with it.
 */
static int watch(struct relay *relay) {
        int r = 0;
        for (enum side side = ROOM; r == 0 && side < SIDES; side++) {
                const struct flow *out = &relay->flows[side], *in = &relay->flows[!side];
                if (relay->sides[side].fd < 0)
                        continue;
                if (out->ended && in->passed)
                        close_side(relay, side, false);
                else
                        r = watch_side(relay, side,
                                       (out->ended || out->bytes ? 0 : EPOLLIN) | (in->bytes ? EPOLLOUT : 0));
        }
        return r;
}

static void on_event(void *data, int fd, uint32_t events) {
        struct relay *relay = data;
        const enum side side = fd == relay->sides[ROOM].fd ? ROOM : WORLD;
        const bool readable = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
        if (readable && !relay->flows[side].ended && !relay->flows[side].bytes) {
                if (pump(relay, side) == BROKEN) {
                        break_off(relay);
                        return;
                }
        } else if (events & EPOLLERR) {
                break_off(relay);
                return;
        }
        if ((events & EPOLLOUT) && relay->flows[!side].bytes && pump(relay, !side) == BROKEN) {
                break_off(relay);
                return;
        }
        if (is_done(relay))
                end(relay, EGRESS_ALLOWED, relay->rule, false);
        else if (watch(relay) < 0)
                break_off(relay);
}

static void on_timer(void *data) {
        struct relay *relay = data;
        const uint64_t now = clock_now_ns(), idle = now - relay->moved_ns, total = now - relay->began_ns;
        const uint64_t limit = relay->connected ? IDLE_LIMIT_NS : DIAL_LIMIT_NS;
        relay->timer = NULL;
        if (idle >= limit || total >= TOTAL_LIMIT_NS ||
            loop_add_timer(relay->loop, limit - idle, on_timer, relay, &relay->timer) < 0)
                break_off(relay);
}

/* ---- the beginning */

/* The route may have become another one since it was asked for. */
static bool is_connected_to_itself(int fd) {
        struct sockaddr_storage ours, theirs;
        struct address own, peer;
        socklen_t our_length = sizeof(ours), their_length = sizeof(theirs);
        if (getsockname(fd, (struct sockaddr *)&ours, &our_length) < 0 ||
            getpeername(fd, (struct sockaddr *)&theirs, &their_length) < 0 || !address_from(&ours, &own) ||
            !address_from(&theirs, &peer))
                return true;
        return address_same(&own, &peer);
}

static void on_dialled(void *data, int fd, uint32_t events) {
        struct relay *relay = data;
        int error = 0;
        socklen_t length = sizeof(error);
        (void)events;
        if (fd == relay->sides[ROOM].fd || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error ||
            (relay->rule == EGRESS_RULE_PUBLIC && is_connected_to_itself(fd))) {
                break_off(relay); /* the first: the room has given up */
                return;
        }
        relay->connected = true;
        relay->moved_ns = clock_now_ns();
        loop_remove(relay->loop, &relay->timer);
        for (enum side side = ROOM; side < SIDES; side++)
                loop_remove(relay->loop, &relay->sides[side].source); /* they called this function */
        if (watch(relay) < 0 || loop_add_timer(relay->loop, IDLE_LIMIT_NS, on_timer, relay, &relay->timer) < 0)
                break_off(relay);
}

/*
 * No delay: whoever writes small pieces has reasons that this process does not know. And no more in the kernel's
 * buffers than is needed, where it is in nobody's account: what has come and was not passed on yet, what is to go and
 * was not sent yet. (On a way of a tenth of a second, the window allows five megabytes a second.)
 */
static void set_up(int fd) {
        const int yes = 1, window = 512 << 10, unsent = 128 << 10;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof(window));
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static int dial(struct relay *relay) {
        struct sockaddr_storage to;
        const socklen_t length = address_to(&relay->to, &to);
        int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        relay->sides[WORLD].fd = fd;
        set_up(fd);
        set_up(relay->sides[ROOM].fd);
        if (connect(fd, (struct sockaddr *)&to, length) < 0 && errno != EINPROGRESS)
                return -errno;
        int r = loop_add_fd(relay->loop, fd, EPOLLOUT, on_dialled, relay, &relay->sides[WORLD].source);
        if (r == 0) /* tells of its end only */
                r = loop_add_fd(relay->loop, relay->sides[ROOM].fd, 0, on_dialled, relay, &relay->sides[ROOM].source);
        if (r == 0)
                r = loop_add_timer(relay->loop, DIAL_LIMIT_NS, on_timer, relay, &relay->timer);
        return r;
}

void relay_start(struct room *room, int fd, const struct address *to) {
        struct egress *egress = room_egress(room);
        struct relay *relay = malloc(sizeof(*relay));
        if (!relay) {
                relay_refuse(fd);
                return;
        }
        const struct verdict verdict = policy_judge(&egress->policy, to);
        *relay = (struct relay){
                .room = room,
                .loop = egress->loop,
                .to = *to,
                .sides = {[ROOM].fd = fd, [WORLD].fd = -1},
                .rule = verdict.rule,
                .began_ns = clock_now_ns(),
                .opened_ms = (uint64_t)clock_wall_ms(),
        };
        relay->moved_ns = relay->began_ns;
        room_relay_began(room, relay);
        if (verdict.decision != EGRESS_ALLOWED)
                end(relay, verdict.decision, verdict.rule, true);
        else if (dial(relay) < 0)
                break_off(relay);
}

void relay_finish(struct relay *relay) {
        for (int i = 0; relay->connected && i < LAST_PIECES && !is_done(relay); i++)
                if (relay->sides[ROOM].fd < 0 || relay->sides[WORLD].fd < 0 || pump(relay, ROOM) != MOVED)
                        break;
        if (relay->connected)
                end(relay, EGRESS_ALLOWED, relay->rule, false);
        else
                end(relay, EGRESS_FAILED, EGRESS_RULE_UNREACHABLE, true);
}
