/*
 * What the parts of the MCP server share. Private to them.
 *
 * Runs in the api process. The server asks the service by subrequests (subrequest.h): it runs nothing itself.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http.h"
#include "api/mcp_message.h"
#include "api/names.h"
#include "store/conversations.h"

struct api;
struct loop_source;
struct mcp_reply;
struct mcp_session;

#define MCP_SESSIONS_MAX 1000
#define MCP_SESSIONS_PER_PROJECT 100
#define MCP_REQUESTS_PER_SESSION 32              /* under way */
#define MCP_KEPT_BYTES_MAX ((size_t)64 << 20)    /* ended streams, of all sessions together */
#define MCP_KEPT_NS (300 * UINT64_C(1000000000)) /* each of them */
#define MCP_RUNNING_BYTES_MAX ((size_t)64 << 10) /* of a stream that has not ended: its last events */

struct mcp {
        struct api *api;
        struct mcp_session *sessions;
        struct mcp_reply *kept_first, *kept_last; /* streams that have ended, oldest first */
        size_t kept_bytes;
        struct loop_source *sweep; /* while there are sessions */
};

/* For whom tools are listed and called. */
struct mcp_scope {
        char agent[AGENT_NAME_LENGTH_MAX + 1];         /* "": runs without an agent */
        char conversation[STORE_CONVERSATION_MAX + 1]; /* "": none */
};

/* mcp_session.c */
struct mcp_session {
        struct mcp *mcp;
        struct mcp_session *next;
        char id[REQUEST_ID_BYTES + 1];
        int64_t project_id;
        enum mcp_revision revision;
        struct mcp_scope scope;
        bool owns_conversation; /* it was made for this session */
        uint64_t used_ns;
        uint64_t streams; /* so many were begun */
        unsigned running;
        struct mcp_reply *replies; /* under way, or kept */
};

/* NULL: too many, or no memory; the error says so. */
struct mcp_session *mcp_session_new(struct mcp *mcp, const struct http_request *request, enum mcp_revision revision,
                                    const struct mcp_scope *scope, struct mcp_error *e);
/* Of this project; NULL: there is none. */
struct mcp_session *mcp_session_find(struct mcp *mcp, int64_t project_id, const char *id);
/* Ends what it has under way. */
void mcp_session_free(struct mcp_session *session);

/* mcp_reply.c: the reply to one request, as JSON or as a stream. */
struct mcp_event;
struct mcp_reply {
        struct mcp *mcp;
        struct mcp_session *session;  /* NULL: of a revision without sessions */
        struct mcp_reply *next;       /* of the session */
        struct mcp_reply *kept_next;  /* of mcp->kept_first */
        struct http_request *request; /* NULL: nobody is connected */
        enum mcp_revision revision;
        struct mcp_scope scope;
        json_t *id;
        bool takes_json, takes_stream, begun, ended;
        uint64_t number, events; /* of the stream in its session; of events so far */
        struct mcp_event *first, *last;
        size_t bytes;
        uint64_t ended_ns;
        struct loop_source *timer;
        void (*cancel)(void *data); /* frees the work; the reply is the caller's to end */
        void *work;
};

/* NULL: no memory; the request was answered. `session` may be NULL. */
struct mcp_reply *mcp_reply_new(struct mcp *mcp, struct mcp_session *session, struct http_request *request,
                                enum mcp_revision revision, const struct mcp_scope *scope, json_t *id);
/* It will take a while: the stream begins now, or soon, so that nothing on the way loses patience. */
void mcp_reply_later(struct mcp_reply *reply, bool begin_now, void (*cancel)(void *data), void *work);
/* To a stream that has begun. Left out if the client does not read. Steals `params`. */
void mcp_reply_notify(struct mcp_reply *reply, const char *method, json_t *params);
/* LAST. Steals `result`; NULL is a want of memory. */
void mcp_reply_result(struct mcp_reply *reply, json_t *result);
/* LAST. The same for a result that is text already: malloc()ed, an object on one line. */
void mcp_reply_text(struct mcp_reply *reply, char *result);
/* LAST. The same for what a client may keep for a while, were it allowed to: lists change at any time. */
void mcp_reply_cacheable(struct mcp_reply *reply, json_t *result);
/* LAST. Takes e->data. */
void mcp_reply_error(struct mcp_reply *reply, struct mcp_error *e);
/* Ends it without an answer: it was cancelled. */
void mcp_reply_cancel(struct mcp_reply *reply);
void mcp_reply_free(struct mcp_reply *reply);
/* A client that comes back: sends it what it has not seen, from a stream of the session. False: that is not there. */
bool mcp_reply_resume(struct mcp_session *session, struct http_request *request, const char *last_event_id);
/* Gives up kept streams that are older than MCP_KEPT_NS, or over MCP_KEPT_BYTES_MAX. */
void mcp_reply_sweep(struct mcp *mcp);

/* TERMINAL. A message that is an error, where there is no mcp_reply yet. */
void mcp_answer_error(struct http_request *request, unsigned status, json_t *id, struct mcp_error *e);
/* What Accept allows; false: neither. */
bool mcp_accepts(const struct http_request *request, bool *json, bool *stream);

/* mcp_tools.c, mcp_resources.c: methods. Each ends its reply, at once or later. */
void mcp_tools_list(struct mcp_reply *reply, json_t *params);
void mcp_tools_call(struct mcp_reply *reply, json_t *params);
void mcp_resources_list(struct mcp_reply *reply, json_t *params);
void mcp_resources_templates(struct mcp_reply *reply, json_t *params);
void mcp_resources_read(struct mcp_reply *reply, json_t *params);
