/*
 * Strict base64 (RFC 4648, section 4): the standard alphabet, padding required, no white space, no stray bits at the
 * end.
 *
 * Runs in the api process. Pure. What is not exactly that is refused: a decoder that guesses turns a broken upload into
 * a broken file.
 */
#pragma once

#include <stddef.h>

/* Bytes that a text of so many characters can hold at most. */
#define BASE64_DECODED_MAX(length) ((length) / 4 * 3)

/* Writes at most BASE64_DECODED_MAX(length) bytes. 0, or -EINVAL with the offset of the first wrong character. */
int base64_decode(const char *text, size_t length, unsigned char *to, size_t *ret_length, size_t *ret_wrong);
