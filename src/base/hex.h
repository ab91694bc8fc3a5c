/*
 * Bytes as hexadecimal digits, in lower case.
 *
 * Used by every process. Pure; the time it takes does not depend on what the bytes are, as some are secrets.
 */
#pragma once

#include <stddef.h>

#define HEX_TEXT_BYTES(count) (2 * (count) + 1) /* that `count` bytes take, with the NUL */

void hex_write(const void *bytes, size_t count, char *text);
