/* Lists of address ranges; see prefix.h. */
#include "base/prefix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/config_values.h"

#define SEPARATORS ", \t\n"
#define ITEM_MAX 64 /* "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128]:65535" has 59 */

static const uint8_t mapped[12] = {[10] = 0xff, 0xff}; /* before an IPv4 address in IPv6 clothes */

static int parse_port(const char *text, uint16_t *ret, struct err *e) {
        int64_t port;
        if (value_parse_number(text, &port) < 0 || port < 1 || port > 65535)
                return err_set(e, -EINVAL, "has a port that is not a number from 1 to 65535");
        *ret = (uint16_t)port;
        return 0;
}

/* Cuts ":port" off, and the brackets that IPv6 then needs. */
static int split_port(char **text, uint16_t *ret_port, struct err *e) {
        char *colon = strrchr(*text, ':');
        if ((*text)[0] == '[') {
                char *bracket = strchr(*text, ']');
                if (!bracket || (bracket[1] != '\0' && bracket[1] != ':'))
                        return err_set(e, -EINVAL, "has a bracket that is not closed before a port");
                *bracket = '\0';
                ++*text;
                return bracket[1] == ':' ? parse_port(bracket + 2, ret_port, e) : 0;
        }
        if (!colon || strchr(*text, ':') != colon)
                return 0; /* IPv6 without brackets has no port */
        *colon = '\0';
        return parse_port(colon + 1, ret_port, e);
}

static bool has_bits_beyond(const struct prefix *prefix) {
        for (size_t bit = prefix->length; bit < (prefix->family == 4 ? 32 : 128); bit++)
                if (prefix->bytes[bit / 8] & (0x80 >> bit % 8))
                        return true;
        return false;
}

static int parse_item(char *text, struct prefix *ret, struct err *e) {
        struct prefix prefix = {0};
        int64_t length;
        int r = split_port(&text, &prefix.port, e);
        if (r < 0)
                return r;
        char *slash = strchr(text, '/');
        if (slash)
                *slash++ = '\0';
        prefix.family = strchr(text, ':') ? 6 : 4;
        if (inet_pton(prefix.family == 6 ? AF_INET6 : AF_INET, text, prefix.bytes) != 1)
                return err_set(e, -EINVAL, "has \"%.48s\", which is not a numeric address", text);
        const int64_t whole = prefix.family == 6 ? 128 : 32;
        length = whole;
        if (slash && (value_parse_number(slash, &length) < 0 || length < 0 || length > whole))
                return err_set(e, -EINVAL, "has a prefix length that is not a number from 0 to %d", (int)whole);
        prefix.length = (uint8_t)length;
        if (has_bits_beyond(&prefix))
                return err_set(e, -EINVAL, "has %s/%d, an address with bits set beyond its length", text, (int)length);
        if (prefix.family == 6 && prefix.length >= 96 && memcmp(prefix.bytes, mapped, sizeof(mapped)) == 0)
                return err_set(e, -EINVAL, "has %s, which must be written as an IPv4 address", text);
        *ret = prefix;
        return 0;
}

int prefix_list_parse(const char *text, struct prefix_list *ret, struct err *e) {
        *ret = (struct prefix_list){0};
        for (const char *at = text + strspn(text, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
                char item[ITEM_MAX];
                size_t length = strcspn(at, SEPARATORS);
                if (length >= sizeof(item))
                        return err_set(e, -EINVAL, "has a part of %zu characters, longer than any address", length);
                if (ret->count == PREFIXES_MAX)
                        return err_set(e, -EINVAL, "has more than %d ranges", PREFIXES_MAX);
                memcpy(item, at, length);
                item[length] = '\0';
                int r = parse_item(item, &ret->items[ret->count], e);
                if (r < 0)
                        return r;
                ret->count++;
                at += length;
        }
        return 0;
}

bool prefix_covers(const struct prefix *prefix, uint8_t family, const uint8_t *bytes) {
        const size_t whole = prefix->length / 8, rest = prefix->length % 8;
        if (family != prefix->family || memcmp(bytes, prefix->bytes, whole) != 0)
                return false;
        return rest == 0 || ((bytes[whole] ^ prefix->bytes[whole]) & (0xff00 >> rest) & 0xff) == 0;
}

bool prefix_is_single(const struct prefix *prefix) {
        return prefix->length == (prefix->family == 4 ? 32 : 128);
}

static bool has_port(const uint16_t *ports, size_t count, uint16_t port) {
        for (size_t i = 0; i < count; i++)
                if (ports[i] == port)
                        return true;
        return false;
}

size_t prefix_list_ports(const struct prefix_list *list, const uint16_t *known, size_t known_count, uint16_t *ret,
                         size_t max) {
        uint16_t found[PREFIXES_MAX];
        size_t count = 0;
        for (size_t i = 0; i < list->count; i++) {
                const uint16_t port = list->items[i].port;
                if (port == 0 || has_port(known, known_count, port) || has_port(found, count, port))
                        continue;
                if (count < max)
                        ret[count] = port;
                found[count++] = port;
        }
        return count;
}
