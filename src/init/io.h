/*
 * Whole reads and writes on the work channel.
 *
 * Runs in a room's init (pid 1, UID 65532, filtered). The other end is the api process, which init has no reason to
 * trust or distrust: lengths are checked, and a broken channel only means that there is nobody to hand files to.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* 0 or negative errno; -ECONNRESET at the end of the stream. */
int read_whole(int fd, void *bytes, size_t length);
int write_whole(int fd, const void *bytes, size_t length);

/* A frame whose payload is `head_length` bytes, then `name_length` bytes, then whatever the caller writes next
 * (`rest`). */
int write_frame(int fd, uint32_t type, const void *head, size_t head_length, const char *name, size_t name_length,
                uint64_t rest);

/* As much as there is at `offset`; less than `length` only at the end of the file. Or negative errno. */
ssize_t read_at(int fd, void *bytes, size_t length, uint64_t offset);

/*
 * Tells changed content from untouched, 64 bits, some bytes a nanosecond. Chance collisions only; nobody gains by
 * forging one. All parts but the last must be multiples of eight bytes. Sizes are compared beside it.
 */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_more(uint64_t hash, const void *bytes, size_t length);
