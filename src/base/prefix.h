/*
 * Lists of address ranges, as an operator writes them: "10.1.0.0/16, 192.0.2.7:8080, [fd00::/8]:443".
 *
 * Used by the settings (to refuse a mistake at once), the spawner (for the ports) and the egress process. Numeric only:
 * a name means something else to whoever controls its zone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PREFIXES_MAX 64 /* in one list */

struct prefix {
        uint8_t family;    /* 4 or 6 */
        uint8_t length;    /* in bits */
        uint16_t port;     /* 0: none was given */
        uint8_t bytes[16]; /* in network byte order; those beyond the length are 0 */
};

struct prefix_list {
        struct prefix items[PREFIXES_MAX];
        size_t count;
};

/*
 * Separated by commas, blanks or both; an empty text is an empty list. The reason of a refusal continues "the setting
 * is ..., which". 0 or -EINVAL.
 */
int prefix_list_parse(const char *text, struct prefix_list *ret, struct err *e);

/* `bytes` has as many as the family, 4 or 6, has. */
bool prefix_covers(const struct prefix *prefix, uint8_t family, const uint8_t *bytes);

/* True if it names exactly one address. */
bool prefix_is_single(const struct prefix *prefix);

/*
 * The different ports of a list that are not among the `known` ones, at most `max` of them into `ret`. How many there
 * are, which may be more than `max`.
 */
size_t prefix_list_ports(const struct prefix_list *list, const uint16_t *known, size_t known_count, uint16_t *ret,
                         size_t max);
