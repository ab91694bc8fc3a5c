/* Output that comes after its call is over; see late_output.h. */
#include "session/late_output.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"

static void drop_pipe(struct late_pipe *pipe) {
        loop_remove(pipe->owner->loop, &pipe->source);
        close_fd(&pipe->fd);
}

static void on_output(void *data, int fd, uint32_t events) {
        static char scrap[64 << 10];
        struct late_pipe *pipe = data;
        (void)events;
        ssize_t got = read(fd, scrap, sizeof(scrap));
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (got > 0)
                pipe->dropped += (uint64_t)got;
        if (got <= 0 || pipe->dropped > LATE_BYTES_MAX)
                drop_pipe(pipe);
}

void late_output_init(struct late_output *late, struct loop *loop) {
        *late = (struct late_output){.loop = loop};
        for (size_t i = 0; i < LATE_PIPES_MAX; i++)
                late->pipes[i] = (struct late_pipe){.owner = late, .fd = -1};
}

void late_output_deinit(struct late_output *late) {
        for (size_t i = 0; i < LATE_PIPES_MAX; i++)
                drop_pipe(&late->pipes[i]);
}

/* Most pipes are at their end soon, and free again. */
static struct late_pipe *find_place(struct late_output *late) {
        for (size_t i = 0; i < LATE_PIPES_MAX; i++)
                if (late->pipes[i].fd < 0)
                        return &late->pipes[i];
        return &late->pipes[late->next++ % LATE_PIPES_MAX];
}

void late_output_add(struct late_output *late, int fd) {
        if (fd < 0)
                return;
        struct late_pipe *pipe = find_place(late);
        drop_pipe(pipe);
        pipe->fd = fd;
        pipe->dropped = 0;
        if (loop_add_fd(late->loop, fd, EPOLLIN, on_output, pipe, &pipe->source) < 0)
                drop_pipe(pipe);
}
