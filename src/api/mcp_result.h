/*
 * What a run or a call came to, in the words of MCP: text for a model, pictures, links to files, and the whole as
 * structured content.
 *
 * Runs in the api process. Pure. Replies are the service's own; what stands in them was printed, named and written by
 * untrusted code.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct mcp_error;

#define MCP_TEXT_BYTES_MAX 65536 /* of one output: beginning and end, as a model reads it */
#define MCP_FILE_URI "sandbox://files/"

/* A new result of tools/call, or NULL. Steals the reply of POST /v1/execute. */
json_t *mcp_result_of_run(json_t *reply);
/*
 * The same for POST /v1/call, as text: malloc()ed, on one line. What the tool returned never becomes a tree, which
 * could cost a hundred times its bytes; it goes in as it came.
 */
char *mcp_result_of_call(const char *bytes, size_t length);

/*
 * An answer that is no 200. What the model can do something about later (no room, no session left, a quota) is a result
 * that is an error, in words; what the client did wrong is the error `e`, and NULL.
 */
json_t *mcp_result_of_refusal(unsigned status, const json_t *body, const char *retry_after, struct mcp_error *e);

/* Schemas of the structured content. New references. */
json_t *mcp_run_schema(void);
json_t *mcp_call_schema(void);
