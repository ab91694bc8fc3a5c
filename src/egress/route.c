/* Routes; see route.h. */
#include "egress/route.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

struct question {
        struct nlmsghdr header;
        struct rtmsg route;
        struct rtattr attribute;
        uint8_t destination[16];
};

union answer {
        struct nlmsghdr header;
        char bytes[2048];
};

int route_open(void) {
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        return fd < 0 ? -errno : fd;
}

static enum route read_answer(const union answer *answer, size_t length) {
        const struct nlmsghdr *header = &answer->header;
        if (!NLMSG_OK(header, (uint32_t)length))
                return ROUTE_OWN;
        if (header->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *error = NLMSG_DATA(header);
                const int code = header->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ? 0 : error->error;
                return code == -ENETUNREACH || code == -EHOSTUNREACH || code == -EACCES || code == -EINVAL ? ROUTE_NONE
                                                                                                           : ROUTE_OWN;
        }
        if (header->nlmsg_type != RTM_NEWROUTE || header->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg)))
                return ROUTE_OWN;
        switch (((const struct rtmsg *)NLMSG_DATA(header))->rtm_type) {
        case RTN_UNICAST:
                return ROUTE_OUT;
        case RTN_UNREACHABLE:
        case RTN_PROHIBIT:
        case RTN_BLACKHOLE:
                return ROUTE_NONE;
        default:
                return ROUTE_OWN;
        }
}

enum route route_to(int netlink_fd, const struct address *address) {
        static uint32_t number;
        const size_t bytes = ADDRESS_BYTES(address);
        union answer answer;
        struct question question = {
                .header.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)) + RTA_LENGTH(bytes),
                .header.nlmsg_type = RTM_GETROUTE,
                .header.nlmsg_flags = NLM_F_REQUEST,
                .header.nlmsg_seq = ++number,
                .route.rtm_family = address->family == 4 ? AF_INET : AF_INET6,
                .route.rtm_dst_len = (uint8_t)(bytes * 8),
                .attribute.rta_len = (unsigned short)RTA_LENGTH(bytes),
                .attribute.rta_type = RTA_DST,
        };
        memcpy(question.destination, address->bytes, bytes);
        if (send(netlink_fd, &question, question.header.nlmsg_len, 0) < 0)
                return ROUTE_OWN;
        for (;;) {
                ssize_t got = recv(netlink_fd, &answer, sizeof(answer), 0);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < (ssize_t)sizeof(answer.header))
                        return ROUTE_OWN;
                if (answer.header.nlmsg_seq == number)
                        return read_answer(&answer, (size_t)got);
        }
}
