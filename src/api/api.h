/*
 * The api process's context: what every handler may reach.
 *
 * One process, one loop, on whose thread everything here runs; the store writes on a thread of its own. Made by main.c in the order in which it stands here, torn down in reverse.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct activity;
struct audit;
struct auth;
struct call;
struct config;
struct console;
struct conversation_events;
struct engine;
struct execution;
struct expiry;
struct http_server;
struct idempotency;
struct images;
struct loop;
struct mcp;
struct metrics;
struct sessions;
struct store;

struct api {
        const struct config *config;
        struct config *settings; /* the same, for settings.c alone */
        struct loop *loop;
        struct metrics *metrics;
        struct activity *activity; /* of the last hour */
        json_t *environment;   /* environment.json of the image, or an empty object */
        struct store *store;   /* what is remembered; writes on a thread of its own */
        struct audit *audit;   /* who did what; NULL until the store is there */
        struct auth *auth;     /* keys of requests, rates */
        struct console *console; /* who is signed in there */
        struct sessions *sessions; /* stateful ones that live */
        struct expiry *expiry; /* ends conversations */
        struct execution *executions; /* requests to run something that are on their way */
        struct call *calls;           /* and those to call a tool */
        struct idempotency *idempotency; /* requests with an Idempotency-Key */
        struct images *images;        /* of agents, that are on the disk */
        unsigned deploys;             /* of images, that are on their way */
        struct engine *engine; /* pool and runs; talks to the spawner */
        struct conversation_events *events; /* who listens to conversations */
        struct mcp *mcp; /* sessions of MCP clients */
        struct http_server *http;
        struct manager *manager; /* the system's; NULL: there is none */
        uint64_t started_ns;     /* clock_now_ns() */
        bool draining;           /* SIGTERM has come: no new runs */
        unsigned draining_parts; /* that are not done: engine, HTTP server */
};

/* Ends the process's loop; `why` goes into the log. For what cannot be gone on with, such as a lost spawner. */
void api_quit(struct api *api, int exit_status, const char *why);
