/*
 * Long strings of a JSON body, taken out before jansson reads the rest, and put back after.
 *
 * Runs in the api process; the bytes come from the network. jansson reads strings byte by byte, about 20 ns each: a
 * body of 32 MiB, nearly all of it one string of code or base64, would hold up every other request for most of a
 * second. Here such a string takes a tenth of that. In its place jansson sees a short string that nobody can guess;
 * whatever else is wrong with the body is still jansson's to find.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

#define JSON_LONG_BYTES 16384 /* from here on a string is long, as it stands in the body */
#define JSON_LONG_MARK_BYTES 48

struct json_long {
        char mark[JSON_LONG_MARK_BYTES]; /* beginning of every short string that stands for a long one */
        json_t **strings;
        size_t count, size;
        char *rest; /* the body without them; NULL if it has none */
        size_t rest_length;
};

/*
 * Takes out what is at least `threshold` bytes long. 0; or a negative errno, and nothing is left to free: -EINVAL if
 * such a string is not valid, or is a name.
 */
int json_long_take(struct json_long *taken, const char *bytes, size_t length, size_t threshold, struct err *e);

/* Puts them back into what jansson made of `rest`, which it has to be no deeper than JSON_DEPTH_MAX. 0 or -ENOMEM. */
int json_long_restore(struct json_long *taken, json_t *tree);

void json_long_deinit(struct json_long *taken);
