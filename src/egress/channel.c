/* Records on their way to the api process; see channel.h. */
#include "egress/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FRAME_MAX (sizeof(struct frame) + sizeof(struct egress_record) + EGRESS_HOST_MAX)
#define LAST_PATIENCE_NS (3 * NS_PER_S)

struct channel {
        struct loop *loop;
        int fd; /* -1: the other side is gone */
        struct loop_source *source, *timer;
        uint8_t *bytes; /* not sent yet: from start to end */
        size_t start, end, size;
        size_t records;
        bool ending;
        void (*gone)(void *data);
        void *data;
};

static void give_up(struct channel *channel) {
        loop_remove(channel->loop, &channel->source);
        loop_remove(channel->loop, &channel->timer);
        close_fd(&channel->fd);
        free(TAKE_PTR(channel->bytes));
        channel->start = channel->end = channel->size = 0;
        if (channel->ending)
                free(channel);
        else
                channel->gone(channel->data);
}

/* Sends what the socket takes. After it, the channel may be gone, if it was ending. */
static void flush(struct channel *channel) {
        while (channel->start < channel->end) {
                ssize_t sent = send(channel->fd, channel->bytes + channel->start, channel->end - channel->start,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0 && errno == EAGAIN) {
                        loop_set_events(channel->loop, channel->source, EPOLLOUT);
                        return;
                }
                if (sent < 0) {
                        give_up(channel);
                        return;
                }
                channel->start += (size_t)sent;
        }
        channel->start = channel->end = 0;
        loop_set_events(channel->loop, channel->source, 0);
        if (channel->ending)
                give_up(channel);
}

static void on_event(void *data, int fd, uint32_t events) {
        struct channel *channel = data;
        (void)fd;
        if (events & (EPOLLHUP | EPOLLERR))
                give_up(channel);
        else
                flush(channel);
}

int channel_new(struct loop *loop, int fd, void (*gone)(void *data), void *data, struct channel **ret) {
        struct channel *channel = malloc(sizeof(*channel));
        if (!channel)
                return -ENOMEM;
        *channel = (struct channel){.loop = loop, .fd = fd, .gone = gone, .data = data};
        int r = loop_add_fd(loop, fd, 0, on_event, channel, &channel->source);
        if (r < 0) {
                free(channel);
                return r;
        }
        *ret = channel;
        return 0;
}

static bool make_space(struct channel *channel) {
        if (channel->size - channel->end >= FRAME_MAX)
                return true;
        if (channel->start > 0) {
                memmove(channel->bytes, channel->bytes + channel->start, channel->end - channel->start);
                channel->end -= channel->start;
                channel->start = 0;
        }
        if (channel->size - channel->end >= FRAME_MAX)
                return true;
        const size_t size = channel->size > 0 ? channel->size * 2 : 8 * FRAME_MAX;
        uint8_t *bytes = realloc(channel->bytes, size);
        if (!bytes)
                return false;
        channel->bytes = bytes;
        channel->size = size;
        return true;
}

static void put(struct channel *channel, const void *bytes, size_t length) {
        memcpy(channel->bytes + channel->end, bytes, length);
        channel->end += length;
}

bool channel_tell(struct channel *channel, const struct egress_record *record, const char *host) {
        struct egress_record told = *record;
        told.host_length = (uint32_t)strnlen(host, EGRESS_HOST_MAX);
        const struct frame frame = {
                .type = FRAME_EGRESS,
                .length = (uint32_t)(sizeof(told) + told.host_length),
        };
        assert(!channel->ending && channel->records < EGRESS_RECORDS_MAX);
        channel->records++;
        if (channel->fd < 0)
                return false;
        if (!make_space(channel)) {
                give_up(channel);
                return false;
        }
        put(channel, &frame, sizeof(frame));
        put(channel, &told, sizeof(told));
        put(channel, host, told.host_length);
        flush(channel);
        return channel->records < EGRESS_RECORDS_MAX;
}

size_t channel_left(const struct channel *channel) {
        return channel->fd < 0 ? 0 : EGRESS_RECORDS_MAX - channel->records;
}

static void on_overdue(void *data) {
        struct channel *channel = data;
        channel->timer = NULL;
        give_up(channel);
}

void channel_end(struct channel **channel) {
        struct channel *ending = TAKE_PTR(*channel);
        if (!ending)
                return;
        ending->ending = true;
        if (ending->fd < 0 || loop_add_timer(ending->loop, LAST_PATIENCE_NS, on_overdue, ending, &ending->timer) < 0)
                give_up(ending);
        else
                flush(ending);
}
