/* The work channel; see work_channel.h. */
#include "run/work_channel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"

#define ROUND_BYTES (512 << 10)
#define NAMED_MIN (sizeof(struct file_head) + 1)
#define NAMED_MAX (sizeof(struct file_head) + FILE_NAME_MAX)

static const struct frame_rule rules[] = {
        {FRAME_INPUTS_END, 0, 0},
        {FRAME_INPUT_FAILED, NAMED_MIN, NAMED_MAX},
        {FRAME_FILE, NAMED_MIN, NAMED_MAX + FILE_BYTES_MAX},
        {FRAME_SKIPPED, NAMED_MIN, NAMED_MAX},
        {FRAME_FILES_END, sizeof(struct files_end), sizeof(struct files_end)},
};

bool work_name_is_good(const char *name, size_t length) {
        if (length == 0 || length > FILE_NAME_MAX || memchr(name, '\0', length))
                return false;
        for (const char *part = name, *end = name + length; part <= end;) {
                const char *slash = memchr(part, '/', (size_t)(end - part));
                size_t size = (size_t)((slash ? slash : end) - part);
                if (size == 0 || (size == 1 && part[0] == '.') || (size == 2 && part[0] == '.' && part[1] == '.'))
                        return false;
                part += size + 1;
        }
        return true;
}

/* Takes the head of a frame that names a file apart. False if the numbers in it do not fit together. */
static bool split(const char *payload, uint32_t length, struct file_head *head, const char **ret_name,
                  const char **ret_rest, size_t *ret_rest_length) {
        memcpy(head, payload, sizeof(*head));
        if (head->name_length > length - sizeof(*head))
                return false;
        *ret_name = payload + sizeof(*head);
        *ret_rest = *ret_name + head->name_length;
        *ret_rest_length = length - sizeof(*head) - head->name_length;
        return work_name_is_good(*ret_name, head->name_length);
}

static bool take_input_failure(struct work_channel *channel, const char *payload, uint32_t length) {
        struct file_head head;
        const char *name, *rest;
        size_t rest_length;
        if (!split(payload, length, &head, &name, &rest, &rest_length) || rest_length > 0 ||
            !channel->listening_to_inputs)
                return false;
        if (channel->failed_name_length == 0) {
                memcpy(channel->failed_name, name, head.name_length);
                channel->failed_name_length = head.name_length;
                channel->failed_error = head.reason > 0 && head.reason < 4096 ? (int)head.reason : EIO;
        }
        return true;
}

static bool take_inputs_end(struct work_channel *channel) {
        bool all_sent = channel->input > channel->batch.count;
        if (!channel->listening_to_inputs || !all_sent)
                return false;
        channel->listening_to_inputs = false;
        channel->handler->on_inputs_tried(channel->data, channel->failed_name_length > 0 ? channel->failed_name : NULL,
                                          channel->failed_name_length, channel->failed_error);
        return true;
}

static bool take_file(struct work_channel *channel, uint32_t type, const char *payload, uint32_t length) {
        struct file_head head;
        struct work_file file = {.bytes = NULL};
        const char *rest;
        size_t rest_length;
        if (channel->listening_to_inputs || !split(payload, length, &head, &file.name, &rest, &rest_length))
                return false;
        file.name_length = head.name_length;
        file.size = head.size;
        if (type == FRAME_SKIPPED) {
                file.skipped = (enum skip_reason)head.reason;
                if (rest_length > 0 || head.reason < SKIP_TOO_LARGE || head.reason > SKIP_NAME ||
                    ++channel->skipped > SKIPPED_NAMED_MAX)
                        return false;
        } else {
                file.bytes = rest;
                file.block = payload == channel->reader.payload ? &channel->reader.payload : NULL;
                channel->files_bytes += head.size;
                if (head.size != rest_length || head.size > FILE_BYTES_MAX || channel->files_bytes > FILES_BYTES_MAX ||
                    ++channel->files > FILES_MAX)
                        return false;
        }
        channel->handler->on_file(channel->data, &file);
        return true;
}

static bool on_frame(void *data, uint32_t type, const char *payload, uint32_t length) {
        struct work_channel *channel = data;
        struct files_end end;
        switch (type) {
        case FRAME_INPUT_FAILED:
                return take_input_failure(channel, payload, length);
        case FRAME_INPUTS_END:
                return take_inputs_end(channel);
        case FRAME_FILES_END:
                memcpy(&end, payload, sizeof(end));
                channel->complete = true;
                channel->handler->on_files_end(channel->data, &end);
                return false; /* nothing comes after it: not bad, but the end of the reading */
        default:
                return take_file(channel, type, payload, length);
        }
}

static void end_reading(struct work_channel *channel) {
        channel->ended = true;
        if (!channel->complete)
                shutdown(channel->fd, SHUT_RD); /* or init would block on a channel that nobody reads */
        frame_reader_deinit(&channel->reader);
        loop_remove(channel->loop, &channel->source);
}

static void read_frames(struct work_channel *channel, size_t budget) {
        if (channel->ended)
                return;
        enum frame_status status = frame_reader_read(&channel->reader, channel->fd, budget);
        if (status == FRAMES_END || status == FRAMES_BAD)
                end_reading(channel);
}

/* Heads of the frame that is being sent, in one piece with its name. Returns their length. */
static size_t frame_start(const struct work_input *input, char *to) {
        struct file_head head = {.name_length = (uint32_t)input->name_length, .size = input->size};
        struct frame frame = {
                .type = FRAME_INPUT,
                .length = (uint32_t)(sizeof(head) + input->name_length + input->size),
        };
        memcpy(to, &frame, sizeof(frame));
        memcpy(to + sizeof(frame), &head, sizeof(head));
        memcpy(to + sizeof(frame) + sizeof(head), input->name, input->name_length);
        return sizeof(frame) + sizeof(head) + input->name_length;
}

static size_t frame_end(uint32_t flags, char *to) {
        const struct frame end = {.type = FRAME_INPUTS_END, .length = flags ? sizeof(flags) : 0};
        memcpy(to, &end, sizeof(end));
        memcpy(to + sizeof(end), &flags, end.length);
        return sizeof(end) + end.length;
}

static ssize_t send_from(struct work_channel *channel, const char *start, size_t start_length, const char *rest,
                         size_t rest_length) {
        size_t start_sent = channel->sent < start_length ? channel->sent : start_length;
        size_t rest_sent = channel->sent - start_sent;
        struct iovec parts[] = {
                {.iov_base = (char *)start + start_sent, .iov_len = start_length - start_sent},
                {.iov_base = (char *)rest + rest_sent, .iov_len = rest_length - rest_sent},
        };
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        return sendmsg(channel->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends on at the current frame. 1: it is out; 0: the socket is full; negative errno. */
static int send_frame(struct work_channel *channel) {
        char start[sizeof(struct frame) + NAMED_MAX];
        const struct work_batch *batch = &channel->batch;
        const struct work_input *input = channel->input < batch->count ? &batch->inputs[channel->input] : NULL;
        size_t rest_length = input ? input->size : 0;
        size_t start_length = input ? frame_start(input, start) : frame_end(batch->flags, start);

        while (channel->sent < start_length + rest_length) {
                ssize_t sent =
                        send_from(channel, start, start_length, rest_length > 0 ? input->bytes : "", rest_length);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return errno == EAGAIN ? 0 : -errno;
                channel->sent += (size_t)sent;
        }
        channel->sent = 0;
        channel->input++;
        return 1;
}

/* True: everything is sent, or there is nobody to send to; the end of the sandbox tells what that means. */
static bool send_rest(struct work_channel *channel) {
        while (channel->input <= channel->batch.count) {
                int r = send_frame(channel);
                if (r <= 0)
                        return r < 0;
        }
        return true;
}

static void on_socket(void *data, int fd, uint32_t events) {
        struct work_channel *channel = data;
        (void)fd;
        if ((events & EPOLLOUT) && send_rest(channel))
                loop_set_events(channel->loop, channel->source, EPOLLIN);
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                read_frames(channel, ROUND_BYTES);
}

void work_channel_init(struct work_channel *channel, struct loop *loop, int fd, const struct work_handler *handler,
                       void *data) {
        *channel = (struct work_channel){.loop = loop, .fd = fd, .handler = handler, .data = data};
        frame_reader_init(&channel->reader, rules, ARRAY_SIZE(rules), on_frame, channel);
}

void work_channel_deinit(struct work_channel *channel) {
        loop_remove(channel->loop, &channel->source);
        frame_reader_deinit(&channel->reader);
        close_fd(&channel->fd);
}

int work_channel_release(struct work_channel *channel) {
        bool sending = channel->sent > 0 || channel->listening_to_inputs;
        bool broken = channel->ended && !channel->complete;
        int fd = sending || broken ? -1 : take_fd(&channel->fd);
        work_channel_deinit(channel);
        return fd;
}

int work_channel_send_inputs(struct work_channel *channel, struct work_batch batch) {
        channel->batch = batch;
        channel->input = channel->sent = 0;
        channel->listening_to_inputs = true;
        channel->failed_name_length = 0;
        uint32_t events = send_rest(channel) ? EPOLLIN : EPOLLIN | EPOLLOUT;
        if (channel->source)
                return loop_set_events(channel->loop, channel->source, events);
        return loop_add_fd(channel->loop, channel->fd, events, on_socket, channel, &channel->source);
}

/* So small that the socket, which is empty, takes it whole. */
int work_channel_collect(struct work_channel *channel) {
        const struct frame frame = {.type = FRAME_COLLECT};
        if (channel->ended)
                return -EPIPE;
        ssize_t sent = send(channel->fd, &frame, sizeof(frame), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent != (ssize_t)sizeof(frame))
                return sent < 0 ? -errno : -EIO;
        return work_channel_listen(channel);
}

int work_channel_listen(struct work_channel *channel) {
        if (channel->source || channel->ended)
                return 0;
        return loop_add_fd(channel->loop, channel->fd, EPOLLIN, on_socket, channel, &channel->source);
}

bool work_channel_drain(struct work_channel *channel) {
        read_frames(channel, FRAMES_TO_THE_END);
        return channel->ended;
}
