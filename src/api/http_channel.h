/*
 * The side of libmicrohttpd as the front sees it: a channel is one connection inside, fed over a socket pair.
 *
 * Runs in the api process. A channel lives until libmicrohttpd has closed its end; the front's connection may go
 * earlier and says so with channel_detach.
 */
#pragma once

#include <stdbool.h>

struct front_connection;
struct http_channel;
struct http_server;

/* Hands `fd`, one end of a socket pair, to libmicrohttpd; it is taken in any case. NULL: it could not be. */
struct http_channel *channel_open(struct http_server *server, int fd, struct front_connection *connection);

/* The client is gone: the request in work, if there is one, is told. */
void channel_client_gone(struct http_channel *channel);

/* True while a handler has a request of this channel and has not made its terminal call. */
bool channel_is_waiting(const struct http_channel *channel);

/* The front's connection is about to be freed. */
void channel_detach(struct http_channel *channel);
