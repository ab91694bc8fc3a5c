/*
 * What the headers of a kept file's request and reply mean: ranges, validators, and how it may be shown.
 *
 * Runs in the api process. Pure. Names and types come from a sandbox, header values from the network: both are hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- ranges (RFC 9110, section 14) */

enum range_kind {
        RANGE_WHOLE,         /* none asked for, several, or nothing that is understood: all of it, 200 */
        RANGE_PART,          /* 206 */
        RANGE_UNSATISFIABLE, /* 416 */
};

struct range {
        enum range_kind kind;
        uint64_t offset, length;
};

/* `header` may be NULL. */
struct range range_parse(const char *header, uint64_t size);

/* ---- validators */

/* If-None-Match: a list of entity tags, or "*"; weak and strong ones count the same. `etag` with its quotes. */
bool etag_is_listed(const char *header, const char *etag);
/* If-Range: whether a part may be sent. Without the header it may. A date never fits, as none is sent. */
bool etag_allows_range(const char *header, const char *etag);

/* ---- how it is shown */

/*
 * Whether a browser may show it where it stands. Only types in which nothing can run, whatever the content is: raster
 * pictures and plain text. SVG and HTML are programs.
 */
bool media_type_is_harmless(const char *media_type);

/*
 * Content-Disposition (RFC 6266): "inline" or "attachment" with the last part of the file's name, in ASCII and, where
 * that is not the name itself, as RFC 8187 has it. The answer is printable ASCII, whatever the name is.
 */
#define DISPOSITION_BYTES 4352 /* a name of 1024 bytes, once as it is and once with each as %XX */
void disposition_print(const char *name, bool attachment, char text[DISPOSITION_BYTES]);
