/*
 * Bytes from a sandbox as text: UTF-8 where it is UTF-8, U+FFFD where it is not.
 *
 * Runs in the api process. Pure. The bytes are hostile. Each maximal part of a bad sequence becomes one U+FFFD, as the
 * Unicode standard recommends and Python's errors="replace" does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TEXT_REPLACEMENT "\xef\xbf\xbd"

/*
 * Looks at the character at the start of `bytes` (length ≥ 1). Returns how many bytes it takes: of a valid character if
 * *ret_valid, else of the bad part, at least 1. 0: the bytes are the beginning of a character that is cut off by the
 * end.
 */
size_t text_step(const unsigned char *bytes, size_t length, bool *ret_valid);

/* Bytes at the start that are whole, valid characters. */
size_t text_valid_prefix(const char *bytes, size_t length);

/* Bytes at the end (0 to 3) that are the beginning of a character that may still be completed. */
size_t text_cut_off(const char *bytes, size_t length);

/* Continuation bytes at the start (0 to 3), left over from a character whose beginning was dropped. */
size_t text_left_over(const char *bytes, size_t length);
