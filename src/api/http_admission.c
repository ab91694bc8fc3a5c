/*
 * Admission of a request: everything that can be told before its body is read; see http_exchange.h.
 *
 * Runs in the api process. Path, query and headers come from the network.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/auth.h"
#include "api/console_assets.h"
#include "api/datadir.h"
#include "api/door.h"
#include "api/http_exchange.h"
#include "api/http_front.h"
#include "api/routes.h"
#include "base/config.h"
#include "base/log.h"
#include "store/key.h"

/* A front door that is shut is no path; what would open it is said as the service's own error. */
static bool admit_door(struct http_exchange *exchange) {
        struct http_request *request = &exchange->request;
        enum door door = route_door(request->route);
        if (door == DOOR_NONE || door_is_open(exchange->server->api->config, door))
                return true;
        request->route = NULL;
        http_reply_error(request, HTTP_NOT_FOUND, NULL,
                         "There is no such path: it belongs to the front door \"%s\", which is switched off. The "
                         "operator can switch it on with SANDBOX_FRONT_DOORS.",
                         door_name(door));
        return false;
}

bool exchange_admit_route(struct http_exchange *exchange) {
        struct http_request *request = &exchange->request;
        char allow[ROUTE_ALLOW_BYTES];
        switch (route_find(request->method, request->path, &request->route, exchange->params, request->params, allow)) {
        case ROUTE_FOUND:
                return admit_door(exchange);
        case ROUTE_UNKNOWN:
                http_reply_error(request, HTTP_NOT_FOUND, NULL, "There is no such path.");
                return false;
        case ROUTE_WRONG_METHOD:
                if (!admit_door(exchange))
                        return false;
                request->route = NULL;
                http_reply_header(request, "Allow", allow);
                http_reply_error(request, HTTP_METHOD_NOT_ALLOWED, NULL, "This path allows only: %s.", allow);
                return false;
        }
        return false;
}

bool exchange_admit_body(struct http_exchange *exchange, bool has_body, uint64_t length) {
        struct http_request *request = &exchange->request;
        const struct config *config = exchange->server->api->config;
        bool is_image = request->route->body_max == ROUTE_BODY_IMAGE;
        uint64_t limit = (uint64_t)(is_image ? config->image_max_bytes : config->body_max_bytes);
        exchange->body_max = request->route->body_max < limit ? request->route->body_max : limit;
        if (!has_body || length <= exchange->body_max)
                return true;
        if (exchange->body_max == ROUTE_BODY_NONE)
                http_reply_error(request, HTTP_TOO_LARGE, NULL, "This endpoint takes no body.");
        else
                http_reply_error(request, HTTP_TOO_LARGE, NULL,
                                 "The body has %llu bytes; at most %llu are allowed here%s.",
                                 (unsigned long long)length, (unsigned long long)exchange->body_max,
                                 is_image                      ? " (SANDBOX_IMAGE_MAX_BYTES)"
                                 : exchange->body_max == limit ? " (SANDBOX_BODY_MAX_BYTES)"
                                                               : "");
        return false;
}

/* A large body goes to the disk as it comes, in a file without a name: it is gone with its descriptor. */
static bool admit_upload(struct http_exchange *exchange) {
        struct http_request *request = &exchange->request;
        struct http_server *server = exchange->server;
        if (request->route->body_max != ROUTE_BODY_IMAGE)
                return true;
        if (server->uploads == UPLOADS_MAX) {
                http_reply_header(request, "Retry-After", "30");
                http_reply_error(request, HTTP_OVERLOADED, NULL,
                                 "%d images are being sent or unpacked already, which is the most. Try again in 30 s.",
                                 UPLOADS_MAX);
                return false;
        }
        request->body_fd = open(DATADIR_UPLOADS, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
        if (request->body_fd < 0) {
                log_error("no file can be made for a body", "error", log_errno(-errno));
                http_reply_error(request, HTTP_INTERNAL, NULL,
                                 "The service cannot write the image to its data folder; its log says why.");
                return false;
        }
        exchange->is_upload = true;
        server->uploads++;
        front_allow_time(exchange->channel->front_connection, (uint64_t)server->api->config->image_timeout_s);
        return true;
}

void exchange_admit(struct http_exchange *exchange, const struct front_head *head) {
        const char *query = strchr(head->target, '?');
        if (console_owns(exchange->request.path))
                console_add_headers(&exchange->request); /* to every answer, refusals too */
        if (query && strstr(query, KEY_PREFIX))
                http_reply_error(&exchange->request, HTTP_INVALID_REQUEST, NULL,
                                 "A key must never stand in an address, where logs keep it: send it in the header "
                                 "\"Authorization: Bearer KEY\", and replace this one.");
        else if (exchange_admit_route(exchange) &&
                 auth_admit(exchange->server->api->auth, &exchange->request, exchange->request.route->scope))
                (void)(exchange_admit_body(exchange, head->has_body, head->content_length) && admit_upload(exchange));
}
