/*
 * The name at the start of a connection: TLS says it in its first message (SNI), HTTP in a header.
 *
 * It is read for the log alone and proves nothing: whoever connects writes there what he likes. No decision rests on
 * it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "spawn/frames.h"

#define SNIFF_BYTES_MAX 4096 /* looked at */

enum sniffed {
        SNIFF_MORE, /* more bytes may tell, unless there are SNIFF_BYTES_MAX already */
        SNIFF_NONE, /* there is no name */
        SNIFF_FOUND,
};

/*
 * The name is in lower case, letters, digits, "-", "_" and dots; an address is none. `ret_host` stays as it is
 * unless one is found.
 */
enum sniffed sniff_name(const uint8_t *bytes, size_t length, char ret_host[EGRESS_HOST_MAX + 1]);
