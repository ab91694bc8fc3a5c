/*
 * The guard: reads the head of a request, byte by byte, before libmicrohttpd does, and refuses what is not plain
 * HTTP/1.1.
 *
 * Runs in the api process. Pure: bytes in, verdict out; of the bytes, only the white space around a header's value is
 * changed, so that none follows it. The bytes are hostile. libmicrohttpd forgives much (two differing Content-Length
 * headers, Content-Length beside Transfer-Encoding, NUL in a header, space before a colon, folded lines, bare line
 * feeds); where two programs in a row read such a head differently, requests are smuggled. So the guard lets through
 * only what every program reads alike, and knows from it where the body ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http.h"

#define GUARD_HEAD_MAX 16384 /* request line and headers as a whole, with their line ends */
#define GUARD_HEADERS_MAX 100
#define GUARD_TARGET_MAX 4096

enum guard_verdict {
        GUARD_MORE,     /* fine so far: feed again with more bytes */
        GUARD_COMPLETE, /* the head is whole and fine */
        GUARD_REFUSED,  /* kind and reason say why; the connection cannot be used any more */
};

/* Zeroed at the start of a request. */
struct guard {
        size_t start;                 /* where the request line begins: empty lines before it are passed over */
        size_t checked;               /* bytes of whole lines that were checked */
        size_t head_length;           /* COMPLETE: from the first byte fed to the end of the empty line */
        size_t target, target_length; /* place of the request target, such as "/v1/execute?x=y" */
        uint64_t content_length;
        unsigned headers;
        uint32_t seen; /* of the headers that may stand once only: a bit for each row of the table */
        bool have_line, http_1_0, chunked, expects_continue;

        enum http_error kind;
        const char *reason; /* one sentence */
};

/* `bytes` are all that came since the start of the request; what was fed before stays in front. */
enum guard_verdict guard_feed(struct guard *guard, char *bytes, size_t length);
