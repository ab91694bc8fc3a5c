/*
 * JSON as it is written: an append-only buffer and the few ways to put a value into it.
 *
 * Runs in the api process. Replies carry megabytes that came from a sandbox; they are escaped straight into the body,
 * with no tree and no copy in between. The writer of a member sees to commas: json_out_key() puts one where one is due.
 * Running out of memory sets `failed` and is looked at once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_out {
        char *bytes;
        size_t used, size;
        bool failed;
        bool comma; /* a value stands before the current place */
};

/* With room for `expected` bytes. */
void json_out_init(struct json_out *out, size_t expected);
void json_out_deinit(struct json_out *out);
/* Makes room for so many more bytes, so that what follows does not move the buffer again and again. */
void json_out_reserve(struct json_out *out, size_t more);

void json_out_open(struct json_out *out, char bracket);  /* '{' or '[' */
void json_out_close(struct json_out *out, char bracket); /* '}' or ']' */
void json_out_key(struct json_out *out, const char *key);

/* Values. Strings are bytes of any kind: what is not UTF-8 becomes U+FFFD. A NULL string is null. */
void json_out_string(struct json_out *out, const char *text);
void json_out_bytes(struct json_out *out, const char *bytes, size_t length);
void json_out_int(struct json_out *out, int64_t value);
/* With three digits after the point, cut trailing zeros. */
void json_out_milli(struct json_out *out, uint64_t thousandths);
void json_out_bool(struct json_out *out, bool value);
void json_out_null(struct json_out *out);
/* Text that is one JSON value already. */
void json_out_raw(struct json_out *out, const char *json, size_t length);
void json_out_base64(struct json_out *out, const void *bytes, size_t length);

/* A string in parts: open, any number of text parts, close. Parts hold whole characters, or what is bad in them is
 * lost. */
void json_out_quote_begin(struct json_out *out);
void json_out_quote_part(struct json_out *out, const char *bytes, size_t length);
void json_out_quote_end(struct json_out *out);

/* Text as it is, for what stands around the JSON. */
void json_out_text(struct json_out *out, const char *text);

/* Members in one call. */
void json_out_member_string(struct json_out *out, const char *key, const char *text);
void json_out_member_int(struct json_out *out, const char *key, int64_t value);
void json_out_member_milli(struct json_out *out, const char *key, uint64_t thousandths);
void json_out_member_bool(struct json_out *out, const char *key, bool value);
