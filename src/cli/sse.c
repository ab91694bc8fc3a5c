/* Server-sent events; see sse.h. Follows the parsing rules of the HTML standard, section "Server-sent events". */
#include "cli/sse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sse_init(struct sse_parser *parser, size_t limit, sse_event_fn call, void *user) {
        *parser = (struct sse_parser){.call = call, .user = user, .limit = limit};
}

void sse_deinit(struct sse_parser *parser) {
        free(parser->line);
        free(parser->data);
        parser->line = parser->data = NULL;
}

/* Appends to a buffer that grows by doubling and always ends in NUL. */
static int append(char **buffer, size_t *used, size_t *size, const char *bytes, size_t length, size_t limit) {
        if (length > limit || *used > limit - length)
                return -EMSGSIZE;
        size_t needed = *used + length + 1;
        if (needed > *size) {
                size_t larger = needed < 512 ? 512 : needed * 2;
                char *grown = realloc(*buffer, larger);
                if (!grown)
                        return -ENOMEM;
                *buffer = grown;
                *size = larger;
        }
        if (length > 0)
                memcpy(*buffer + *used, bytes, length);
        *used += length;
        (*buffer)[*used] = '\0';
        return 0;
}

static int dispatch(struct sse_parser *parser) {
        int r = 0;
        if (parser->any_data)
                r = parser->call(parser->user, parser->name[0] ? parser->name : "message", parser->data,
                                 parser->data_length);
        parser->any_data = false;
        parser->data_length = 0;
        parser->name[0] = '\0';
        return r;
}

static int add_data(struct sse_parser *parser, const char *value, size_t length) {
        int r = 0;
        if (parser->any_data)
                r = append(&parser->data, &parser->data_length, &parser->data_size, "\n", 1, parser->limit);
        if (r == 0)
                r = append(&parser->data, &parser->data_length, &parser->data_size, value, length, parser->limit);
        parser->any_data = true;
        return r;
}

static bool is_field(const char *name, size_t length, const char *wanted) {
        return length == strlen(wanted) && memcmp(name, wanted, length) == 0;
}

/* The line is whole and ends in NUL. Fields that we have no use for (id, retry) and comments are passed over. */
static int take_line(struct sse_parser *parser) {
        const char *line = parser->line_length > 0 ? parser->line : "";
        size_t length = parser->line_length;
        parser->line_length = 0;
        if (length == 0)
                return dispatch(parser);
        const char *colon = memchr(line, ':', length);
        size_t name_length = colon ? (size_t)(colon - line) : length;
        const char *value = colon ? colon + 1 : line + length;
        if (colon && *value == ' ')
                value++;
        size_t value_length = (size_t)(line + length - value);

        if (is_field(line, name_length, "data"))
                return add_data(parser, value, value_length);
        if (is_field(line, name_length, "event")) {
                if (value_length > SSE_NAME_MAX)
                        value_length = SSE_NAME_MAX;
                memcpy(parser->name, value, value_length);
                parser->name[value_length] = '\0';
        }
        return 0;
}

/* A byte order mark at the very beginning is not part of the first line. */
static void strip_mark(struct sse_parser *parser) {
        static const char mark[] = "\xef\xbb\xbf";
        if (parser->begun)
                return;
        parser->begun = true;
        if (parser->line_length >= 3 && memcmp(parser->line, mark, 3) == 0) {
                memmove(parser->line, parser->line + 3, parser->line_length - 3 + 1);
                parser->line_length -= 3;
        }
}

int sse_feed(struct sse_parser *parser, const char *bytes, size_t length) {
        int r = 0;
        while (r == 0 && length > 0) {
                if (parser->after_cr && bytes[0] == '\n') { /* the second half of CR LF */
                        parser->after_cr = false;
                        bytes++;
                        length--;
                        continue;
                }
                parser->after_cr = false;
                size_t run = 0;
                while (run < length && bytes[run] != '\n' && bytes[run] != '\r')
                        run++;
                r = append(&parser->line, &parser->line_length, &parser->line_size, bytes, run, parser->limit);
                if (r == 0 && run < length) {
                        parser->after_cr = bytes[run] == '\r';
                        run++;
                        strip_mark(parser);
                        r = take_line(parser);
                }
                bytes += run;
                length -= run;
        }
        return r;
}
