/* The claim channel; see claim_channel.h. */
#include "run/claim_channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "run/mime_map.h"
#include "base/cleanup.h"

/* Read per wake-up of the loop, so that one sandbox cannot keep the others waiting. */
#define ROUND_BYTES (256 << 10)

static const struct frame_rule rules[] = {
        {FRAME_STARTED, 0, 0},
        {FRAME_RESULT, 2, RESULT_FRAME_BYTES},
        {FRAME_CELL_END, sizeof(struct cell_end), sizeof(struct cell_end)},
        {FRAME_PROGRESS, 2, PROGRESS_BYTES_MAX},
        {FRAME_CALL_END, 2, CALL_END_BYTES},
};

static bool take_result(struct claim_channel *channel, const char *payload, uint32_t length) {
        size_t json_length;
        if (++channel->results > RESULTS_MAX || channel->results_bytes + length > RESULTS_BYTES_MAX)
                return false;
        channel->results_bytes += length;
        char *json = mime_map_normalise(payload, length, &json_length);
        if (!json)
                return false;
        channel->handler->on_result(channel->data, json, json_length);
        return true;
}

static void close_fds(struct claim_channel *channel) {
        for (unsigned i = 0; i < channel->fd_count; i++)
                close_fd(&channel->fds[i]);
        channel->fd_count = 0;
}

/* The last frame of a call: what might follow it belongs to nobody. */
static bool take_call_over(struct claim_channel *channel, const char *payload) {
        struct cell_end end;
        if (channel->head.type != FRAME_CELL || !channel->started || channel->over)
                return false;
        memcpy(&end, payload, sizeof(end));
        channel->over = true;
        channel->handler->on_call_over(channel->data, end.exit_code);
        return true;
}

/* Of a tool call or an import. */
static bool take_word(struct claim_channel *channel, uint32_t type, const char *payload, uint32_t length) {
        channel->over = type == FRAME_CALL_END;
        if (channel->over)
                channel->handler->on_call_end(channel->data, payload, length);
        else if (channel->handler->on_progress)
                channel->handler->on_progress(channel->data, payload, length);
        return true;
}

static bool on_frame(void *data, uint32_t type, const char *payload, uint32_t length) {
        struct claim_channel *channel = data;
        bool of_call = type == FRAME_PROGRESS || type == FRAME_CALL_END;
        if (channel->over || (type != FRAME_STARTED && of_call != (channel->head.type == FRAME_CALL)))
                return false;
        if (of_call)
                return take_word(channel, type, payload, length);
        if (type == FRAME_RESULT)
                return take_result(channel, payload, length);
        if (type == FRAME_CELL_END)
                return take_call_over(channel, payload);
        if (channel->started)
                return false;
        channel->started = true;
        channel->handler->on_started(channel->data);
        return true;
}

/*
 * Nothing more will be read. After a bad frame the reading side is shut, so that a runner that goes on writing gets EPIPE
 * and does not block until its time is over.
 */
static void end_reading(struct claim_channel *channel, enum frame_status status) {
        const struct frame *last = &channel->reader.header.frame;
        channel->ended = channel->broken = true;
        if (status == FRAMES_BAD && channel->head.type == FRAME_CALL && !channel->over &&
            last->type == FRAME_CALL_END && last->length > CALL_END_BYTES)
                channel->handler->on_call_end(channel->data, NULL, last->length);
        if (status == FRAMES_BAD)
                shutdown(channel->fd, SHUT_RD);
        frame_reader_deinit(&channel->reader);
        loop_remove(channel->loop, &channel->source);
}

static void read_frames(struct claim_channel *channel, size_t budget) {
        if (channel->ended)
                return;
        enum frame_status status = frame_reader_read(&channel->reader, channel->fd, budget);
        if (status == FRAMES_END || status == FRAMES_BAD)
                end_reading(channel, status);
}

static ssize_t send_part(struct claim_channel *channel) {
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(CELL_FDS * sizeof(int))];
        } control;
        size_t head_left = channel->sent < sizeof(channel->head) ? sizeof(channel->head) - channel->sent : 0;
        size_t code_sent = channel->sent - (sizeof(channel->head) - head_left);
        struct iovec parts[] = {
                {.iov_base = (char *)&channel->head + sizeof(channel->head) - head_left, .iov_len = head_left},
                {.iov_base = (char *)channel->code + code_sent,
                 .iov_len = channel->to_send - sizeof(channel->head) - code_sent},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

        if (channel->fd_count > 0) {
                size_t size = channel->fd_count * sizeof(int);
                memset(&control, 0, sizeof(control));
                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(size);
                struct cmsghdr *header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(size);
                memcpy(CMSG_DATA(header), channel->fds, size);
        }
        return sendmsg(channel->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* True: done, or there is nobody left to send to; the end of the sandbox tells what that means. */
static bool send_rest(struct claim_channel *channel) {
        while (channel->sent < channel->to_send) {
                ssize_t sent = send_part(channel);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return errno != EAGAIN;
                channel->sent += (size_t)sent;
                close_fds(channel);
        }
        return true;
}

static void on_socket(void *data, int fd, uint32_t events) {
        struct claim_channel *channel = data;
        (void)fd;
        if ((events & EPOLLOUT) && send_rest(channel))
                loop_set_events(channel->loop, channel->source, EPOLLIN);
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_frames(channel, ROUND_BYTES);
}

void claim_channel_init(struct claim_channel *channel, struct loop *loop, int fd, const struct claim_handler *handler,
                        void *data) {
        *channel = (struct claim_channel){
                .loop = loop,
                .fd = fd,
                .handler = handler,
                .data = data,
        };
        frame_reader_init(&channel->reader, rules, ARRAY_SIZE(rules), on_frame, channel);
}

void claim_channel_deinit(struct claim_channel *channel) {
        loop_remove(channel->loop, &channel->source);
        frame_reader_deinit(&channel->reader);
        close_fd(&channel->fd);
        close_fds(channel);
}

int claim_channel_release(struct claim_channel *channel) {
        bool unused = channel->to_send == 0;
        int fd = (channel->over || unused) && !channel->broken ? take_fd(&channel->fd) : -1;
        claim_channel_deinit(channel);
        return fd;
}

int claim_channel_send(struct claim_channel *channel, enum frame_type type, const char *code, size_t length,
                       const int *fds) {
        unsigned fd_count = type == FRAME_CELL ? CELL_FDS : 1;
        assert(length <= CODE_BYTES_MAX && channel->to_send == 0);
        channel->head = (struct frame){.type = type, .length = (uint32_t)length};
        channel->code = code;
        channel->to_send = sizeof(channel->head) + length;
        memcpy(channel->fds, fds, fd_count * sizeof(*fds));
        channel->fd_count = fd_count;
        bool done = send_rest(channel);
        return loop_add_fd(channel->loop, channel->fd, done ? EPOLLIN : EPOLLIN | EPOLLOUT, on_socket, channel,
                           &channel->source);
}

bool claim_channel_drain(struct claim_channel *channel) {
        read_frames(channel, FRAMES_TO_THE_END);
        return channel->ended;
}
