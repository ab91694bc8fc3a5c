/*
 * What a room has looked up: so that a connection to an address can be told with a name, and a lookup after which
 * nobody connected is told as well. (A name can carry data out, even one that does not exist.)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"
#include "egress/dns.h"
#include "spawn/frames.h"

#define NAMES_MAX 128 /* the oldest gives way */
#define NAME_ADDRESSES_MAX 16

struct names;

typedef void (*names_tell_fn)(void *data, const struct egress_record *record, const char *name);

/* `tell` is called for each name that gives way or is left at the end, unless a connection was told with it. */
struct names *names_new(names_tell_fn tell, void *data); /* NULL: out of memory */
void names_end(struct names **names);

/* How many may still be told. */
size_t names_count(const struct names *names);

/* A lookup is over: `usable` are the addresses that the room is given, `blocked` (may be NULL) one that it is not. */
void names_add(struct names *names, const char *name, const struct dns_answer *usable, const struct address *blocked,
               enum egress_rule rule_if_none);

/*
 * The name by which the room knows the address: `claimed`, which the connection said of itself, if it has been looked
 * up and has the address; else the last one that has; else `claimed`. It counts as told.
 */
const char *names_of(struct names *names, const struct address *address, const char *claimed);
