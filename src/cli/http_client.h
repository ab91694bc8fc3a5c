/*
 * HTTP to the service, over libcurl.
 *
 * One request at a time. Whatever answers is taken for hostile: sizes are bounded, redirects are not followed, only
 * http and https are spoken. SIGINT and SIGTERM during a request end it by closing the connection, which is how the
 * service learns that nobody waits for the run any more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct http_client;
struct curl_slist;

/* Positive codes of http_client_call; the message says more. */
enum http_client_error {
        HTTP_CLIENT_E_CONNECT = 1, /* nobody answers at the address */
        HTTP_CLIENT_E_BROKEN,      /* the connection ended in the middle */
        HTTP_CLIENT_E_TIMEOUT,     /* no answer in time */
        HTTP_CLIENT_E_PROTOCOL,    /* what answers does not speak HTTP, or says too much */
        HTTP_CLIENT_E_INTERRUPTED, /* by a signal: interrupt_caught() */
        HTTP_CLIENT_E_STOPPED,     /* by on_data */
};

/* A piece of a reply of type text/event-stream. A result other than 0 ends the request. */
typedef int (*http_data_fn)(void *user, const char *bytes, size_t length);

/* A body that comes from a file, from where it stands. */
struct http_upload {
        int fd; /* borrowed */
        uint64_t length;
        const char *type; /* Content-Type */
};

/* So many bytes of a body have been moved. `total` is 0 where it is not known. */
typedef void (*http_moved_fn)(void *user, uint64_t done, uint64_t total);

struct http_call {
        const char *method, *path;
        const char *body; /* JSON, or NULL */
        size_t body_length;
        const struct http_upload *upload; /* instead of `body`, or NULL */
        bool wants_events;    /* where the service answers with events only if it is asked to */
        double timeout_s;     /* for all of it */
        http_data_fn on_data; /* NULL: a stream is collected like any other body */
        http_moved_fn on_sent, on_received; /* NULL: nobody looks on */
        void *user;
};

struct http_reply {
        long status;
        char *body; /* NUL-terminated; empty if it went to on_data */
        size_t body_length;
        bool is_json, is_stream;
};

/* `key` may be NULL. 0, -EINVAL for an address that is none (the message says why), or -ENOMEM. */
int http_client_new(const char *url, const char *key, struct http_client **ret, struct err *e);
/* From now on requests act in this project. 0, -EINVAL or -ENOMEM. */
int http_client_set_project(struct http_client *client, const char *project, struct err *e);
void http_client_free(struct http_client *client);
const char *http_client_url(const struct http_client *client);
/* Of every request, the key among them; for transfers that are not made by http_client_call. */
const struct curl_slist *http_client_headers(const struct http_client *client);

/* 0 once there is a whole reply of any status, a code from above, or a negative errno. */
int http_client_call(struct http_client *client, const struct http_call *call, struct http_reply *ret, struct err *e);
void http_reply_deinit(struct http_reply *reply);

/* Whether the address is this machine's own: then it is fit to be given the key that lies on this machine. */
bool http_url_is_loopback(const char *url);
