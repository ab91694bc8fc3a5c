/* libmicrohttpd on our loop, fed with channels by the front; see http_server.h and http_channel.h. */
#include "api/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "api/api.h"
#include "api/http_channel.h"
#include "api/http_exchange.h"
#include "api/http_front.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/loop.h"

#define BODIES_BYTES_MAX (UINT64_C(256) << 20) /* of all requests together, or one body if that may be larger */
#define CONNECTION_MEMORY 65536                /* libmicrohttpd's, for one: holds a head of GUARD_HEAD_MAX easily */
#define CONNECTIONS_INSIDE_MAX 4096

static void run(struct http_server *server);

static void on_timer(void *data) {
        struct http_server *server = data;
        server->timer = NULL;
        run(server);
}

void http_server_run_soon(struct http_server *server) {
        loop_remove(server->api->loop, &server->timer);
        loop_add_timer(server->api->loop, 0, on_timer, server, &server->timer);
}

/* ---- channels */

static void free_if_unused(struct http_channel *channel) {
        if (!channel->open && !channel->front_connection)
                free(channel);
}

struct http_channel *channel_open(struct http_server *server, int fd, struct front_connection *connection) {
        struct sockaddr address = {.sa_family = AF_UNIX};
        struct http_channel *channel = calloc(1, sizeof(*channel));
        if (!channel || (size_t)fd >= server->by_fd_count) {
                free(channel);
                close(fd);
                return NULL;
        }
        *channel = (struct http_channel){.server = server, .front_connection = connection, .fd = fd, .open = true};
        server->by_fd[fd] = channel;
        if (MHD_add_connection(server->daemon, fd, &address, sizeof(address)) == MHD_YES)
                return channel;
        server->by_fd[fd] = NULL; /* the descriptor is closed in this case too */
        free(channel);
        return NULL;
}

void channel_client_gone(struct http_channel *channel) {
        if (channel->exchange)
                exchange_tell_gone(channel->exchange);
}

bool channel_is_waiting(const struct http_channel *channel) {
        return channel && channel->exchange && channel->exchange->handed && !channel->exchange->ended;
}

void channel_detach(struct http_channel *channel) {
        channel->front_connection = NULL;
        free_if_unused(channel);
}

static void on_connection(void *data, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
        struct http_server *server = data;
        struct http_channel *channel = *context;
        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
                int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
                *context = server->by_fd[fd];
        } else if (channel) {
                server->by_fd[channel->fd] = NULL;
                channel->open = false;
                free_if_unused(channel);
        }
}

/* ---- on the loop */

static void on_daemon(void *data, int fd, uint32_t events) {
        (void)fd, (void)events;
        run(data);
}

/* Its epoll descriptor is edge-triggered inside: what it has not finished it announces by a timeout of 0 only. */
static void run(struct http_server *server) {
        MHD_UNSIGNED_LONG_LONG milliseconds;
        MHD_run(server->daemon);
        loop_remove(server->api->loop, &server->timer);
        if (MHD_get_timeout(server->daemon, &milliseconds) == MHD_YES)
                loop_add_timer(server->api->loop, (uint64_t)milliseconds * NS_PER_MS, on_timer, server, &server->timer);
}

static int start_daemon(struct http_server *server) {
        struct MHD_OptionItem options[] = {
                {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
                {MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_INSIDE_MAX, NULL},
                {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
                {MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL},
                {MHD_OPTION_END, 0, NULL},
        };
        server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
                                          NULL, exchange_on_request, server, MHD_OPTION_NOTIFY_CONNECTION,
                                          on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed,
                                          server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
        if (!server->daemon)
                return -EIO;
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
        if (!info)
                return -EIO;
        return loop_add_fd(server->api->loop, info->epoll_fd, EPOLLIN, on_daemon, server, &server->source);
}

static int init(struct http_server *server, int listen_fd) {
        struct rlimit files;
        int64_t one_body = server->api->config->body_max_bytes + 1;
        server->body_bytes_max = (uint64_t)one_body > BODIES_BYTES_MAX ? (uint64_t)one_body : BODIES_BYTES_MAX;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0) {
                close(listen_fd);
                return -errno;
        }
        server->by_fd_count = files.rlim_cur > 65536 ? 65536 : (size_t)files.rlim_cur;
        server->by_fd = calloc(server->by_fd_count, sizeof(server->by_fd[0]));
        if (!server->by_fd) {
                close(listen_fd);
                return -ENOMEM;
        }
        int r = front_new(server->api, listen_fd, server, &server->front);
        return r < 0 ? r : start_daemon(server);
}

int http_server_new(struct api *api, int listen_fd, struct http_server **ret) {
        struct http_server *server = calloc(1, sizeof(*server));
        if (!server) {
                close(listen_fd);
                return -ENOMEM;
        }
        server->api = api;
        int r = init(server, listen_fd);
        if (r < 0) {
                http_server_free(server);
                return r;
        }
        *ret = server;
        return 0;
}

int http_server_start(struct http_server *server) {
        return front_start(server->front);
}

void http_server_drain(struct http_server *server, void (*done)(void *data), void *data) {
        front_drain(server->front, done, data);
}

void http_server_free(struct http_server *server) {
        if (!server)
                return;
        front_free(server->front);
        loop_remove(server->api->loop, &server->timer);
        loop_remove(server->api->loop, &server->source);
        if (server->daemon && !server->suspended) /* it aborts the process over a suspended connection */
                MHD_stop_daemon(server->daemon);
        free(server->by_fd);
        free(server);
}
