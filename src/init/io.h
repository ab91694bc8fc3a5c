/*
 * Whole reads and writes on the work channel.
 *
 * Runs in a room's init (pid 1, UID 65532, filtered). The other end is the api process, which init has no reason to
 * trust or distrust: lengths are checked, and a broken channel only means that there is nobody to hand files to.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 0 or negative errno; -ECONNRESET at the end of the stream. */
int read_whole(int fd, void *bytes, size_t length);
int write_whole(int fd, const void *bytes, size_t length);

/* Reads and forgets. */
int read_past(int fd, uint64_t length);

/* A frame whose payload is `head_length` bytes, then `name_length` bytes, then whatever the caller writes next
 * (`rest`). */
int write_frame(int fd, uint32_t type, const void *head, size_t head_length, const char *name, size_t name_length,
                uint64_t rest);

/* FNV-1a, 64 bits: tells a changed input from an untouched one. Chance collisions only; nobody gains by forging one. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_more(uint64_t hash, const void *bytes, size_t length);
