/* The MCP server's HTTP surface and its methods; see mcp.h. */
#include "api/mcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "api/api.h"
#include "api/console_headers.h"
#include "api/mcp_private.h"
#include "api/subrequest.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"

#define SESSION_HEADER "Mcp-Session-Id"

int mcp_new(struct api *api, struct mcp **ret) {
        struct mcp *mcp = calloc(1, sizeof(*mcp));
        if (!mcp)
                return -ENOMEM;
        mcp->api = api;
        *ret = mcp;
        return 0;
}

void mcp_free(struct mcp *mcp) {
        if (!mcp)
                return;
        while (mcp->sessions)
                mcp_session_free(mcp->sessions);
        free(mcp);
}

/* ---- what must hold before a message is looked at */

/* A page of another origin, or of a name that was made to point here, has no business with this. */
static bool admit_origin(struct http_request *request) {
        const struct origin origin = {
                .origin = http_header(request, "Origin"),
                .fetch_site = http_header(request, "Sec-Fetch-Site"),
                .host = http_header(request, "Host"),
                .scheme = http_header(request, "X-Forwarded-Proto"),
        };
        struct mcp_error e = {.code = 0};
        if (origin_is_own(&origin, false))
                return true;
        mcp_error_set(&e, MCP_INVALID_REQUEST, "Pages of other origins may not use this service (the header Origin).");
        mcp_answer_error(request, 403, NULL, &e);
        return false;
}

static bool admit_content(struct http_request *request) {
        const char *type = http_header(request, "Content-Type"), *encoding = http_header(request, "Content-Encoding");
        struct mcp_error e = {.code = 0};
        bool json, stream;
        bool is_json =
                type && strncasecmp(type, "application/json", 16) == 0 && (!type[16] || strchr("; \t", type[16]));
        if (!is_json || (encoding && strcasecmp(encoding, "identity") != 0)) {
                mcp_error_set(&e, MCP_INVALID_REQUEST,
                              "Send one message, with the header \"Content-Type: "
                              "application/json\" and without Content-Encoding.");
                mcp_answer_error(request, 415, NULL, &e);
                return false;
        }
        if (mcp_accepts(request, &json, &stream))
                return true;
        mcp_error_set(
                &e, MCP_INVALID_REQUEST,
                "Send the header \"Accept: application/json, text/event-stream\": answers are the one or the other.");
        mcp_answer_error(request, 406, NULL, &e);
        return false;
}

static int take_conversation(struct mcp_scope *scope, const char *name, struct mcp_error *e) {
        if (name &&
            !name_is_of(name, NAME_LETTERS NAME_DIGITS "._:-", NAME_LETTERS NAME_DIGITS "._:-", STORE_CONVERSATION_MAX))
                return mcp_error_set(e, MCP_INVALID_PARAMS,
                                     "conversation_id in the address must be 1 to %d characters of A-Z, a-z, 0-9 and "
                                     "._:-.",
                                     STORE_CONVERSATION_MAX);
        snprintf(scope->conversation, sizeof(scope->conversation), "%s", name ? name : "");
        return 0;
}

/* What the address says. */
static int take_scope(struct api *api, const struct http_request *request, struct mcp_scope *scope,
                      struct mcp_error *e) {
        const char *agent = http_query(request, "agent");
        struct agent_settings settings;
        *scope = (struct mcp_scope){.agent = ""};
        if (agent && (!name_is_agent(agent) ||
                      agent_settings_load(api->store, api->config, request->auth.project_id, agent, &settings) != 0))
                return mcp_error_set(e, MCP_INVALID_PARAMS,
                                     "This project has no agent \"%.64s\", which the address names (?agent=…); PUT "
                                     "/v1/agents/{name} makes one.",
                                     agent);
        snprintf(scope->agent, sizeof(scope->agent), "%s", agent ? agent : "");
        return take_conversation(scope, http_query(request, "conversation_id"), e);
}

/* NULL: answered. */
static struct mcp_session *require_session(struct mcp *mcp, struct http_request *request, json_t *message_id) {
        const char *id = http_header(request, SESSION_HEADER), *named = http_header(request, "MCP-Protocol-Version");
        struct mcp_error e = {.code = 0};
        struct mcp_session *session = id ? mcp_session_find(mcp, request->auth.project_id, id) : NULL;
        if (!id) {
                mcp_error_set(&e, MCP_INVALID_REQUEST,
                              "The header " SESSION_HEADER " is missing: begin with `initialize`, and send the id that "
                              "the answer's header of that name has with each request.");
                mcp_answer_error(request, 400, message_id, &e);
        } else if (!session) {
                mcp_error_set(&e, MCP_SESSION_NOT_FOUND,
                              "There is no such session any more: begin a new one with "
                              "`initialize`.");
                mcp_answer_error(request, 404, message_id, &e);
        } else if (named && strcmp(named, mcp_revision_name(session->revision)) != 0) {
                mcp_error_set(&e, MCP_INVALID_REQUEST,
                              "MCP-Protocol-Version says \"%.32s\", but this session has agreed "
                              "on %s.",
                              named, mcp_revision_name(session->revision));
                mcp_answer_error(request, 400, message_id, &e);
                session = NULL;
        }
        if (session)
                session->used_ns = clock_now_ns();
        return session;
}

/* ---- methods */

static json_t *capabilities(void) {
        return json_pack("{s:{}, s:{}}", "tools", "resources");
}

static const char instructions[] =
        "run_python runs Python in a sandbox without a network. Figures come back as pictures, and files that the code "
        "writes as resources.";

static void handle_discover(struct mcp_reply *reply, json_t *params) {
        (void)params;
        mcp_reply_cacheable(reply, json_pack("{s:o, s:o, s:s}", "supportedVersions", mcp_revisions(), "capabilities",
                                             capabilities(), "instructions", instructions));
}

static void handle_ping(struct mcp_reply *reply, json_t *params) {
        (void)params;
        mcp_reply_result(reply, json_object());
}

static const struct {
        const char *name;
        void (*handle)(struct mcp_reply *reply, json_t *params);
        enum { ALWAYS, WITH_HANDSHAKE, WITHOUT_HANDSHAKE } when;
} methods[] = {
        {"server/discover", handle_discover, WITHOUT_HANDSHAKE},
        {"ping", handle_ping, WITH_HANDSHAKE},
        {"tools/list", mcp_tools_list, ALWAYS},
        {"tools/call", mcp_tools_call, ALWAYS},
        {"resources/list", mcp_resources_list, ALWAYS},
        {"resources/templates/list", mcp_resources_templates, ALWAYS},
        {"resources/read", mcp_resources_read, ALWAYS},
};

static void call_method(struct mcp_reply *reply, const struct mcp_message *message) {
        struct mcp_error e = {.code = 0};
        bool handshake = mcp_has_handshake(reply->revision);
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, message->method) != 0 ||
                    methods[i].when == (handshake ? WITHOUT_HANDSHAKE : WITH_HANDSHAKE))
                        continue;
                methods[i].handle(reply, message->params);
                return;
        }
        mcp_error_set(&e, MCP_METHOD_NOT_FOUND, "There is no method \"%.64s\" here.", message->method);
        mcp_reply_error(reply, &e);
}

/* ---- revisions with a handshake */

static void initialize(struct mcp *mcp, struct http_request *request, const struct mcp_message *message) {
        const char *wanted = mcp_text(message->params, "protocolVersion");
        int revision = mcp_revision_of(wanted);
        struct mcp_error e = {.code = 0};
        struct mcp_scope scope;
        if (!wanted)
                mcp_error_set(&e, MCP_INVALID_PARAMS, "params.protocolVersion must be a text, such as \"%s\".",
                              mcp_revision_name(MCP_NEWEST_WITH_HANDSHAKE));
        else if (take_scope(mcp->api, request, &scope, &e) == 0 &&
                 (revision < 0 || !mcp_has_handshake((enum mcp_revision)revision)))
                revision = MCP_NEWEST_WITH_HANDSHAKE;
        if (e.code) {
                mcp_answer_error(request, 400, message->id, &e);
                return;
        }
        struct mcp_session *session = mcp_session_new(mcp, request, (enum mcp_revision)revision, &scope, &e);
        if (!session) {
                mcp_answer_error(request, 503, message->id, &e);
                return;
        }
        log_info("an MCP session began", "request", request->id, "project", request->auth.project, "agent",
                 *scope.agent ? scope.agent : NULL, "revision", mcp_revision_name(session->revision));
        http_reply_header(request, SESSION_HEADER, session->id);
        struct mcp_reply *reply = mcp_reply_new(mcp, NULL, request, session->revision, &session->scope, message->id);
        if (reply)
                mcp_reply_result(reply, json_pack("{s:s, s:o, s:{s:s, s:s, s:s}, s:s}", "protocolVersion",
                                                  mcp_revision_name(session->revision), "capabilities", capabilities(),
                                                  "serverInfo", "name", "code-sandbox", "title", "Code Sandbox",
                                                  "version", PRODUCT_VERSION, "instructions", instructions));
        else
                mcp_session_free(session);
}

static struct mcp_reply *find_running(struct mcp_session *session, const json_t *id) {
        for (struct mcp_reply *reply = session->replies; id && reply; reply = reply->next)
                if (!reply->ended && json_equal(reply->id, id))
                        return reply;
        return NULL;
}

static void take_notification(struct mcp_session *session, const struct mcp_message *message) {
        if (message->kind != MCP_NOTIFICATION || strcmp(message->method, "notifications/cancelled") != 0)
                return;
        struct mcp_reply *reply = find_running(session, json_object_get(message->params, "requestId"));
        if (reply)
                mcp_reply_cancel(reply);
}

static bool admit_request(struct http_request *request, struct mcp_session *session, json_t *id) {
        struct mcp_error e = {.code = 0};
        if (find_running(session, id))
                mcp_error_set(&e, MCP_INVALID_REQUEST,
                              "A request with this id is under way; each needs one of its own.");
        else if (session->running >= MCP_REQUESTS_PER_SESSION)
                mcp_error_set(&e, MCP_INTERNAL_ERROR,
                              "%d requests of this session are under way, which is the most: wait for one of them.",
                              MCP_REQUESTS_PER_SESSION);
        else
                return true;
        mcp_answer_error(request, e.code == MCP_INVALID_REQUEST ? 400 : 503, id, &e);
        return false;
}

static void post_in_session(struct mcp *mcp, struct http_request *request, const struct mcp_message *message) {
        if (message->kind == MCP_REQUEST && strcmp(message->method, "initialize") == 0) {
                initialize(mcp, request, message);
                return;
        }
        struct mcp_session *session = require_session(mcp, request, message->id);
        if (!session)
                return;
        if (message->kind != MCP_REQUEST) {
                take_notification(session, message);
                http_reply_empty(request, 202);
                return;
        }
        if (!admit_request(request, session, message->id))
                return;
        struct mcp_reply *reply = mcp_reply_new(mcp, session, request, session->revision, &session->scope, message->id);
        if (reply)
                call_method(reply, message);
}

/* ---- revisions without: nothing is remembered from one request to the next */

static void post_alone(struct mcp *mcp, struct http_request *request, enum mcp_revision revision,
                       const struct mcp_message *message) {
        struct mcp_error e = {.code = 0};
        struct mcp_scope scope;
        if (message->kind != MCP_REQUEST) {
                http_reply_empty(request, 202);
        } else if (take_scope(mcp->api, request, &scope, &e) != 0) {
                mcp_answer_error(request, mcp_error_status(e.code), message->id, &e);
        } else {
                struct mcp_reply *reply = mcp_reply_new(mcp, NULL, request, revision, &scope, message->id);
                if (reply)
                        call_method(reply, message);
        }
}

/* ---- HTTP */

void mcp_handle_post(struct api *api, struct http_request *request) {
        struct mcp_message message = {.tree = NULL};
        struct mcp_error e = {.code = 0};
        enum mcp_revision revision;
        if (!admit_origin(request) || !admit_content(request))
                return;
        int r = mcp_message_read(request->body, request->body_length, &message, &e);
        if (!e.code)
                r = mcp_message_revision(request, &message, &revision, &e);
        if (e.code)
                mcp_answer_error(request, 400, message.id, &e);
        else if (r == 1)
                post_in_session(api->mcp, request, &message);
        else
                post_alone(api->mcp, request, revision, &message);
        mcp_message_deinit(&message);
}

void mcp_handle_get(struct api *api, struct http_request *request) {
        const char *last_event_id = http_header(request, "Last-Event-ID");
        struct mcp_error e = {.code = 0};
        if (!admit_origin(request))
                return;
        /* HEAD, which finds its way here as well, would take the stream from who reads it. */
        if (!last_event_id || strcmp(request->method, "GET") != 0) {
                http_reply_header(request, "Allow", "POST, DELETE");
                mcp_error_set(&e, MCP_INVALID_REQUEST,
                              "The server says nothing of its own accord. GET is for coming back "
                              "to a stream, with the header Last-Event-ID.");
                mcp_answer_error(request, 405, NULL, &e);
                return;
        }
        struct mcp_session *session = require_session(api->mcp, request, NULL);
        if (!session || mcp_reply_resume(session, request, last_event_id))
                return;
        mcp_error_set(&e, MCP_INVALID_REQUEST, "The stream of this Last-Event-ID is not kept any more.");
        mcp_answer_error(request, 400, NULL, &e);
}

/* ---- the end of a session */

static void on_interpreter_ended(void *data, unsigned status, const char *content_type, const void *body,
                                 size_t length) {
        (void)status, (void)content_type, (void)body, (void)length;
        http_reply_empty(data, 204);
}

/* A conversation that only this session had needs no interpreter any more; its files stay as long as others. */
static bool end_interpreter(struct http_request *request, const char *conversation) {
        static const struct subrequest_sink sink = {.on_reply = on_interpreter_ended};
        struct subrequest *sub;
        char target[STORE_CONVERSATION_MAX + 64];
        snprintf(target, sizeof(target), "/v1/conversations/%s/session", conversation);
        return subrequest_start(request, "DELETE", target, NULL, &sink, request, &sub) == 0;
}

void mcp_handle_delete(struct api *api, struct http_request *request) {
        char conversation[STORE_CONVERSATION_MAX + 1] = "";
        if (!admit_origin(request))
                return;
        struct mcp_session *session = require_session(api->mcp, request, NULL);
        if (!session)
                return;
        if (session->owns_conversation)
                memcpy(conversation, session->scope.conversation, sizeof(conversation));
        mcp_session_free(session);
        if (!*conversation || !end_interpreter(request, conversation))
                http_reply_empty(request, 204);
}
