/* Whole reads and writes on the work channel; see io.h. */
#include "init/io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "spawn/frames.h"

int read_whole(int fd, void *bytes, size_t length) {
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

/* The socket waits for a reader, but not for ever (SO_SNDTIMEO): what is not taken whole by then will not be taken. */
int write_whole(int fd, const void *bytes, size_t length) {
        ssize_t put;
        do
                put = length == 0 ? 0 : send(fd, bytes, length, MSG_NOSIGNAL);
        while (put < 0 && errno == EINTR);
        if (put < 0)
                return -errno;
        return (size_t)put == length ? 0 : -ETIMEDOUT;
}

int write_frame(int fd, uint32_t type, const void *head, size_t head_length, const char *name, size_t name_length,
                uint64_t rest) {
        char bytes[sizeof(struct frame) + 64 + FILE_NAME_MAX];
        struct frame frame = {.type = type, .length = (uint32_t)(head_length + name_length + rest)};
        if (head_length > 64 || name_length > FILE_NAME_MAX)
                return -EINVAL;

        memcpy(bytes, &frame, sizeof(frame));
        if (head_length > 0)
                memcpy(bytes + sizeof(frame), head, head_length);
        if (name_length > 0)
                memcpy(bytes + sizeof(frame) + head_length, name, name_length);
        return write_whole(fd, bytes, sizeof(frame) + head_length + name_length);
}

ssize_t read_at(int fd, void *bytes, size_t length, uint64_t offset) {
        size_t have = 0;
        while (have < length) {
                ssize_t got = pread(fd, (char *)bytes + have, length - have, (off_t)(offset + have));
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -errno;
                if (got == 0)
                        break;
                have += (size_t)got;
        }
        return (ssize_t)have;
}

uint64_t hash_more(uint64_t hash, const void *bytes, size_t length) {
        for (const char *at = bytes; length > 0;) {
                uint64_t word = 0;
                size_t part = length < sizeof(word) ? length : sizeof(word);
                memcpy(&word, at, part);
                hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
                hash ^= hash >> 32; /* or a change of two highest bits would undo itself */
                at += part;
                length -= part;
        }
        return hash;
}
