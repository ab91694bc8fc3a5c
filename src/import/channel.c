/* The claim channel of an import; see channel.h. */
#include "import/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdpass.h"
#include "spawn/frames.h"

static int read_whole(int fd, void *bytes, size_t length) {
        for (char *at = bytes; length > 0;) {
                ssize_t got = read(fd, at, length);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return got < 0 ? -errno : -ECONNRESET;
                at += got;
                length -= (size_t)got;
        }
        return 0;
}

static int write_whole(int fd, const void *bytes, size_t length) {
        for (const char *at = bytes; length > 0;) {
                ssize_t sent = send(fd, at, length, MSG_NOSIGNAL);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return -errno;
                at += sent;
                length -= (size_t)sent;
        }
        return 0;
}

/* The descriptor travels with the first byte; a stream may hand over less than the whole head with it. */
static int receive_head(int channel, struct frame *frame, int *fd) {
        size_t fd_count = 0;
        ssize_t got = fdpass_recv(channel, frame, sizeof(*frame), fd, 1, &fd_count);
        if (got <= 0)
                return got < 0 ? (int)got : -ECONNRESET;
        if (fd_count == 0)
                *fd = -1;
        return read_whole(channel, (char *)frame + got, sizeof(*frame) - (size_t)got);
}

int channel_receive(int channel, json_t **ret, int *ret_fd) {
        struct frame frame;
        CLEANUP_CLOSE int fd = -1;
        int r = receive_head(channel, &frame, &fd);
        if (r < 0)
                return r;
        if (frame.type != FRAME_CALL || frame.length > CALL_BYTES_MAX)
                return -EPROTO;
        CLEANUP_FREE char *payload = malloc(frame.length + 1u);
        if (!payload)
                return -ENOMEM;
        r = read_whole(channel, payload, frame.length);
        if (r < 0)
                return r;
        *ret = json_loadb(payload, frame.length, JSON_REJECT_DUPLICATES, NULL);
        if (!*ret)
                return -EPROTO;
        *ret_fd = take_fd(&fd);
        return 0;
}

int channel_send(int channel, uint32_t type, const json_t *payload) {
        CLEANUP_FREE char *text = payload ? json_dumps(payload, JSON_COMPACT) : NULL;
        if (payload && !text)
                return -ENOMEM;
        size_t length = text ? strlen(text) : 0;
        if (length > CALL_END_BYTES)
                return -EMSGSIZE;
        struct frame frame = {.type = type, .length = (uint32_t)length};
        int r = write_whole(channel, &frame, sizeof(frame));
        return r < 0 ? r : write_whole(channel, text, length);
}

void channel_progress(int channel, const char *step, uint64_t done, uint64_t total, const char *message) {
        json_t *payload = json_pack("{s:s, s:I, s:o, s:s}", "step", step, "done", (json_int_t)done, "total",
                                    total ? json_integer((json_int_t)total) : json_null(), "message", message);
        int r = channel_send(channel, FRAME_PROGRESS, payload);
        json_decref(payload);
        if (r < 0)
                exit(1); /* nobody waits for the image */
}
