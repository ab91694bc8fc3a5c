/*
 * Whether a run may be kept in a conversation: whose it is, and whether its project may keep more.
 *
 * Runs in the api process. The conversation's name comes from the network, and was checked as to its characters.
 */
#pragma once

#include <stdbool.h>

struct api;
struct http_request;

/* False: the request has been ANSWERED. `agent`: NULL: none. */
bool conversation_admits(const struct api *api, struct http_request *request, const char *conversation,
                         const char *agent);

/* TERMINAL. It belongs to the agent `owner`. */
void answer_conversation_of_other(struct http_request *request, const char *conversation, const char *owner);
