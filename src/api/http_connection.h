/*
 * One client connection of the front, and what it shares with the accepting side. Private to http_front.c,
 * http_connection.c and http_relay.c; see http_front.h.
 */
#pragma once

#include <netinet/in.h>

#include "api/http_front.h"
#include "api/http_guard.h"
#include "base/loop.h"

#define RELAY_BYTES 65536
#define SWEEP_NS (250 * NS_PER_MS)

struct http_channel;

enum connection_phase {
        CONNECTION_IDLE,   /* between requests: nothing of the next one has come */
        CONNECTION_HEAD,   /* a head is coming in */
        CONNECTION_BODY,   /* a body is passed on */
        CONNECTION_REPLY,  /* the request is whole; its answer is awaited or passed on */
        CONNECTION_LINGER, /* our side is, or will be, closed; what still comes in is thrown away */
};

struct front_connection {
        struct front *front;
        struct front_connection *previous, *next;
        struct in6_addr address; /* the part of it that limits count by */
        char client[INET6_ADDRSTRLEN];

        int fd;    /* to the client */
        int inner; /* to libmicrohttpd; -1 before the first request and after its end */
        struct loop_source *source, *inner_source, *kick;
        uint32_t events, inner_events; /* that are watched now */
        struct http_channel *channel;  /* NULL like `inner` */

        enum connection_phase phase;
        bool dead;          /* closed; freed by the next sweep */
        bool half_closed;   /* the client has ended its sending side; there may be input from before */
        bool input_ended;   /* and all of that was read */
        bool reply_begun;   /* a byte of the final answer was passed on */
        bool reply_left;    /* libmicrohttpd has written all of the answer, and not all of it was passed on */
        bool inner_blocked; /* libmicrohttpd takes no more of the body at present */
        bool shut;          /* our sending side is closed */

        struct guard guard;
        struct front_head head;
        uint64_t body_left;
        char *in; /* from the client, not yet passed on; RELAY_BYTES, or NULL while empty */
        size_t in_used;
        char *out; /* to the client, what its socket did not take; or NULL */
        size_t out_used, out_sent;

        uint64_t deadline_ns;       /* of the phase; 0: none */
        uint64_t stall_deadline_ns; /* of an unmoved `out`; 0: nothing is pending */
        uint64_t linger_end_ns;
        uint64_t ask_ns; /* half closed: when to ask (again) whether the client is still there; 0: at once */
};

struct front {
        struct api *api;
        struct http_server *server;
        int listen_fd;
        struct loop_source *listen_source, *sweep_timer, *accept_pause;
        struct front_connection *first;
        struct front_connection *dead;
        unsigned count, count_max;
        bool draining;
        void (*drained)(void *data);
        void *drained_data;
        char scratch[RELAY_BYTES];
};

/* http_connection.c */

/* Makes a connection of an accepted socket, which is taken in any case. 0 or a negative errno. */
int connection_new(struct front *front, int fd, const struct sockaddr *address, struct front_connection **ret);
/* Looks at its clocks; may close it. */
void connection_sweep(struct front_connection *connection, uint64_t now);
/* Closes it if it is between two requests. */
void connection_drain(struct front_connection *connection);
/* All that libmicrohttpd has written so far is out of the socket pair. */
void connection_all_relayed(struct front_connection *connection);

/* http_relay.c: the way back to the client. All but the first two may close the connection. */

/* Watches for what its state calls for. */
void connection_watch(struct front_connection *connection);
/* Sends what the socket takes and keeps the rest; nothing may be kept already. False: the client is gone. */
bool connection_send(struct front_connection *connection, const char *bytes, size_t length);
/* Sends of what was kept. False: the client is gone. */
bool connection_flush(struct front_connection *connection);
/* Passes on what libmicrohttpd wrote. */
void connection_relay(struct front_connection *connection);
/* Answers with an error, and closes gently. */
void connection_refuse(struct front_connection *connection, enum http_error kind, const char *message);

/* http_relay.c: the end. */

/* The client is gone: tells the request in work, and closes. */
void connection_lost(struct front_connection *connection);
/* No more requests: what libmicrohttpd has written goes out, then our side is closed. */
void connection_finish(struct front_connection *connection);
/* Closes our side, as soon as what was kept is out, and throws away what the client still sends. */
void connection_linger(struct front_connection *connection);
void connection_discard_input(struct front_connection *connection);
/* Lets go of libmicrohttpd's side. */
void connection_close_inner(struct front_connection *connection);
/* At once. It is freed by the next sweep. */
void connection_close(struct front_connection *connection);
void connection_free(struct front_connection *connection);

/* http_front.c: counts a refusal for the metrics. */
void front_count_refusal(struct front *front, const char *reason);
