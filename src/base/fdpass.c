/* Messages with descriptors; see fdpass.h. */
#include "base/fdpass.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

int fdpass_send(int sock, const void *bytes, size_t length, const int *fds, size_t fd_count) {
        union control control;
        struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

        assert(fd_count <= FDPASS_MAX);
        if (fd_count > 0) {
                memset(&control, 0, sizeof(control));
                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
                struct cmsghdr *header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
                memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
        }

        ssize_t sent;
        do
                sent = sendmsg(sock, &message, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        if (sent < 0)
                return -errno;
        return (size_t)sent == length ? 0 : -EIO;
}

static size_t take_descriptors(struct msghdr *message, int *fds, size_t fd_max, size_t *dropped) {
        size_t count = 0;
        for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
                if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
                        continue;
                size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < here; i++) {
                        int fd;
                        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
                        if (count < fd_max)
                                fds[count++] = fd;
                        else {
                                close(fd);
                                (*dropped)++;
                        }
                }
        }
        return count;
}

ssize_t fdpass_recv(int sock, void *bytes, size_t length, int *fds, size_t fd_max, size_t *ret_fd_count) {
        union control control;
        struct iovec part = {.iov_base = bytes, .iov_len = length};
        struct msghdr message = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = control.bytes,
                .msg_controllen = sizeof(control.bytes),
        };
        ssize_t got;
        size_t dropped = 0;

        *ret_fd_count = 0;
        do
                got = recvmsg(sock, &message, MSG_CMSG_CLOEXEC);
        while (got < 0 && errno == EINTR);
        if (got < 0)
                return -errno;

        size_t count = take_descriptors(&message, fds, fd_max, &dropped);
        if (dropped > 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
                for (size_t i = 0; i < count; i++)
                        close(fds[i]);
                return -EMSGSIZE;
        }
        *ret_fd_count = count;
        return got;
}
