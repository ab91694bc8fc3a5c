/*
 * Fuzz target: the parsers of the egress process. The first byte says which: a query of a room, an answer of a name
 * server (to a query that comes before it, with its length in one byte), the start of a connection.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "egress/dns.h"
#include "egress/sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_name(const char *name, size_t longest) {
        assert(strlen(name) <= longest);
        for (; *name; name++)
                assert((*name >= 'a' && *name <= 'z') || (*name >= '0' && *name <= '9') || strchr("-_.", *name));
}

/* What is sent is well formed: it reads as what it was made from. */
static void try_query(const uint8_t *bytes, size_t length, struct dns_query *query) {
        uint8_t out[DNS_QUERY_BYTES], reply[DNS_REPLY_BYTES];
        const struct dns_answer none = {.code = DNS_FAILURE};
        struct dns_query again;
        int r = dns_read_query(bytes, length, query);
        check_name(query->text, DNS_TEXT_MAX);
        if (r >= 0)
                assert(dns_write_reply(query, &none, reply) <= sizeof(reply));
        if (r != DNS_OK)
                return;
        const size_t written = dns_write_query(query, 1, out);
        assert(written <= sizeof(out) && dns_read_query(out, written, &again) == DNS_OK);
        assert(again.type == query->type && strcmp(again.text, query->text) == 0);
}

static void try_answer(const uint8_t *bytes, size_t length) {
        uint8_t reply[DNS_REPLY_BYTES];
        struct dns_query query;
        struct dns_answer answer;
        if (length < 1 || length - 1 < bytes[0])
                return;
        const size_t first = bytes[0];
        try_query(bytes + 1, first, &query);
        if (dns_read_answer(bytes + 1 + first, length - 1 - first, &query, query.id, &answer) < 0)
                return;
        assert(answer.count <= DNS_ADDRESSES_MAX);
        if (query.type == DNS_TYPE_A || query.type == DNS_TYPE_AAAA)
                assert(dns_write_reply(&query, &answer, reply) <= sizeof(reply));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        char host[EGRESS_HOST_MAX + 1];
        struct dns_query query;
        if (length == 0)
                return 0;
        switch (bytes[0] % 3) {
        case 0:
                try_query(bytes + 1, length - 1, &query);
                break;
        case 1:
                try_answer(bytes + 1, length - 1);
                break;
        default:
                if (sniff_name(bytes + 1, length - 1, host) == SNIFF_FOUND)
                        check_name(host, EGRESS_HOST_MAX);
        }
        return 0;
}
