/* The accepting side of the front: limits, the sweep of the clocks, draining; see http_front.h. */
#include "api/http_front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/http_connection.h"
#include "api/http_error.h"
#include "api/metrics.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"

#define CONNECTIONS_MAX 2048
#define CONNECTION_DESCRIPTORS 3  /* to the client, and both ends of the socket pair */
#define RESERVED_DESCRIPTORS 1000 /* for sandboxes and the rest: connections must never take them */
#define ACCEPTS_A_ROUND 64
#define ACCEPT_PAUSE_NS (200 * NS_PER_MS)

void front_count_refusal(struct front *front, const char *reason) {
        metrics_add(front->api->metrics, METRIC_REQUESTS_REFUSED, 1, reason);
}

/* ---- limits */

static unsigned count_of_address(const struct front *front, const struct in6_addr *address) {
        unsigned count = 0;
        for (const struct front_connection *c = front->first; c; c = c->next)
                count += memcmp(&c->address, address, sizeof(*address)) == 0;
        return count;
}

/* When all places are taken, the connection that has been idle longest makes room: new ones stand in front of the list.
 */
static bool make_room(struct front *front) {
        struct front_connection *oldest = NULL;
        if (front->count <= front->count_max)
                return true;
        for (struct front_connection *c = front->first; c; c = c->next)
                if (c != front->first &&
                    ((c->phase == CONNECTION_IDLE && !c->out_used) || c->phase == CONNECTION_LINGER))
                        oldest = c;
        if (!oldest)
                return false;
        connection_close(oldest);
        return true;
}

/* A short answer that fits into any empty socket buffer. No lingering: that would be one more connection to keep. */
static void turn_away(struct front *front, struct front_connection *c, const char *reason, const char *message) {
        size_t length;
        CLEANUP_FREE char *reply = http_error_raw(HTTP_OVERLOADED, message, &length);
        front_count_refusal(front, reason);
        if (reply && send(c->fd, reply, length, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length)
                shutdown(c->fd, SHUT_WR);
        connection_close(c);
}

static void admit(struct front *front, int fd, const struct sockaddr *address) {
        struct front_connection *c;
        int r = connection_new(front, fd, address, &c);
        if (r < 0)
                log_warning("cannot serve a connection", "error", log_errno(r));
        else if (count_of_address(front, &c->address) > (unsigned)front->api->config->connections_per_address)
                turn_away(front, c, "connections_per_address",
                          "This address has too many connections open (SANDBOX_CONNECTIONS_PER_ADDRESS); close some.");
        else if (!make_room(front))
                turn_away(front, c, "connections", "The service has too many connections open; try again.");
}

/* ---- clocks */

static void on_sweep(void *data) {
        struct front *front = data;
        uint64_t now = clock_now_ns();

        front->sweep_timer = NULL;
        for (struct front_connection *c = front->first, *next; c; c = next) {
                next = c->next;
                connection_sweep(c, now);
        }
        while (front->dead) {
                struct front_connection *c = front->dead;
                front->dead = c->next;
                connection_free(c);
        }
        metrics_set(front->api->metrics, METRIC_CONNECTIONS, front->count);
        if (front->count)
                loop_add_timer(front->api->loop, SWEEP_NS, on_sweep, front, &front->sweep_timer);
        else if (front->draining && front->drained) {
                void (*drained)(void *) = TAKE_PTR(front->drained);
                drained(front->drained_data);
        }
}

static void ensure_sweep(struct front *front) {
        if (!front->sweep_timer)
                loop_add_timer(front->api->loop, SWEEP_NS, on_sweep, front, &front->sweep_timer);
}

/* ---- accepting */

static void on_pause_over(void *data) {
        struct front *front = data;
        front->accept_pause = NULL;
        if (front->listen_source)
                loop_set_events(front->api->loop, front->listen_source, EPOLLIN);
}

/* Without a free descriptor the listening socket stays readable: look away for a moment instead of spinning. */
static void pause_accepting(struct front *front, int error) {
        log_warning("cannot accept connections for the moment", "error", log_errno(error));
        front_count_refusal(front, "resources");
        loop_set_events(front->api->loop, front->listen_source, 0);
        loop_add_timer(front->api->loop, ACCEPT_PAUSE_NS, on_pause_over, front, &front->accept_pause);
}

static void on_listen(void *data, int fd, uint32_t events) {
        struct front *front = data;
        (void)events;
        for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
                struct sockaddr_storage address;
                socklen_t length = sizeof(address);
                memset(&address, 0, sizeof(address));
                int accepted = accept4(fd, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (accepted >= 0) {
                        ensure_sweep(front);
                        admit(front, accepted, (struct sockaddr *)&address);
                        continue;
                }
                if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                        pause_accepting(front, -errno);
                else if (errno == EINTR || errno == ECONNABORTED)
                        continue; /* that one went away before its turn */
                return;
        }
}

int front_start(struct front *front) {
        return loop_add_fd(front->api->loop, front->listen_fd, EPOLLIN, on_listen, front, &front->listen_source);
}

void front_drain(struct front *front, void (*done)(void *data), void *data) {
        struct loop *loop = front->api->loop;
        front->draining = true;
        front->drained = done;
        front->drained_data = data;
        loop_remove(loop, &front->accept_pause);
        loop_remove(loop, &front->listen_source);
        close_fd(&front->listen_fd);
        for (struct front_connection *c = front->first, *next; c; c = next) {
                next = c->next;
                connection_drain(c);
        }
        loop_remove(loop, &front->sweep_timer);
        loop_add_timer(loop, 0, on_sweep, front, &front->sweep_timer);
}

static unsigned connections_max(void) {
        struct rlimit files = {.rlim_cur = 1024};
        getrlimit(RLIMIT_NOFILE, &files);
        rlim_t reserved = files.rlim_cur / 2 < RESERVED_DESCRIPTORS ? files.rlim_cur / 2 : RESERVED_DESCRIPTORS;
        rlim_t count = (files.rlim_cur - reserved) / CONNECTION_DESCRIPTORS;
        return count < CONNECTIONS_MAX ? (unsigned)count : CONNECTIONS_MAX;
}

int front_new(struct api *api, int listen_fd, struct http_server *server, struct front **ret) {
        struct front *front = calloc(1, sizeof(*front));
        if (!front) {
                close(listen_fd);
                return -ENOMEM;
        }
        front->count_max = connections_max();
        front->api = api;
        front->server = server;
        front->listen_fd = listen_fd;
        *ret = front;
        return 0;
}

void front_free(struct front *front) {
        if (!front)
                return;
        struct loop *loop = front->api->loop;
        while (front->first)
                connection_close(front->first);
        while (front->dead) {
                struct front_connection *c = front->dead;
                front->dead = c->next;
                connection_free(c);
        }
        loop_remove(loop, &front->sweep_timer);
        loop_remove(loop, &front->accept_pause);
        loop_remove(loop, &front->listen_source);
        close_fd(&front->listen_fd);
        free(front);
}
