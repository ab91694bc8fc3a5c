/*
 * The way of a request from libmicrohttpd to its handler and back; see http.h and http_exchange.h.
 *
 * What can be told before the body is read (http_admission.c) is told then. The body is kept whole, in memory that all
 * requests share a bound of, or of one route in a file.
 */
#include "api/http_exchange.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/http_front.h"
#include "api/metrics.h"
#include "api/routes.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"

/* ---- life */

void exchange_count_body(struct http_exchange *exchange, size_t size) {
        struct http_server *server = exchange->server;
        server->body_bytes += size - exchange->body_size;
        exchange->body_size = size;
        metrics_set(server->api->metrics, METRIC_BODY_BYTES, (double)server->body_bytes);
}

void http_release_body(struct http_request *request) {
        struct http_exchange *exchange = exchange_of(request);
        free(TAKE_PTR(exchange->body));
        exchange_count_body(exchange, 0);
        request->body = "";
        request->body_length = 0;
}

void exchange_deinit(struct http_exchange *exchange) {
        http_release_body(&exchange->request);
        close_fd(&exchange->request.body_fd);
        exchange->server->uploads -= exchange->is_upload;
        if (exchange->response)
                MHD_destroy_response(exchange->response);
        for (size_t i = 0; i < exchange->header_count; i++)
                free(exchange->headers[i].value);
        stream_deinit(&exchange->stream);
        free(exchange->target);
        free(exchange->params);
}

static void exchange_free(struct http_exchange *exchange) {
        exchange_deinit(exchange);
        free(exchange);
}

void exchange_suspend(struct http_exchange *exchange) {
        exchange->suspended = true;
        exchange->server->suspended++;
        MHD_suspend_connection(exchange->connection);
}

/* With a loop that is not its own, libmicrohttpd looks at resumed connections only when it is run. */
void exchange_resume(struct http_exchange *exchange) {
        struct http_server *server = exchange->server;
        if (!exchange->suspended)
                return;
        exchange->suspended = false;
        server->suspended--;
        MHD_resume_connection(exchange->connection);
        http_server_run_soon(server);
}

void exchange_end(struct http_exchange *exchange) {
        assert(!exchange->ended);
        exchange->ended = true;
        exchange->outlet->wake(exchange);
}

void exchange_tell_gone(struct http_exchange *exchange) {
        if (exchange->gone)
                return;
        exchange->gone = true;
        if (exchange->handed && !exchange->ended && exchange->on_gone.call)
                exchange->on_gone.call(&exchange->request, exchange->on_gone.data);
}

/* ---- the wire */

static const char *wire_query(const struct http_exchange *exchange, const char *name) {
        const char *value = NULL;
        size_t length;
        if (!exchange->connection || MHD_lookup_connection_value_n(exchange->connection, MHD_GET_ARGUMENT_KIND, name,
                                                                   strlen(name), &value, &length) != MHD_YES)
                return NULL;
        return value ? value : "";
}

static const char *wire_header(const struct http_exchange *exchange, const char *name) {
        return exchange->connection ? MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name) : NULL;
}

static void wire_wake(struct http_exchange *exchange) {
        if (exchange->connection)
                exchange_resume(exchange);
        else if (exchange->ended)
                exchange_free(exchange);
}

static const struct exchange_outlet wire = {
        .query = wire_query,
        .header = wire_header,
        .reply = wire_reply,
        .begin = wire_begin,
        .wake = wire_wake,
};

static struct http_exchange *exchange_new(struct http_channel *channel, struct MHD_Connection *connection,
                                          const char *method) {
        const struct front_head *head = front_connection_head(channel->front_connection);
        struct http_exchange *exchange = calloc(1, sizeof(*exchange));
        if (!exchange)
                return NULL;
        exchange->outlet = &wire;
        exchange->server = channel->server;
        exchange->target = strdup(head->target);
        exchange->params = malloc(strlen(head->target) + 1);
        if (!exchange->target || !exchange->params) {
                exchange_free(exchange);
                return NULL;
        }
        exchange->target[strcspn(exchange->target, "?")] = '\0';
        snprintf(exchange->client, sizeof(exchange->client), "%s", front_connection_client(channel->front_connection));
        exchange->channel = channel;
        exchange->connection = connection;
        exchange->request = (struct http_request){
                .method = method,
                .path = exchange->target,
                .body = "",
                .body_fd = -1,
                .client = exchange->client,
                .received_ns = head->received_ns,
        };
        http_new_id(exchange->request.id);
        trace_continue(http_header(&exchange->request, "traceparent"), exchange->request.trace);
        channel->exchange = exchange;
        return exchange;
}

const char *http_query(const struct http_request *request, const char *name) {
        const struct http_exchange *exchange = exchange_of(request);
        return exchange->outlet->query(exchange, name);
}

const char *http_header(const struct http_request *request, const char *name) {
        const struct http_exchange *exchange = exchange_of(request);
        return exchange->outlet->header(exchange, name);
}

void http_on_disconnect(struct http_request *request, http_notice_fn call, void *data) {
        exchange_of(request)->on_gone = (struct notice){.call = call, .data = data};
}

bool http_is_gone(const struct http_request *request) {
        return exchange_of(request)->gone;
}

/* ---- the body */

/* Grows by doubling with what has really come, so that a header alone reserves nothing. */
static bool grow_body(struct http_exchange *exchange, size_t needed) {
        struct http_server *server = exchange->server;
        size_t size = exchange->body_size ? exchange->body_size : 4096;
        while (size < needed)
                size *= 2;
        if (size > exchange->body_max + 1)
                size = exchange->body_max + 1;
        if (server->body_bytes + (size - exchange->body_size) > server->body_bytes_max)
                return false;
        char *body = realloc(exchange->body, size);
        if (!body)
                return false;
        exchange->body = body;
        exchange_count_body(exchange, size);
        return true;
}

static bool write_all(int fd, const char *bytes, size_t length) {
        while (length > 0) {
                ssize_t put = write(fd, bytes, length);
                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return false;
                bytes += put;
                length -= (size_t)put;
        }
        return true;
}

static bool take_into_file(struct http_exchange *exchange, const char *bytes, size_t length) {
        if (!write_all(exchange->request.body_fd, bytes, length)) {
                log_error("a body cannot be written to its file", "error", log_errno(-errno));
                front_refuse(exchange->channel->front_connection, HTTP_OVERLOADED,
                             "The service has no room on its disk for this image.");
                return false;
        }
        exchange->body_in_file += length;
        return true;
}

static bool take_body(struct http_exchange *exchange, const char *bytes, size_t length) {
        struct http_request *request = &exchange->request;
        struct front_connection *front_connection = exchange->channel->front_connection;
        size_t used = request->body_length;
        if (!front_connection)
                return false;
        if (length > exchange->body_max - used - exchange->body_in_file) {
                char message[128];
                snprintf(message, sizeof(message), "The body is larger than the %llu bytes that are allowed here%s.",
                         (unsigned long long)exchange->body_max,
                         exchange->is_upload ? " (SANDBOX_IMAGE_MAX_BYTES)" : "");
                front_refuse(front_connection, HTTP_TOO_LARGE, message);
                return false;
        }
        if (exchange->is_upload)
                return take_into_file(exchange, bytes, length);
        if (used + length + 1 > exchange->body_size && !grow_body(exchange, used + length + 1)) {
                front_refuse(front_connection, HTTP_OVERLOADED,
                             "The service holds too many request bodies at the moment; try again.");
                return false;
        }
        memcpy(exchange->body + used, bytes, length);
        exchange->body[used + length] = '\0';
        request->body = exchange->body;
        request->body_length = used + length;
        return true;
}

/* ---- what libmicrohttpd calls */

static struct http_channel *channel_of(struct MHD_Connection *connection) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        return info ? info->socket_context : NULL;
}

/* Lets a reply go out that is there, or waits for it in suspension. */
static enum MHD_Result answer(struct http_exchange *exchange) {
        if (exchange->dropped)
                return MHD_NO;
        if (!exchange->response) {
                exchange_suspend(exchange);
                return MHD_YES;
        }
        exchange->queued = true;
        return MHD_queue_response(exchange->connection, exchange->status, exchange->response);
}

static enum MHD_Result begin(struct http_channel *channel, struct MHD_Connection *connection, const char *method,
                             void **context) {
        if (!channel || !channel->front_connection)
                return MHD_NO;
        const struct front_head *head = front_connection_head(channel->front_connection);
        struct http_exchange *exchange = exchange_new(channel, connection, method);
        if (!exchange)
                return MHD_NO;
        *context = exchange;
        exchange_admit(exchange, head);
        /* A refusal now, instead of after the body, spares reading it; libmicrohttpd then closes the connection. */
        return exchange->response && head->has_body ? answer(exchange) : MHD_YES;
}

enum MHD_Result exchange_on_request(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                                    const char *version, const char *bytes, size_t *length, void **context) {
        struct http_exchange *exchange = *context;
        (void)data, (void)url, (void)version;
        if (!exchange)
                return begin(channel_of(connection), connection, method, context);
        if (*length) {
                if (!exchange->queued && !take_body(exchange, bytes, *length))
                        return MHD_NO;
                *length = 0;
                return MHD_YES;
        }
        if (exchange->queued)
                return MHD_YES;
        if (!exchange->handed && !exchange->ended) {
                if (exchange->channel->front_connection)
                        front_body_done(exchange->channel->front_connection);
                exchange->handed = true;
                exchange->request.route->handle(exchange->server->api, &exchange->request);
        }
        return answer(exchange);
}

static void account(struct http_exchange *exchange, bool complete) {
        struct api *api = exchange->server->api;
        const struct http_request *request = &exchange->request;
        const char *route = request->route ? request->route->pattern : "none";
        const char *method = request->route ? request->route->method : "none";
        uint64_t took = clock_now_ns() - request->received_ns;
        char status[16] = "none", milliseconds[32], trace[TRACE_ID_BYTES];

        if (exchange->queued)
                snprintf(status, sizeof(status), "%u", exchange->status);
        snprintf(milliseconds, sizeof(milliseconds), "%.3f", (double)took / (double)NS_PER_MS);
        trace_id(request->trace, trace);
        metrics_add(api->metrics, METRIC_REQUESTS, 1, route, method, status);
        metrics_observe_ns(api->metrics, METRIC_REQUEST_SECONDS, took);
        /* Probes ask every few seconds; who has a key is worth a line. */
        bool open = !request->route || request->route->scope == ROUTE_OPEN;
        log_event(open ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "request", "request", request->id, "client", request->client,
                  "method", request->method, "route", route, "status", status, "complete", complete ? "yes" : "no",
                  "ms", milliseconds, "key", request->auth.key_name, "project", request->auth.project, *trace ? "trace" : NULL, trace, NULL);
}

void exchange_on_completed(void *data, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code) {
        struct http_exchange *exchange = *context;
        struct http_channel *channel;
        (void)data, (void)connection;
        if (!exchange)
                return;
        *context = NULL;
        channel = exchange->channel;
        account(exchange, code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        channel->exchange = NULL;
        exchange->channel = NULL;
        exchange->connection = NULL;
        if (channel->front_connection)
                front_request_done(channel->front_connection);
        if (exchange->ended || !exchange->handed)
                exchange_free(exchange);
        else
                exchange_tell_gone(exchange); /* its handler still has it, and ends it */
}
