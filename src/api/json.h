/*
 * Strict decoding of JSON bodies by tables of fields.
 *
 * Runs in the api process; the bytes come from the network. Refused, each with a message that says what and where:
 * duplicate keys, invalid UTF-8, lone surrogates, nesting deeper than JSON_DEPTH_MAX, more than JSON_VALUES_MAX values,
 * unknown fields, wrong types, NUL in strings, values out of range, `null` for a field that does not say that it may be null.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct http_request;

#define JSON_DEPTH_MAX 64
#define JSON_VALUES_MAX 20000 /* of a whole body, members of all lists and objects together */
#define JSON_VALUES_MANY 200000 /* where lists of numbers are to be expected */

enum json_want {
        JSON_WANT_STRING,
        JSON_WANT_NUMBER, /* integer or real */
        JSON_WANT_INTEGER,
        JSON_WANT_BOOL,
        JSON_WANT_ARRAY,
        JSON_WANT_OBJECT,
        JSON_WANT_ANY,
};

struct json_field {
        const char *name;
        enum json_want want;
        bool required;
        bool null_allowed;    /* `null` counts as left out; a wrong type otherwise */
        bool nul_allowed;     /* strings: "\u0000" is refused otherwise */
        bool above_min;       /* numbers: `min` itself is out of range */
        double min, max;      /* both 0: no bound. Numbers: the value; strings: length in bytes; arrays: members */
        const char *expected; /* for messages, instead of the type and the bounds: "a number of seconds …" */
        json_t **value;       /* set to the borrowed member, or to NULL if it is left out */
};

/* Parses `length` bytes whose top level must be an object. 0 with a new reference, or -EINVAL, -ENOMEM. */
int json_parse_object(const char *bytes, size_t length, json_t **ret, struct err *e);
/* The same for what may have JSON_VALUES_MANY values. */
int json_parse_object_many(const char *bytes, size_t length, json_t **ret, struct err *e);

/*
 * Checks an object against its table and hands out the members. `where` is put before field names ("files[3]."), "" at
 * the top. 0 or -EINVAL with the field named.
 */
int json_decode(json_t *object, const char *where, const struct json_field *fields, size_t count, struct err *e);

/*
 * Body of a request to decoded members, in one go: content type, parsing, table. On failure the request has been
 * ANSWERED (400 or 415) and false is returned; else *ret owns what the members borrow from, and the body is released.
 */
bool json_decode_request(struct http_request *request, const struct json_field *fields, size_t count, json_t **ret);
/* The same for a body that may have JSON_VALUES_MANY values. */
bool json_decode_request_many(struct http_request *request, const struct json_field *fields, size_t count,
                              json_t **ret);

/* A string from bytes of any kind: what is not UTF-8 becomes U+FFFD (one a maximal bad part). A new reference. */
json_t *json_string_lossy(const char *bytes, size_t length);
