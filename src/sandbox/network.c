/* The network of a room; see network.h. */
#include "sandbox/network.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "egress/protocol.h"

#define LOOPBACK 1 /* the first interface of every network namespace, by number */
#define BACKLOG 128
#define LISTENERS (4 + EGRESS_MORE_PORTS_MAX)

_Static_assert(LISTENERS <= FDPASS_MAX, "they go over in one message");

/* ---- the interface and its routes, rtnetlink(7) */

/* Sends one request and reads the kernel's verdict. */
static int ask(int netlink, const struct nlmsghdr *request) {
        struct {
                struct nlmsghdr header;
                struct nlmsgerr verdict;
                char of_the_request[256];
        } answer;
        if (send(netlink, request, request->nlmsg_len, 0) < 0)
                return -errno;
        ssize_t got = recv(netlink, &answer, sizeof(answer), 0);
        if (got < 0)
                return -errno;
        if ((size_t)got < NLMSG_LENGTH(sizeof(answer.verdict)) || answer.header.nlmsg_type != NLMSG_ERROR)
                return -EPROTO;
        return answer.verdict.error; /* 0 or a negative errno */
}

static int bring_up(int netlink) {
        const struct {
                struct nlmsghdr header;
                struct ifinfomsg link;
        } request = {
                .header.nlmsg_len = sizeof(request),
                .header.nlmsg_type = RTM_NEWLINK,
                .header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                .link.ifi_index = LOOPBACK,
                .link.ifi_flags = IFF_UP,
                .link.ifi_change = IFF_UP,
        };
        return ask(netlink, &request.header);
}

/* As `ip route add local 0.0.0.0/0 dev lo` and `ip -6 route add local ::/0 dev lo` do. */
static int make_all_local(int netlink, uint8_t family) {
        const struct {
                struct nlmsghdr header;
                struct rtmsg route;
                struct rtattr attribute;
                uint32_t interface;
        } request = {
                .header.nlmsg_len = sizeof(request),
                .header.nlmsg_type = RTM_NEWROUTE,
                .header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                .route.rtm_family = family,
                .route.rtm_table = RT_TABLE_LOCAL,
                .route.rtm_protocol = RTPROT_BOOT,
                .route.rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                .route.rtm_type = RTN_LOCAL,
                .attribute.rta_len = RTA_LENGTH(sizeof(uint32_t)),
                .attribute.rta_type = RTA_OIF,
                .interface = LOOPBACK,
        };
        return ask(netlink, &request.header);
}

static bool has_ipv6(void) {
        CLEANUP_CLOSE int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd >= 0;
}

static int make_routes(bool ipv6) {
        CLEANUP_CLOSE int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        int r = netlink < 0 ? -errno : bring_up(netlink);
        if (r == 0)
                r = make_all_local(netlink, AF_INET);
        if (r == 0 && ipv6)
                r = make_all_local(netlink, AF_INET6);
        return r;
}

/* ---- the listeners */

/* One socket for both families where there are two: an IPv4 address then appears as ::ffff:a.b.c.d. */
static int bind_all(int fd, bool ipv6, uint16_t port) {
        const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        const struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        const int no = 0;
        if (!ipv6)
                return bind(fd, (const struct sockaddr *)&any4, sizeof(any4));
        if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) < 0)
                return -1;
        return bind(fd, (const struct sockaddr *)&any6, sizeof(any6));
}

/*
 * A lookup is answered from the address that was asked, which each datagram then says. For IPv6 the kernel wants such
 * an address to be an interface's, not just a route's, unless it is told otherwise.
 */
static int answer_from_anywhere(int fd, bool ipv6) {
        const int yes = 1;
        if (!ipv6)
                return setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes));
        if (setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof(yes)) < 0)
                return -1;
        return setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof(yes));
}

static int make_listener(bool ipv6, int type, uint16_t port) {
        CLEANUP_CLOSE int fd = socket(ipv6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind_all(fd, ipv6, port) < 0)
                return -errno;
        int r = type == SOCK_STREAM ? listen(fd, BACKLOG) : answer_from_anywhere(fd, ipv6);
        return r < 0 ? -errno : take_fd(&fd);
}

static int hand_over(int egress_fd, bool ipv6, const uint16_t *ports, size_t count) {
        int fds[LISTENERS];
        size_t made = 0;
        int r = fds[made] = make_listener(ipv6, SOCK_DGRAM, EGRESS_PORT_NAMES);
        if (r >= 0)
                made++;
        for (size_t i = 0; r >= 0 && i < count; i++)
                if ((r = fds[made] = make_listener(ipv6, SOCK_STREAM, ports[i])) >= 0)
                        made++;
        if (r >= 0)
                r = fdpass_send(egress_fd, &(char){EGRESS_LISTENERS_BYTE}, 1, fds, made);
        for (size_t i = 0; i < made; i++)
                close(fds[i]);
        return r;
}

int network_open(int egress_fd, const uint16_t *more_ports, size_t more_count) {
        uint16_t ports[LISTENERS - 1] = {EGRESS_PORT_NAMES, EGRESS_PORT_HTTP, EGRESS_PORT_HTTPS};
        if (more_count > EGRESS_MORE_PORTS_MAX)
                return -E2BIG;
        if (more_count > 0)
                memcpy(ports + 3, more_ports, more_count * sizeof(*more_ports));
        const bool ipv6 = has_ipv6();
        int r = make_routes(ipv6);
        return r < 0 ? r : hand_over(egress_fd, ipv6, ports, 3 + more_count);
}
