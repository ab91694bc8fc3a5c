/* What is kept of an output stream; see output.h. */
#include "run/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/json_out.h"
#include "run/text.h"

#define SIZE_FIRST 4096

/* Where bytes go that there is no memory for. Written and never read. */
static char dump[64 << 10];

static size_t min_size(size_t a, size_t b) {
        return a < b ? a : b;
}

void output_init(struct output *output, size_t keep) {
        *output = (struct output){.keep = keep, .head = keep / 2};
}

void output_deinit(struct output *output) {
        free(output->bytes);
        *output = (struct output){.bytes = NULL};
}

/* Keeps from now on only what there is: a head, no tail. */
static void give_up(struct output *output) {
        output->failed = true;
        output->keep = output->head = output->size;
}

static void grow(struct output *output) {
        size_t size = output->size > 0 ? 2 * output->size : SIZE_FIRST;
        size = min_size(size, output->keep);
        char *bytes = realloc(output->bytes, size);
        if (!bytes) {
                give_up(output);
                return;
        }
        output->bytes = bytes;
        output->size = size;
}

/* Place of the next byte in the buffer, or `keep` if there is none. */
static size_t place(const struct output *output) {
        if (output->written < output->keep)
                return (size_t)output->written;
        size_t ring = output->keep - output->head;
        return ring > 0 ? output->head + (size_t)((output->written - output->head) % ring) : output->keep;
}

char *output_space(struct output *output, size_t wanted, size_t *ret_length) {
        size_t at = place(output);
        if (at == output->size && at < output->keep)
                grow(output);
        if (output->failed || at == output->keep) {
                *ret_length = min_size(wanted, sizeof(dump));
                return dump;
        }
        *ret_length = min_size(wanted, output->size - at);
        return output->bytes + at;
}

void output_added(struct output *output, size_t length) {
        output->written += length;
}

bool output_truncated(const struct output *output) {
        return output->written > output->keep;
}

/* The tail in one piece, in the order in which it came. Malloc()ed; NULL without memory. */
static char *straighten_tail(const struct output *output, size_t ring) {
        char *tail = malloc(ring);
        if (!tail)
                return NULL;
        size_t oldest = place(output), until_end = output->keep - oldest;
        memcpy(tail, output->bytes + oldest, until_end);
        memcpy(tail + until_end, output->bytes + output->head, ring - until_end);
        return tail;
}

static void write_marker(struct json_out *out, uint64_t dropped, bool new_line) {
        char text[96];
        snprintf(text, sizeof(text), "%s[... %" PRIu64 " bytes of output left out here ...]\n", new_line ? "\n" : "",
                 dropped);
        json_out_quote_part(out, text, strlen(text));
}

static void write_cut(const struct output *output, struct json_out *out) {
        size_t ring = output->keep - output->head;
        size_t head = output->head - text_cut_off(output->bytes, output->head), skipped = 0;
        char *tail = ring > 0 ? straighten_tail(output, ring) : NULL;
        if (ring > 0 && !tail) {
                out->failed = true;
                return;
        }
        if (tail)
                skipped = text_left_over(tail, ring);
        json_out_quote_part(out, output->bytes, head);
        write_marker(out, output->written - head - (ring - skipped), head > 0 && output->bytes[head - 1] != '\n');
        if (tail)
                json_out_quote_part(out, tail + skipped, ring - skipped);
        free(tail);
}

void output_write_json(const struct output *output, struct json_out *out) {
        json_out_quote_begin(out);
        if (output_truncated(output))
                write_cut(output, out);
        else
                json_out_quote_part(out, output->bytes, (size_t)output->written);
        json_out_quote_end(out);
}

size_t output_tail(const struct output *output, char *to, size_t length) {
        if (!output_truncated(output)) {
                length = min_size(length, (size_t)output->written);
                if (length > 0)
                        memcpy(to, output->bytes + output->written - length, length);
                return length;
        }
        size_t ring = output->keep - output->head;
        length = min_size(length, ring);
        for (size_t i = 0; i < length; i++) {
                uint64_t offset = output->written - length + i - output->head;
                to[i] = output->bytes[output->head + (size_t)(offset % ring)];
        }
        return length;
}
