/*
 * A sandbox played by the test: the other ends of the four descriptors of SPAWN_READY.
 *
 * The test speaks frames.h from here as the runner and the room's init would, or as they never would.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawn/frames.h"
#include "spawn/proto.h"

struct fake_sandbox {
        int claim, work, out, err; /* -1: closed */
};

/* Opens it; `fds` are the ends that the api process gets. */
static inline void fake_sandbox_open(struct fake_sandbox *sandbox, int fds[SPAWN_READY_FDS]) {
        int pair[2];
        fds[SPAWN_FD_EGRESS] = -1;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        fds[SPAWN_FD_CLAIM] = pair[0];
        sandbox->claim = pair[1];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        fds[SPAWN_FD_WORK] = pair[0];
        sandbox->work = pair[1];
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        fds[SPAWN_FD_STDOUT] = pair[0];
        sandbox->out = pair[1];
        assert_int_equal(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        fds[SPAWN_FD_STDERR] = pair[0];
        sandbox->err = pair[1];
}

static inline void fake_sandbox_close(struct fake_sandbox *sandbox) {
        sandbox->claim = close_fd(&sandbox->claim);
        sandbox->work = close_fd(&sandbox->work);
        sandbox->out = close_fd(&sandbox->out);
        sandbox->err = close_fd(&sandbox->err);
}

static inline void fake_frame(int fd, uint32_t type, const void *payload, uint32_t length) {
        struct frame frame = {.type = type, .length = length};
        assert_int_equal(write(fd, &frame, sizeof(frame)), sizeof(frame));
        if (length > 0)
                assert_int_equal(write(fd, payload, length), length);
}

/* A frame that names a file; `size` as announced, `content` as it follows. */
static inline void fake_file(int fd, uint32_t type, uint32_t reason, const char *name, size_t name_length,
                             uint64_t size, const char *content, size_t content_length) {
        static char payload[1 << 20];
        struct file_head head = {.name_length = (uint32_t)name_length, .reason = reason, .size = size};
        size_t length = sizeof(head) + name_length + content_length;
        memcpy(payload, &head, sizeof(head));
        memcpy(payload + sizeof(head), name, name_length);
        if (content_length > 0)
                memcpy(payload + sizeof(head) + name_length, content, content_length);
        fake_frame(fd, type, payload, (uint32_t)length);
}

static inline void fake_files_end(int fd, uint32_t files, uint32_t skipped) {
        struct files_end end = {.files = files, .skipped = skipped};
        fake_frame(fd, FRAME_FILES_END, &end, sizeof(end));
}

static inline void fake_print(int fd, const char *text) {
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}
