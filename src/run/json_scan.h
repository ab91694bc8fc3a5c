/*
 * Looks at JSON without building anything of it.
 *
 * Runs in the api process. Pure. The bytes are hostile: eight megabytes of "[],[],…" would become hundreds in a tree. What
 * a tool returned is only checked here, and goes into the reply as it came.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define JSON_SCAN_DEPTH_MAX 256 /* lists and objects in each other; readers of replies have limits, too */

struct json_span {
        const char *bytes; /* NULL: it is not there */
        size_t length;
};

struct json_member {
        const char *name;
        struct json_span *value; /* set if the member is there */
};

/*
 * True if the bytes are one JSON value (RFC 8259): valid UTF-8, no lone surrogates, no NaN, no deeper than
 * JSON_SCAN_DEPTH_MAX. Else *ret_wrong says what is wrong, for the end of a sentence.
 */
bool json_scan(const char *bytes, size_t length, const char **ret_wrong);

/*
 * The same for an object of which the members of the table are wanted, each at most once; what else it has is passed
 * over.
 */
bool json_scan_object(const char *bytes, size_t length, const struct json_member *members, size_t count,
                      const char **ret_wrong);
