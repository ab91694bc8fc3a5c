/* The listening socket; see http_listen.h. */
#include "api/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define BACKLOG 512

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
};

static int parse(const char *text, union address *address, socklen_t *length) {
        char host[LISTEN_TEXT_BYTES];
        const char *colon = strrchr(text, ':');
        const char *from = text;
        size_t count = colon ? (size_t)(colon - text) : 0;
        char *end;

        if (!colon || count >= sizeof(host))
                return -EINVAL;
        errno = 0;
        unsigned long port = strtoul(colon + 1, &end, 10);
        if (errno || end == colon + 1 || *end || port > 65535)
                return -EINVAL;
        if (count >= 2 && from[0] == '[' && from[count - 1] == ']')
                from++, count -= 2;
        memcpy(host, from, count);
        host[count] = '\0';

        memset(address, 0, sizeof(*address));
        if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
                address->v4.sin_family = AF_INET;
                address->v4.sin_port = htons((uint16_t)port);
                *length = sizeof(address->v4);
                return 0;
        }
        if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1) {
                address->v6.sin6_family = AF_INET6;
                address->v6.sin6_port = htons((uint16_t)port);
                *length = sizeof(address->v6);
                return 0;
        }
        return -EINVAL;
}

int http_listen(const char *text, int *ret_fd, struct err *e) {
        union address address;
        socklen_t length;
        int on = 1;

        if (parse(text, &address, &length) < 0)
                return err_set_field(e, -EINVAL, "SANDBOX_LISTEN",
                                     "\"%s\" is not a numeric address and a port, such as 127.0.0.1:8080", text);
        CLEANUP_CLOSE int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return err_set(e, -errno, "cannot make a socket: %s", strerror(errno));
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, &address.any, length) < 0 || listen(fd, BACKLOG) < 0) {
                int r = -errno;
                return err_set_field(e, r, "SANDBOX_LISTEN", "cannot listen on %s: %s%s", text, strerror(-r),
                                     r == -EADDRINUSE ? "; another program uses this port" : "");
        }
        *ret_fd = take_fd(&fd);
        return 0;
}

int http_listen_take(int fd, struct err *e) {
        int domain = 0, listens = 0;
        socklen_t size = sizeof(int);
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens ||
            (domain != AF_INET && domain != AF_INET6))
                return err_set_field(e, -EINVAL, "LISTEN_FDS",
                                     "the socket from the service manager is not one that listens for TCP");
        int flags = fcntl(fd, F_GETFL);
        return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0
                       ? err_set(e, -errno, "cannot use the service manager's socket: %s", strerror(errno))
                       : 0;
}

void http_listen_text(int fd, char text[LISTEN_TEXT_BYTES]) {
        union address address;
        socklen_t length = sizeof(address);
        char host[INET6_ADDRSTRLEN] = "?";

        memset(&address, 0, sizeof(address));
        if (getsockname(fd, &address.any, &length) < 0)
                snprintf(text, LISTEN_TEXT_BYTES, "unknown");
        else if (address.any.sa_family == AF_INET6) {
                inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
                snprintf(text, LISTEN_TEXT_BYTES, "[%s]:%u", host, ntohs(address.v6.sin6_port));
        } else {
                inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
                snprintf(text, LISTEN_TEXT_BYTES, "%s:%u", host, ntohs(address.v4.sin_port));
        }
}
