/*
 * The MCP server: the Model Context Protocol over streamable HTTP, at /mcp.
 *
 * Runs in the api process. Everything in a message came from the network. docs/mcp.md tells how it is used.
 *
 *      POST ── mcp.c: origin, message, revision, session ── mcp_tools.c, mcp_resources.c ── subrequest ── handlers
 *                                                             │
 *                                     mcp_reply.c: JSON or a stream ◀── mcp_result.c, mcp_progress.c
 *
 * ?agent=NAME chooses the agent, ?conversation_id=ID the conversation. Without the latter a session makes a
 * conversation of its own; a request of a revision without sessions then has none.
 */
#pragma once

struct api;
struct http_request;
struct mcp;

int mcp_new(struct api *api, struct mcp **ret);
void mcp_free(struct mcp *mcp);

void mcp_handle_post(struct api *api, struct http_request *request);
/* Only for a client that comes back to a stream: on its own behalf the server has nothing to say. */
void mcp_handle_get(struct api *api, struct http_request *request);
/* Ends the session. */
void mcp_handle_delete(struct api *api, struct http_request *request);
