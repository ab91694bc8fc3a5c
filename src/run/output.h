/*
 * What is kept of one output stream of a snippet: its head and its tail, in a buffer of bounded size.
 *
 * Runs in the api process. Pure memory, no I/O: the caller reads from the pipe straight into output_space(). The first
 * half of the allowance keeps the head, the second half is a ring that keeps the tail; as long as nothing had to be
 * dropped, both together are simply the output. The buffer grows with what it holds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_out;

struct output {
        char *bytes;
        size_t size;      /* allocated */
        size_t keep;      /* at most so many bytes are kept, */
        size_t head;      /* so many of them of the beginning */
        uint64_t written; /* all that ever came */
        bool failed;      /* no memory for more: the rest is counted and dropped */
};

/* `keep` of at least 2. */
void output_init(struct output *output, size_t keep);
void output_deinit(struct output *output);

/* Room for the next bytes, at most `wanted`, never 0. Valid until the next call on this output. */
char *output_space(struct output *output, size_t wanted, size_t *ret_length);
/* So many bytes were put there. */
void output_added(struct output *output, size_t length);

bool output_truncated(const struct output *output);

/*
 * Writes the value of a JSON member: the text, with one line about what was dropped between head and tail if something
 * was. Characters are never split at the cut.
 */
void output_write_json(const struct output *output, struct json_out *out);

/* The last bytes, at most `length`, as they came; for looking at the end of an error message. Returns how many. */
size_t output_tail(const struct output *output, char *to, size_t length);
