/*
 * A result as a sandbox sends it: a JSON object that maps MIME types to strings.
 *
 * Runs in the api process. Pure. The bytes are hostile: their shape is checked by a scanner that allocates nothing
 * before the JSON library sees them, because a tree of small values costs that library a hundred times the bytes that
 * it was made from.
 */
#pragma once

#include <stddef.h>

#define MIME_MAP_ENTRIES_MAX 16
#define MIME_TYPE_BYTES_MAX 100

/*
 * Returns the map as compact JSON on one line, malloc()ed and NUL-terminated, or NULL if it is no such map: other
 * values than strings, no entries or too many, a key that is not like "type/subtype", bad UTF-8, a lone surrogate, a
 * key twice.
 */
char *mime_map_normalise(const char *bytes, size_t length, size_t *ret_length);
