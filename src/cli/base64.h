/*
 * Base64 as in RFC 4648, section 4.
 */
#pragma once

#include <stddef.h>

/* On the heap, or NULL. */
char *base64_encode(const void *bytes, size_t length);

/* Strict: no spaces, padding where it belongs. 0 and heap bytes, -EINVAL or -ENOMEM. */
int base64_decode(const char *text, size_t length, void **ret, size_t *ret_length);
