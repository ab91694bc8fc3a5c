/*
 * An address as the egress process dials it.
 *
 * An IPv4 address in IPv6 clothes (::ffff:a.b.c.d) is an IPv4 address here: that is what the kernel makes of it as
 * well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
        uint8_t family; /* 4 or 6 */
        uint16_t port;
        uint8_t bytes[16]; /* in network byte order; the first four if family is 4, the rest 0 */
};

#define ADDRESS_BYTES(address) ((address)->family == 4 ? 4u : 16u)
#define ADDRESS_TEXT_MAX 56 /* "[…]:65535" */

/* False for a socket address of another kind. */
bool address_from(const struct sockaddr_storage *from, struct address *ret);
socklen_t address_to(const struct address *address, struct sockaddr_storage *ret);

/* From `length` (4 or 16) bytes; IPv4 in IPv6 clothes becomes IPv4. */
struct address address_of_bytes(const uint8_t *bytes, size_t length, uint16_t port);

/* Without regard to the port. */
bool address_same(const struct address *a, const struct address *b);
