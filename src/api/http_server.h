/*
 * The HTTP server: libmicrohttpd, and the way of a request from the front through it to a handler and back.
 *
 * Runs in the api process, on its loop.
 */
#pragma once

struct api;
struct http_server;

/* Takes over `listen_fd`; accepts nothing before http_server_start. 0 or a negative errno. */
int http_server_new(struct api *api, int listen_fd, struct http_server **ret);
int http_server_start(struct http_server *server);

/* Accepts no more; `done` is called once when the last request has been answered. */
void http_server_drain(struct http_server *server, void (*done)(void *data), void *data);

/* Every request must have had its terminal call, or its handler must be gone for good. */
void http_server_free(struct http_server *server);
