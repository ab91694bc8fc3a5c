/*
 * MCP over standard input and output, passed on to the service's MCP server over HTTP: one message a line.
 *
 * Each message is a request of its own, and several may be under way. What comes back, whole or as a stream, goes out
 * as lines as it comes. Both sides are taken for hostile in what they send, but not in what they ask for: messages are
 * passed on unread but for what HTTP needs to know of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cli;
struct mcp_bridge;

#define MCP_MESSAGE_MAX ((size_t)64 << 20)

/* `path`: "/mcp?agent=…". cli->client must be there. NULL: out of memory. */
struct mcp_bridge *mcp_bridge_new(struct cli *cli, const char *path);
/* Ends what is under way. */
void mcp_bridge_free(struct mcp_bridge *bridge);

/* A message from the client, without its line break. 0 or a negative errno. */
int mcp_bridge_send(struct mcp_bridge *bridge, const char *line, size_t length);

/*
 * Works until input is there on `input` (-1: none is waited for), a signal has come, or nothing is under way and no
 * input is waited for. 1: input; 0: none; or a negative errno: that of a write to standard output, or -EIO.
 */
int mcp_bridge_work(struct mcp_bridge *bridge, int input, int notice_fd);

/* Works until what was sent last is so far that the next message may follow: one that makes a session is waited for. */
int mcp_bridge_settle(struct mcp_bridge *bridge, int notice_fd);

/* Asks the service to end the session, if there is one, and waits for that a little. */
void mcp_bridge_end_session(struct mcp_bridge *bridge);
