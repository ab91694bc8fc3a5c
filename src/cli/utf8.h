/*
 * UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins with `first`, 1 to 4; 0 if none can. */
size_t utf8_length(unsigned char first);

/* Decodes the character at `bytes`. Returns its length, or 0 if it is cut short or not valid. */
size_t utf8_decode(const unsigned char *bytes, size_t length, uint32_t *ret);

/* How many bytes at the beginning are valid; equals `length` if all are. */
size_t utf8_valid_prefix(const char *bytes, size_t length);

/* How many characters: a fair guess at the columns that a text takes. */
size_t utf8_columns(const char *text);
