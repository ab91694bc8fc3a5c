/*
 * What the Console reads in the headers of a request: its cookie, where the request comes from, what may be sent.
 *
 * Runs in the api process. Pure. Every text comes from the network; NULL stands for a header that is not there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The value of one cookie of a Cookie header, copied. False if it is not there, does not fit, or stands there twice:
 * then another program of the same host name has set one beside ours, and which is whose cannot be told.
 */
bool cookie_find(const char *header, const char *name, char *value, size_t size);

struct origin {
        const char *origin;     /* Origin */
        const char *fetch_site; /* Sec-Fetch-Site */
        const char *host;       /* Host, as the browser or the last proxy wrote it */
        const char *scheme;     /* X-Forwarded-Proto */
};

/*
 * Whether a request can have been made by a page of this service, as far as a browser tells; a client that is no
 * browser tells nothing, and is believed. `navigates`: it changes nothing, so a person may have typed its address.
 */
bool origin_is_own(const struct origin *origin, bool navigates);

/* Whether X-Forwarded-Proto says that the browser speaks TLS with a proxy. */
bool forwarded_is_https(const char *scheme);

/* Whether Accept-Encoding allows gzip. */
bool encoding_allows_gzip(const char *header);
