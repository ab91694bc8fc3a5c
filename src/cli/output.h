/*
 * What platformctl says in its own words: messages on standard error, tables on standard output.
 *
 * Everything passes terminal_line, because much of it quotes the service or a sandbox.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "cli/cli.h"

/* "platformctl: ..." on standard error. Returns `exit_code`, so that a command can `return say_error(...)`. */
int say_error(struct cli *cli, int exit_code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for what is no failure. */
void say_note(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Our own words in colour, where the terminal has it. */
enum paint { PAINT_NONE, PAINT_BOLD, PAINT_GOOD, PAINT_WARNING, PAINT_BAD };
/* One line without a line break; `text` may come from anywhere. */
void print_painted(struct terminal_stream *stream, enum paint paint, const char *text);

/* A table: cells are collected row by row and printed with columns as wide as their widest cell. */
struct table {
        size_t columns, count, size;
        char **cells;
        bool failed; /* out of memory: prints nothing rather than half */
};

void table_init(struct table *table, size_t columns);
void table_deinit(struct table *table);
/* The next cell; rows fill from left to right. */
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `heading`: the first row is in bold. */
void table_print(const struct table *table, struct cli *cli, bool heading);

/* Prints JSON in full, indented. 0 or a negative errno. */
int print_json(struct cli *cli, const json_t *value);

/* "1.2 kB", into one of a few static buffers. */
const char *human_bytes(double bytes);

/* Ends a command: makes sure that all was written. Returns the code, or EX_IOERR (or that of a broken pipe). */
int finish_output(struct cli *cli, int exit_code);
/* The exit code for a failed write, and the words for it where they are due. */
int write_failed(struct cli *cli, int negative_errno);
