/* What platformctl says in its own words; see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/utf8.h"

static void say(struct cli *cli, enum paint paint, const char *prefix, const char *format, va_list args)
        __attribute__((format(printf, 4, 0)));

static void say(struct cli *cli, enum paint paint, const char *prefix, const char *format, va_list args) {
        CLEANUP_FREE char *text = NULL, *line = NULL;
        int length = vasprintf(&text, format, args);
        if (length < 0) {
                text = NULL;
                return;
        }
        line = terminal_line(text, (size_t)length);
        fflush(cli->out.file); /* so that lines of both streams come in order */
        print_painted(&cli->err, paint, prefix);
        fprintf(cli->err.file, " %s\n", line ? line : "out of memory");
        fflush(cli->err.file);
}

int say_error(struct cli *cli, int exit_code, const char *format, ...) {
        va_list args;
        va_start(args, format);
        say(cli, PAINT_BAD, "platformctl:", format, args);
        va_end(args);
        return exit_code;
}

void say_note(struct cli *cli, const char *format, ...) {
        va_list args;
        va_start(args, format);
        say(cli, PAINT_BOLD, "platformctl:", format, args);
        va_end(args);
}

void print_painted(struct terminal_stream *stream, enum paint paint, const char *text) {
        static const char *const codes[] = {"", "1", "32", "33", "31"};
        CLEANUP_FREE char *line = terminal_line(text, strlen(text));
        if (!line)
                return;
        if (stream->colour && paint != PAINT_NONE)
                fprintf(stream->file, "\x1b[%sm%s\x1b[0m", codes[paint], line);
        else
                fputs(line, stream->file);
}

void table_init(struct table *table, size_t columns) {
        *table = (struct table){.columns = columns};
}

void table_deinit(struct table *table) {
        for (size_t i = 0; i < table->count; i++)
                free(table->cells[i]);
        free(table->cells);
        *table = (struct table){0};
}

void table_add(struct table *table, const char *format, ...) {
        CLEANUP_FREE char *text = NULL;
        va_list args;
        va_start(args, format);
        int length = vasprintf(&text, format, args);
        va_end(args);
        if (length < 0)
                text = NULL;
        if (table->count == table->size) {
                size_t size = table->size ? 2 * table->size : 32;
                char **grown = realloc(table->cells, size * sizeof(*grown));
                if (grown) {
                        table->cells = grown;
                        table->size = size;
                }
        }
        char *line = text && table->count < table->size ? terminal_line(text, (size_t)length) : NULL;
        if (line)
                table->cells[table->count++] = line;
        else
                table->failed = true;
}

static size_t width_of(const struct table *table, size_t column) {
        size_t width = 0;
        for (size_t i = column; i < table->count; i += table->columns) {
                size_t columns = utf8_columns(table->cells[i]);
                width = columns > width ? columns : width;
        }
        return width;
}

void table_print(const struct table *table, struct cli *cli, bool heading) {
        if (table->failed)
                return;
        for (size_t i = 0; i < table->count; i++) {
                size_t column = i % table->columns;
                bool last = column + 1 == table->columns || i + 1 == table->count;
                print_painted(&cli->out, heading && i < table->columns ? PAINT_BOLD : PAINT_NONE, table->cells[i]);
                size_t gap = last ? 0 : width_of(table, column) - utf8_columns(table->cells[i]) + 2;
                fprintf(cli->out.file, "%*s%s", (int)gap, "", last ? "\n" : "");
        }
}

/* The shortest digits that are the same number; jansson writes as many as any number may need. */
static size_t shorten_real(const char *token, size_t length, char *to) {
        char text[64];
        double value = strtod(token, NULL);
        for (int digits = 15; digits <= 17; digits++) {
                snprintf(text, sizeof(text) - 2, "%.*g", digits, value);
                if (strtod(text, NULL) == value)
                        break;
        }
        if (!strpbrk(text, ".e"))
                strcat(text, ".0");
        size_t count = strlen(text);
        if (count >= length)
                return memmove(to, token, length), length;
        return memcpy(to, text, count), count;
}

/* In place: 0.1 was "0.10000000000000001". */
static void shorten_reals(char *text) {
        char *to = text;
        bool in_string = false;
        for (const char *from = text; *from;) {
                size_t length = in_string ? 0 : strspn(from, "0123456789+-.eE");
                if (length > 0 && (*from == '-' || (*from >= '0' && *from <= '9'))) {
                        bool is_real = strcspn(from, ".eE") < length;
                        to += is_real ? shorten_real(from, length, to) : (memmove(to, from, length), length);
                        from += length;
                        continue;
                }
                in_string ^= *from == '"';
                if (in_string && *from == '\\')
                        *to++ = *from++;
                *to++ = *from++;
        }
        *to = '\0';
}

int print_json(struct cli *cli, const json_t *value) {
        CLEANUP_FREE char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);
        if (!text)
                return -ENOMEM;
        shorten_reals(text);
        int r = terminal_write(&cli->out, text, strlen(text));
        if (r == 0)
                r = terminal_write(&cli->out, "\n", 1);
        return r;
}

const char *human_bytes(double bytes) {
        static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
        static char buffers[4][32];
        static unsigned turn;
        char *buffer = buffers[turn++ % ARRAY_SIZE(buffers)];
        size_t unit = 0;
        for (; bytes >= 1000 && unit + 1 < ARRAY_SIZE(units); unit++)
                bytes /= 1000;
        snprintf(buffer, sizeof(buffers[0]), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
        return buffer;
}

int write_failed(struct cli *cli, int negative_errno) {
        if (negative_errno == -EPIPE) /* the reader has what it wanted: as quiet as any other tool */
                return EXIT_SIGNAL_BASE + SIGPIPE;
        return say_error(cli, EX_IOERR, "cannot write the output: %s", strerror(-negative_errno));
}

int finish_output(struct cli *cli, int exit_code) {
        int r = terminal_finish(&cli->out);
        if (r == 0 && ferror(cli->out.file))
                r = -EIO;
        return r < 0 && exit_code == EXIT_SUCCESS ? write_failed(cli, r) : exit_code;
}
