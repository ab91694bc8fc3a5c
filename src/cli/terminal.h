/*
 * Text on its way to a terminal.
 *
 * Output of a sandbox may carry escape sequences: they could rename the window, fill the clipboard, answer questions in
 * the reader's name, or hide what was printed before. A terminal_stream that leads to a terminal therefore lets through
 * printable text, line feed, tab, carriage return and colours (SGR, "ESC [ numbers m") and makes every other control
 * character visible as ^X or U+FFFD. A stream that leads to a file or pipe passes bytes unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TERMINAL_HELD_MAX 32 /* longest sequence that may be a colour */

struct terminal_stream {
        FILE *file;
        bool filter;                           /* make control characters visible */
        bool colour;                           /* we may use colours of our own */
        bool coloured;                         /* the sandbox has set a colour that is to be reset */
        unsigned char held[TERMINAL_HELD_MAX]; /* the beginning of what may become a sequence */
        size_t held_length;
};

/* Looks at the file and NO_COLOR. `raw` turns the filter off. */
void terminal_init(struct terminal_stream *stream, FILE *file, bool raw);

/* Writes a piece of output. Pieces may end anywhere. 0 or a negative errno (-EPIPE when the reader is gone). */
int terminal_write(struct terminal_stream *stream, const char *bytes, size_t length);

/* The end of a text: writes what is held, resets colours. 0 or a negative errno. */
int terminal_finish(struct terminal_stream *stream);

/*
 * Makes `text` fit for one line of any terminal: control characters (line breaks too), invisible characters that change
 * the direction of writing, and bytes that are not UTF-8 become U+FFFD. On the heap, or NULL.
 */
char *terminal_line(const char *text, size_t length);
