/*
 * Messages of the name system: the few that lookups for tool calls are made of.
 *
 * Runs in the egress process. A query from a room is hostile: what is forwarded is built anew from the one name and
 * type in it. An answer is whatever somebody on the internet has put into a zone: glibc's parser takes it apart, and
 * nothing of it is passed on but addresses and how long they hold. So no room reaches a resolver with bytes of its own
 * choice, and no resolver a room.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"

#define DNS_NAME_BYTES 255 /* RFC 1035, in a message */
#define DNS_TEXT_MAX 253   /* written with dots */
#define DNS_ADDRESSES_MAX 32
#define DNS_QUERY_BYTES (12 + DNS_NAME_BYTES + 4 + 11)
#define DNS_REPLY_BYTES 512 /* what every client takes */
#define DNS_MESSAGE_BYTES 65535

enum { DNS_TYPE_A = 1, DNS_TYPE_AAAA = 28 };
enum dns_code { DNS_OK, DNS_FORMAT, DNS_FAILURE, DNS_NO_SUCH_NAME, DNS_NOT_IMPLEMENTED, DNS_REFUSED };

struct dns_query {
        uint16_t id, type;
        bool recursion; /* as asked for; it is given back */
        size_t name_length;
        uint8_t name[DNS_NAME_BYTES]; /* as in a message, without compression */
        char text[DNS_TEXT_MAX + 1];  /* lower case, without the last dot; letters, digits, "-", "_" and dots only */
};

struct dns_answer {
        enum dns_code code;
        uint32_t ttl; /* of all, in seconds */
        struct address addresses[DNS_ADDRESSES_MAX];
        size_t count;
};

/*
 * Reads a query. DNS_OK, or the code of the reply that it deserves: dns_write_reply() then needs no more than what was
 * filled in. -EBADMSG: no reply at all.
 */
int dns_read_query(const uint8_t *bytes, size_t length, struct dns_query *ret);

/* Our own query for the same. Returns its length, at most DNS_QUERY_BYTES. */
size_t dns_write_query(const struct dns_query *query, uint16_t id, uint8_t *ret);

/* -EBADMSG: not the answer to it; -EMSGSIZE: it was cut short, and must be asked for by TCP. */
int dns_read_answer(const uint8_t *bytes, size_t length, const struct dns_query *query, uint16_t id,
                    struct dns_answer *ret);

/* As many addresses as fit into DNS_REPLY_BYTES. Returns its length. */
size_t dns_write_reply(const struct dns_query *query, const struct dns_answer *answer, uint8_t ret[DNS_REPLY_BYTES]);
