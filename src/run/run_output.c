/*
 * What a run prints: two pipes, read as they fill, up to a limit.
 *
 * Runs in the api process.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "run/run_private.h"

uint64_t run_output_total(const struct run *run) {
        return run->pipes[RUN_STDOUT].output.written + run->pipes[RUN_STDERR].output.written;
}

void run_pipe_close(struct run *run, struct run_pipe *pipe) {
        loop_remove(run->setup.loop, &pipe->source);
        close_fd(&pipe->fd);
        close_fd(&pipe->held);
}

void run_let_pipes_end(struct run *run) {
        for (int i = 0; i < RUN_STREAMS; i++)
                close_fd(&run->pipes[i].held);
}

/* Stops listening to what a snippet prints; it then blocks as soon as the pipe is full. */
void run_deafen(struct run *run) {
        for (int i = 0; i < RUN_STREAMS; i++)
                loop_remove(run->setup.loop, &run->pipes[i].source);
}

static void check_output_limit(struct run *run) {
        if (run_output_total(run) <= run->setup.limits.output_max_bytes || run->overflowed || run->hold != RUN_HAS_SANDBOX)
                return;
        run->overflowed = true;
        run->setup.host->overflow(run->setup.host_data, run);
        run_deafen(run);
}

/* Reads one slice. False: there is no more now. */
bool run_read_slice(struct run *run, enum run_stream stream) {
        struct run_pipe *pipe = &run->pipes[stream];
        size_t room;
        char *to = output_space(&pipe->output, SLICE_BYTES, &room);
        ssize_t got;
        do
                got = read(pipe->fd, to, room);
        while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN)
                return false;
        if (got <= 0) {
                run_pipe_close(run, pipe);
                return false;
        }
        output_added(&pipe->output, (size_t)got);
        if (run->setup.request->watched && run->machine.state != RUN_DONE)
                run->setup.handler->on_output(run, run->setup.handler_data, stream, to, (size_t)got);
        return true;
}

static void on_pipe(struct run *run, enum run_stream stream) {
        run_read_slice(run, stream);
        check_output_limit(run);
}

static void on_stdout(void *data, int fd, uint32_t events) {
        (void)fd;
        (void)events;
        on_pipe(data, RUN_STDOUT);
}

static void on_stderr(void *data, int fd, uint32_t events) {
        (void)fd;
        (void)events;
        on_pipe(data, RUN_STDERR);
}

int run_listen(struct run *run) {
        static const loop_fd_fn calls[RUN_STREAMS] = {on_stdout, on_stderr};
        for (int i = 0; i < RUN_STREAMS; i++) {
                struct run_pipe *pipe = &run->pipes[i];
                if (pipe->fd < 0 || pipe->source)
                        continue;
                int r = loop_add_fd(run->setup.loop, pipe->fd, EPOLLIN, calls[i], run, &pipe->source);
                if (r < 0)
                        return r;
        }
        return 0;
}

void run_pause_output(struct run *run, bool pause) {
        if (run->machine.state != RUN_CLAIMED && run->machine.state != RUN_STARTED)
                return;
        if (pause)
                run_deafen(run);
        else if (!run->overflowed && run_listen(run) < 0)
                log_error("output cannot be listened to again", "run", run->id);
}

static int prepared[RUN_STREAMS][2] = {{-1, -1}, {-1, -1}};

static int prepare_pipe(int ends[2]) {
        if (ends[0] >= 0)
                return 0;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        return 0;
}

int run_pipes_prepare(void) {
        int r = 0;
        for (int i = 0; r == 0 && i < RUN_STREAMS; i++)
                r = prepare_pipe(prepared[i]);
        return r;
}

/* Pipes for this call alone, instead of those that came with the sandbox or are not there any more. */
int run_make_pipes(struct run *run, int fds[CELL_FDS]) {
        int r = run_pipes_prepare();
        for (int i = 0; r == 0 && i < RUN_STREAMS; i++) {
                close_fd(&run->pipes[i].fd);
                run->pipes[i].fd = take_fd(&prepared[i][0]);
                fds[CELL_FD_STDOUT + i] = take_fd(&prepared[i][1]);
                run->pipes[i].held = fcntl(fds[CELL_FD_STDOUT + i], F_DUPFD_CLOEXEC, 0);
        }
        return r;
}
