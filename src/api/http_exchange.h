/*
 * One request and its answer, as http_server.c, http_admission.c, http_exchange.c, http_reply.c, http_stream.c and
 * subrequest.c share it. Private to them.
 *
 * Runs in the api process.
 *
 * States:  created (first call of libmicrohttpd) → [refused]     a reply is there before any handler was asked
 *                                                → handed        the handler has it
 *                                                → ended         its terminal call was made; the server owns it alone
 * `connection` is NULL from the moment at which libmicrohttpd is done with the request. An exchange is freed when it
 * has ended and has no connection.
 */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

#include "api/http.h"
#include "api/http_error.h"

struct api;
struct front;
struct front_head;
struct front_connection;
struct loop_source;

#define REPLY_HEADERS_MAX 16
#define UPLOADS_MAX 2

/* libmicrohttpd and all that goes through it. */
struct http_server {
        struct api *api;
        struct MHD_Daemon *daemon;
        struct front *front;
        struct loop_source *source, *timer;
        uint64_t body_bytes, body_bytes_max; /* of all requests together */
        unsigned suspended;                  /* exchanges */
        unsigned uploads;                    /* bodies that go into files */
        struct http_channel **by_fd;         /* by libmicrohttpd's end of the socket pair */
        size_t by_fd_count;
};

/* One connection inside. */
struct http_channel {
        struct http_server *server;
        struct front_connection *front_connection; /* NULL once that is gone */
        struct http_exchange *exchange;            /* that libmicrohttpd is working on */
        int fd;
        bool open; /* libmicrohttpd has not closed it yet */
};

struct notice {
        http_notice_fn call;
        void *data;
};

/* What a streaming handler wrote and libmicrohttpd has not yet taken. */
struct stream {
        char *bytes;
        size_t size, start, end;
        size_t drain_below;
        struct notice drain;
};

/* What a handler answered with. */
struct reply_content {
        enum { CONTENT_TAKEN, CONTENT_STATIC, CONTENT_FILE } kind;
        char *bytes; /* TAKEN: malloc()ed, or NULL for want of memory; STATIC: stays where it is */
        int fd;      /* FILE */
        uint64_t offset, length;
};

/* Who a request came from and its answer goes to: libmicrohttpd, or one who asked from inside (subrequest.c). */
struct exchange_outlet {
        const char *(*query)(const struct http_exchange *exchange, const char *name);
        const char *(*header)(const struct http_exchange *exchange, const char *name);
        /* Takes what it is given over, and sets `status`; exchange_end follows. */
        void (*reply)(struct http_exchange *exchange, unsigned status, const char *content_type,
                      const struct reply_content *content);
        void (*begin)(struct http_exchange *exchange, const char *content_type);
        /* Bytes of a stream that have left the exchange, but are still on their way. NULL: none. */
        size_t (*pending)(const struct http_exchange *exchange);
        /* There is more of a stream, or the exchange has ended. */
        void (*wake)(struct http_exchange *exchange);
};

struct http_exchange {
        struct http_request request; /* first, so that a handler's pointer is ours */
        const struct exchange_outlet *outlet;
        struct http_server *server;
        struct http_channel *channel;
        struct MHD_Connection *connection;
        char client[INET6_ADDRSTRLEN];
        char *target; /* path, cut off at the query */
        char *params; /* storage of request.params */
        char *body;
        size_t body_size;
        uint64_t body_max;
        uint64_t body_in_file; /* bytes there, of a route that takes its body so */
        bool is_upload;        /* counts among server->uploads */

        bool handed, ended, gone, dropped;
        bool suspended; /* in libmicrohttpd */
        bool streaming, queued;
        unsigned status;
        struct MHD_Response *response;
        struct {
                const char *name;
                char *value;
        } headers[REPLY_HEADERS_MAX];
        size_t header_count;
        struct notice on_gone;
        struct stream stream;
};

static inline struct http_exchange *exchange_of(const struct http_request *request) {
        return (struct http_exchange *)(uintptr_t)request;
}

/* http_server.c: has libmicrohttpd look at its connections, from the loop. */
void http_server_run_soon(struct http_server *server);

/* http_admission.c. Those that return false have ANSWERED the request. */
void exchange_admit(struct http_exchange *exchange, const struct front_head *head);
bool exchange_admit_route(struct http_exchange *exchange);
/* After the route: sets body_max, and looks at the length that the body is said to have. */
bool exchange_admit_body(struct http_exchange *exchange, bool has_body, uint64_t length);

/* http_exchange.c: what libmicrohttpd calls, with its types. */
enum MHD_Result exchange_on_request(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                                    const char *version, const char *bytes, size_t *length, void **context);
void exchange_on_completed(void *data, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);
void exchange_suspend(struct http_exchange *exchange);
void exchange_resume(struct http_exchange *exchange);
/* The terminal call was made: lets libmicrohttpd go on, or frees what nobody needs any more. */
void exchange_end(struct http_exchange *exchange);
/* Gives back all that it owns, but not itself. */
void exchange_deinit(struct http_exchange *exchange);
/* The body now has so many bytes of memory, of those that all requests share. */
void exchange_count_body(struct http_exchange *exchange, size_t size);
/* The client is gone: tells the handler, once. */
void exchange_tell_gone(struct http_exchange *exchange);

/* http_reply.c */
void wire_reply(struct http_exchange *exchange, unsigned status, const char *content_type,
                const struct reply_content *content);
/* Puts the common headers on a response and makes it the exchange's. Takes it; NULL: out of memory. */
void exchange_set_response(struct http_exchange *exchange, unsigned status, struct MHD_Response *response,
                           const char *content_type);

/* http_stream.c */
void wire_begin(struct http_exchange *exchange, const char *content_type);
void stream_deinit(struct stream *stream);
/* Calls who waits for room, if there is as much now. */
void stream_tell_drained(struct http_exchange *exchange);
