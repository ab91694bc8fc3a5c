/* Messages of the name system; see dns.h. */
#include "egress/dns.h"

#include <arpa/nameser.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define HEADER 12
#define FLAG_ANSWER 0x8000u
#define OPCODES 0x7800u
#define FLAG_CUT_SHORT 0x0200u
#define FLAG_RECURSION 0x0100u
#define FLAG_RECURSION_GIVEN 0x0080u
#define CODES 0x000fu
#define CLASS_INTERNET 1
#define TYPE_OPT 41
#define LARGEST_BY_UDP 1232 /* what passes every network in one piece: dnsflagday.net, 2020 */
#define POINTER_TO_QUESTION (0xc000u | HEADER)
#define CHAIN_MAX 16 /* aliases that lead to aliases */
#define TTL_MAX 300  /* a room does not live longer */

static uint16_t get16(const uint8_t *at) {
        return (uint16_t)(at[0] << 8 | at[1]);
}

static uint8_t *put16(uint8_t *at, unsigned value) {
        at[0] = (uint8_t)(value >> 8);
        at[1] = (uint8_t)value;
        return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value) {
        return put16(put16(at, value >> 16), value & 0xffff);
}

/* ---- queries */

/* The labels of a name, and its text. Returns its length in the message; 0: it is none that is looked up here. */
static size_t read_name(const uint8_t *bytes, size_t length, char *text) {
        size_t at = 0, used = 0;
        while (at < length && bytes[at] != 0) {
                const size_t label = bytes[at++];
                if (label > 63 || label > length - at || at + label + 1 > DNS_NAME_BYTES)
                        return 0; /* the first: a pointer, which a question has no use for */
                if (used > 0)
                        text[used++] = '.';
                for (size_t i = 0; i < label; i++, at++) {
                        if (!isalnum(bytes[at]) && bytes[at] != '-' && bytes[at] != '_')
                                return 0;
                        text[used++] = (char)tolower(bytes[at]);
                }
        }
        text[used] = '\0';
        return at < length && used > 0 ? at + 1 : 0;
}

int dns_read_query(const uint8_t *bytes, size_t length, struct dns_query *ret) {
        *ret = (struct dns_query){0};
        if (length < HEADER)
                return -EBADMSG;
        const unsigned flags = get16(bytes + 2);
        if (flags & FLAG_ANSWER)
                return -EBADMSG;
        ret->id = get16(bytes);
        ret->recursion = flags & FLAG_RECURSION;
        if (flags & OPCODES)
                return DNS_NOT_IMPLEMENTED;
        if (get16(bytes + 4) != 1 || get16(bytes + 6) != 0)
                return DNS_FORMAT;
        const size_t name_length = read_name(bytes + HEADER, length - HEADER, ret->text);
        if (name_length == 0 || length - HEADER - name_length < 4)
                return DNS_FORMAT;
        memcpy(ret->name, bytes + HEADER, name_length);
        ret->name_length = name_length;
        ret->type = get16(bytes + HEADER + name_length);
        return get16(bytes + HEADER + name_length + 2) == CLASS_INTERNET ? DNS_OK : DNS_REFUSED;
}

static uint8_t *put_question(uint8_t *at, const struct dns_query *query) {
        memcpy(at, query->name, query->name_length);
        return put16(put16(at + query->name_length, query->type), CLASS_INTERNET);
}

size_t dns_write_query(const struct dns_query *query, uint16_t id, uint8_t *ret) {
        uint8_t *at = ret;
        const unsigned counts[] = {1, 0, 0, 1};
        at = put16(put16(at, id), FLAG_RECURSION);
        for (size_t i = 0; i < 4; i++)
                at = put16(at, counts[i]);
        at = put_question(at, query);
        *at++ = 0; /* RFC 6891: the name of the root, type, size, flags, no options */
        at = put16(put16(at, TYPE_OPT), LARGEST_BY_UDP);
        at = put16(put32(at, 0), 0);
        return (size_t)(at - ret);
}

/* ---- answers */

/* As the parser writes it: with a backslash before what is unusual, which then is no name of ours. */
static bool same_name(const char *a, const char *b) {
        return strcasecmp(a, b) == 0;
}

static bool asks_the_same(ns_msg *message, const struct dns_query *query) {
        ns_rr question;
        return ns_msg_count(*message, ns_s_qd) == 1 && ns_parserr(message, ns_s_qd, 0, &question) == 0 &&
               same_name(ns_rr_name(question), query->text) && ns_rr_type(question) == query->type &&
               ns_rr_class(question) == CLASS_INTERNET;
}

static void add(struct dns_answer *answer, const ns_rr *record, size_t bytes) {
        if (ns_rr_rdlen(*record) != bytes || answer->count == DNS_ADDRESSES_MAX)
                return;
        answer->addresses[answer->count++] = address_of_bytes(ns_rr_rdata(*record), bytes, 0);
        if (ns_rr_ttl(*record) < answer->ttl)
                answer->ttl = ns_rr_ttl(*record);
}

/* Takes the addresses of `name`; true if it is an alias, whose target is then in `target`. */
static bool take_addresses(ns_msg *message, const struct dns_query *query, const char *name, char *target, size_t size,
                           struct dns_answer *ret) {
        bool is_alias = false;
        for (int i = 0; i < ns_msg_count(*message, ns_s_an); i++) {
                ns_rr record;
                if (ns_parserr(message, ns_s_an, i, &record) < 0)
                        break;
                if (ns_rr_class(record) != CLASS_INTERNET || !same_name(ns_rr_name(record), name))
                        continue;
                if (ns_rr_type(record) == query->type)
                        add(ret, &record, query->type == DNS_TYPE_A ? 4 : 16);
                else if (ns_rr_type(record) == ns_t_cname)
                        is_alias = ns_name_uncompress(ns_msg_base(*message), ns_msg_end(*message), ns_rr_rdata(record),
                                                      target, size) >= 0;
        }
        return is_alias;
}

int dns_read_answer(const uint8_t *bytes, size_t length, const struct dns_query *query, uint16_t id,
                    struct dns_answer *ret) {
        char names[2][NS_MAXDNAME];
        ns_msg message;
        *ret = (struct dns_answer){.ttl = TTL_MAX};
        if (length < HEADER || length > DNS_MESSAGE_BYTES || get16(bytes) != id)
                return -EBADMSG;
        const unsigned flags = get16(bytes + 2);
        if (!(flags & FLAG_ANSWER) || (flags & OPCODES) || ns_initparse(bytes, (int)length, &message) < 0 ||
            !asks_the_same(&message, query))
                return -EBADMSG;
        if (flags & FLAG_CUT_SHORT)
                return -EMSGSIZE;
        ret->code = (enum dns_code)(flags & CODES);
        memcpy(names[0], query->text, sizeof(query->text));
        for (int i = 0; i < CHAIN_MAX && ret->count == 0; i++)
                if (!take_addresses(&message, query, names[i % 2], names[(i + 1) % 2], NS_MAXDNAME, ret))
                        break;
        return 0;
}

size_t dns_write_reply(const struct dns_query *query, const struct dns_answer *answer, uint8_t ret[DNS_REPLY_BYTES]) {
        uint8_t *at = ret + HEADER;
        unsigned count = 0;
        if (query->name_length > 0)
                at = put_question(at, query);
        for (size_t i = 0; i < answer->count; i++) {
                const struct address *address = &answer->addresses[i];
                const size_t bytes = ADDRESS_BYTES(address);
                if ((size_t)(ret + DNS_REPLY_BYTES - at) < 12 + bytes)
                        break;
                at = put16(put16(put16(at, POINTER_TO_QUESTION), query->type), CLASS_INTERNET);
                at = put16(put32(at, answer->ttl), (unsigned)bytes);
                memcpy(at, address->bytes, bytes);
                at += bytes;
                count++;
        }
        put16(put16(ret, query->id),
              FLAG_ANSWER | FLAG_RECURSION_GIVEN | (query->recursion ? FLAG_RECURSION : 0) | (answer->code & CODES));
        put16(put16(ret + 4, query->name_length > 0), count);
        put32(ret + 8, 0);
        return (size_t)(at - ret);
}
