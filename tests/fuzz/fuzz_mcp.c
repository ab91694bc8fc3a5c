/*
 * Fuzz target: messages of MCP clients, and replies of tool calls on their way to one. A message that is taken has a
 * method or is an answer; a result is one JSON object on one line, however the tool's own was written.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/mcp_message.h"
#include "api/mcp_result.h"
#include "run/json_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_message(const char *bytes, size_t length) {
        struct mcp_message message;
        struct mcp_error e = {.code = 0};
        int r = mcp_message_read(bytes, length, &message, &e);
        assert(r == e.code);
        if (r == 0)
                assert(message.kind == MCP_RESPONSE || message.method);
        if (r == 0 && message.kind == MCP_REQUEST)
                assert(message.id);
        json_t *error = mcp_error_response(message.id, &e);
        assert(error);
        json_decref(error);
        mcp_message_deinit(&message);
}

static void check_result(const char *bytes, size_t length) {
        const char *wrong;
        char *text = mcp_result_of_call(bytes, length);
        if (!text)
                return;
        assert(text[0] == '{' && !strpbrk(text, "\r\n"));
        assert(json_scan(text, strlen(text), &wrong));
        free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        char *copy = malloc(length + 1);
        if (!copy)
                return 0;
        memcpy(copy, bytes, length);
        copy[length] = '\0';
        check_message(copy, length);
        check_result(copy, length);
        free(copy);
        return 0;
}
