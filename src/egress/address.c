/* Addresses; see address.h. */
#include "egress/address.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

struct address address_of_bytes(const uint8_t *bytes, size_t length, uint16_t port) {
        struct address address = {.family = length == 4 ? 4 : 6, .port = port};
        assert(length == 4 || length == 16);
        memcpy(address.bytes, bytes, length);
        if (length == 16 && memcmp(bytes, mapped, sizeof(mapped)) == 0) {
                address.family = 4;
                memset(address.bytes, 0, sizeof(address.bytes));
                memcpy(address.bytes, bytes + 12, 4);
        }
        return address;
}

bool address_from(const struct sockaddr_storage *from, struct address *ret) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
        if (from->ss_family == AF_INET)
                *ret = address_of_bytes((const uint8_t *)&v4->sin_addr, 4, ntohs(v4->sin_port));
        else if (from->ss_family == AF_INET6)
                *ret = address_of_bytes(v6->sin6_addr.s6_addr, 16, ntohs(v6->sin6_port));
        else
                return false;
        return true;
}

socklen_t address_to(const struct address *address, struct sockaddr_storage *ret) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
        memset(ret, 0, sizeof(*ret));
        if (address->family == 4) {
                v4->sin_family = AF_INET;
                v4->sin_port = htons(address->port);
                memcpy(&v4->sin_addr, address->bytes, 4);
                return sizeof(*v4);
        }
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(address->port);
        memcpy(&v6->sin6_addr, address->bytes, 16);
        return sizeof(*v6);
}

bool address_same(const struct address *a, const struct address *b) {
        return a->family == b->family && memcmp(a->bytes, b->bytes, ADDRESS_BYTES(a)) == 0;
}
