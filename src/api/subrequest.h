/*
 * A request of the service to itself: the same route table, checks and handlers as over the network, in the same
 * process, for front doors that speak another protocol.
 *
 * Runs in the api process. Method and target are the caller's own, with what a client sent put through
 * subrequest_escape(); the body is as little trusted as one from the network, and checked by the same handlers.
 *
 * Who asks (project, key, Console session), the request id, the client's address and the trace are those of `parent`,
 * copied: the parent may end before. Its headers are not passed on; a handler sees a Content-Type if there is a body,
 * and nothing else. A request that nobody was admitted for (a route that is open) reaches open routes only. The rate of
 * the key is not counted again, and the request has no line of its own in log and metrics; its run does.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/http.h"

struct subrequest;

#define SUBREQUEST_FILE_MAX ((size_t)32 << 20)

/*
 * Where the answer goes. No function is called before subrequest_start has returned, nor from inside of a handler: each
 * call comes from the loop, so it may do anything, subrequest_cancel included. There is exactly one last call; after it
 * the subrequest is gone.
 */
struct subrequest_sink {
        /*
         * LAST. The whole reply, valid during the call; `content_type` may be NULL. Status 0: the handler has dropped
         * the request, or began a stream that is not taken.
         */
        void (*on_reply)(void *data, unsigned status, const char *content_type, const void *body, size_t length);
        /* Bytes of a streamed reply, as whole as the handler wrote them: it writes whole events. NULL: streams are not
         * taken; what the handler does is ended as if its client had gone. */
        void (*on_stream)(void *data, const void *bytes, size_t length);
        /* LAST, after a stream. With on_stream only. */
        void (*on_stream_end)(void *data);
        /* May be NULL. How many bytes of the stream are still on their way; the handler holds back while it is much.
         * When it has become less, say so with subrequest_drained. */
        size_t (*pending)(void *data);
        /* A reply from a file that is larger than this arrives as 413. 0: SUBREQUEST_FILE_MAX. */
        size_t file_max;
};

/*
 * `method` and `sink` stay where they are; `target` ("/v1/files/file_…?download=1") is copied. `body` is stolen in any
 * case and may be NULL. 0 with the subrequest, or -ENOMEM; all else that can go wrong is a reply.
 */
int subrequest_start(struct http_request *parent, const char *method, const char *target, json_t *body,
                     const struct subrequest_sink *sink, void *data, struct subrequest **ret);

/* The same for a body as it came from a client: malloc()ed, taken over in any case. `content_type` may be NULL. */
int subrequest_start_bytes(struct http_request *parent, const char *method, const char *target, char *body,
                           size_t length, const char *content_type, const struct subrequest_sink *sink, void *data,
                           struct subrequest **ret);

/* As a client that goes away: the run is ended. No call of the sink comes after it. */
void subrequest_cancel(struct subrequest *subrequest);

/* sink->pending has fallen. */
void subrequest_drained(struct subrequest *subrequest);

/* A header of the reply other than Content-Type, such as Retry-After, or NULL. Valid inside of the sink's calls. */
const char *subrequest_reply_header(const struct subrequest *subrequest, const char *name);

/* A text as one part of a path or as a value of a query: malloc()ed, or NULL. */
char *subrequest_escape(const char *text);
