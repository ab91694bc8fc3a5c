/*
 * One client connection of the front, and what it shares with the accepting side. Private to http_front.c and
 * http_connection.c; see http_front.h.
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

/* Makes a connection of an accepted socket, which is taken in any case. 0 or a negative errno. */
int connection_new(struct front *front, int fd, const struct sockaddr *address, struct front_connection **ret);
/* Looks at its clocks; may close it. */
void connection_sweep(struct front_connection *connection, uint64_t now);
/* Closes it if it is between two requests. */
void connection_drain(struct front_connection *connection);
void connection_close(struct front_connection *connection);
void connection_free(struct front_connection *connection);

/* Counts a refusal for the metrics. */
void front_count_refusal(struct front *front, const char *reason);
