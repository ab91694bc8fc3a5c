/*
 * sandboxd-egress: start of the egress process; see egress.h.
 *
 * Started by sandboxd with their socket as descriptor 3 and an empty folder as descriptor 4, as root for a moment. Its
 * settings come by the environment, which has nothing else in it. It ends when sandboxd hangs up.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/fdpass.h"
#include "base/log.h"
#include "egress/egress.h"
#include "egress/jail.h"
#include "egress/protocol.h"
#include "egress/resolver.h"
#include "egress/room.h"
#include "egress/route.h"

#define UID_AFTER_SANDBOXES 65537 /* the api process has the one before it */
#define DESCRIPTORS_KEPT 512      /* for rooms and lookups */
#define CONNECTIONS_MAX 8192
#define QUESTIONS_MAX 256
#define RESOLV_CONF "/etc/resolv.conf"
#define LAST_WORDS_NS (5 * NS_PER_S) /* channels take less: channel.c */

/* ---- orders */

static void on_last_words(void *data) {
        struct egress *egress = data;
        loop_quit(egress->loop, 0);
}

/* What the last rooms were is still to be told. */
static void end_if_idle(struct egress *egress) {
        if (egress->retired && !egress->rooms &&
            loop_add_timer(egress->loop, LAST_WORDS_NS, on_last_words, egress, NULL) < 0)
                loop_quit(egress->loop, 0);
}

static void obey(struct egress *egress, const struct egress_order *order, const int *fds, size_t fd_count) {
        int r = 0;
        if (order->kind == EGRESS_ATTACH && fd_count == EGRESS_ATTACH_FDS) {
                r = room_attach(egress, order->room, fds[EGRESS_FD_LISTENERS], fds[EGRESS_FD_CHANNEL]);
        } else if (order->kind == EGRESS_DETACH && fd_count == 0) {
                room_detach(egress, order->room);
                end_if_idle(egress);
        } else if (order->kind == EGRESS_RETIRE && fd_count == 0) {
                egress->retired = true;
                end_if_idle(egress);
        } else {
                for (size_t i = 0; i < fd_count; i++)
                        close(fds[i]);
                r = -EBADMSG;
        }
        if (r < 0)
                log_error("an order of the spawner could not be followed", "error", log_errno(r));
}

static void on_order(void *data, int fd, uint32_t events) {
        struct egress *egress = data;
        struct egress_order order;
        int fds[EGRESS_ATTACH_FDS];
        size_t fd_count = 0;
        (void)events;
        ssize_t got = fdpass_recv(fd, &order, sizeof(order), fds, EGRESS_ATTACH_FDS, &fd_count);
        if (got == -EAGAIN)
                return;
        if (got == (ssize_t)sizeof(order)) {
                obey(egress, &order, fds, fd_count);
                return;
        }
        for (size_t i = 0; i < fd_count; i++)
                close(fds[i]);
        loop_quit(egress->loop, got == 0 || got == -ECONNRESET ? 0 : 1);
}

/* ---- the beginning */

static bool is_own(void *data, const struct address *address) {
        const struct egress *egress = data;
        return route_to(egress->route_fd, address) == ROUTE_OWN;
}

static int check_descriptors(struct err *e) {
        int type;
        socklen_t length = sizeof(type);
        if (getsockopt(EGRESS_ORDERS_FD, SOL_SOCKET, SO_TYPE, &type, &length) < 0 || type != SOCK_SEQPACKET)
                return err_set(e, -EBADF, "sandboxd-egress is started by sandboxd; start that");
        if (close_range(EGRESS_ROOT_FD + 1, ~0U, 0) < 0 ||
            close_range(EGRESS_ORDERS_FD, EGRESS_ROOT_FD, CLOSE_RANGE_CLOEXEC) < 0)
                return err_set(e, -errno, "cannot close descriptors: %s", strerror(errno));
        return 0;
}

static int read_settings(struct egress *egress, const struct config *config, struct err *e) {
        egress->policy.on = strcmp(config->egress, "on") == 0;
        egress->policy.is_own = is_own;
        egress->policy.data = egress;
        int r = prefix_list_parse(config->egress_allow, &egress->policy.allow, e);
        return r < 0 ? r : prefix_list_parse(config->egress_deny, &egress->policy.deny, e);
}

/* How many connections there may be: each has two descriptors. */
static size_t connections_possible(void) {
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < DESCRIPTORS_KEPT + 2)
                return 1;
        const size_t possible = (files.rlim_cur - DESCRIPTORS_KEPT) / 2;
        return possible < CONNECTIONS_MAX ? possible : CONNECTIONS_MAX;
}

static int confine(const struct egress *egress, const struct config *config, struct err *e) {
        uint16_t ports[2 + CONFIG_EGRESS_PORTS_MAX + RESOLVERS_MAX] = {EGRESS_PORT_HTTP, EGRESS_PORT_HTTPS};
        size_t more;
        int r = config_egress_ports(config, ports + 2, &more);
        if (r < 0)
                return err_set(e, r, "cannot read SANDBOX_EGRESS_ALLOW: %s", strerror(-r));
        for (size_t i = 0; i < egress->resolver->server_count; i++)
                ports[2 + more++] = egress->resolver->servers[i].port;
        return jail_enter(EGRESS_ROOT_FD, (uid_t)(config->uid_base + UID_AFTER_SANDBOXES), ports, 2 + more, e);
}

static int start(struct egress *egress, struct err *e) {
        CLEANUP(config_deinit) struct config config = {0};
        int r = config_load(&config, e);
        if (r < 0)
                return r;
        log_init("egress", config_log_level(&config));
        if ((r = check_descriptors(e)) < 0 || (r = read_settings(egress, &config, e)) < 0)
                return r;
        egress->connections_max = connections_possible();
        egress->route_fd = route_open();
        if (egress->route_fd < 0)
                return err_set(e, egress->route_fd, "cannot ask for routes: %s", strerror(-egress->route_fd));
        if ((r = loop_new(&egress->loop)) < 0)
                return err_set(e, r, "cannot make an event loop: %s", strerror(-r));
        if ((r = resolver_choose(egress->resolver, config.egress_resolver, RESOLV_CONF, e)) < 0 ||
            (r = confine(egress, &config, e)) < 0)
                return r;
        egress->resolver->loop = egress->loop;
        r = loop_add_fd(egress->loop, EGRESS_ORDERS_FD, EPOLLIN, on_order, egress, &egress->orders);
        return r < 0 ? err_set(e, r, "cannot watch for orders: %s", strerror(-r)) : 0;
}

int main(void) {
        static struct resolver resolver = {.questions_max = QUESTIONS_MAX};
        static struct egress egress = {.route_fd = -1, .resolver = &resolver};
        struct err e;
        log_init("egress", LOG_LEVEL_INFO);
        /* The service stops in order: calls that still run keep their network until sandboxd hangs up. */
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        if (start(&egress, &e) < 0) {
                log_error("the egress process could not start", "error", e.message);
                return 1;
        }
        return loop_run(egress.loop) < 0 ? 1 : 0;
}
