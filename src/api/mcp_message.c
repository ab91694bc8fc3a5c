/* Messages of the Model Context Protocol; see mcp_message.h. */
#include "api/mcp_message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/http.h"
#include "api/json.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "run/base64.h"

#define META_REVISION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define HEADER_REVISION "MCP-Protocol-Version"

int mcp_error_set(struct mcp_error *e, int code, const char *format, ...) {
        va_list arguments;
        json_decref(TAKE_PTR(e->data));
        e->code = code;
        va_start(arguments, format);
        vsnprintf(e->message, sizeof(e->message), format, arguments);
        va_end(arguments);
        return code;
}

const char *mcp_text(const json_t *object, const char *name) {
        const json_t *text = json_object_get(object, name);
        const char *bytes = json_string_value(text);
        return bytes && strlen(bytes) == json_string_length(text) ? bytes : NULL;
}

/* ---- revisions */

static const char *const revisions[MCP_REVISIONS] = {
        [MCP_2025_06_18] = "2025-06-18",
        [MCP_2025_11_25] = "2025-11-25",
        [MCP_2026_07_28] = "2026-07-28",
};

const char *mcp_revision_name(enum mcp_revision revision) {
        return revisions[revision];
}

int mcp_revision_of(const char *name) {
        for (int i = 0; name && i < MCP_REVISIONS; i++)
                if (strcmp(revisions[i], name) == 0)
                        return i;
        return -1;
}

json_t *mcp_revisions(void) {
        json_t *list = json_array();
        for (int i = MCP_REVISIONS; i-- > 0;)
                json_array_append_new(list, json_string(revisions[i]));
        return list;
}

static int refuse_revision(const char *wanted, struct mcp_error *e) {
        mcp_error_set(e, MCP_UNSUPPORTED_VERSION,
                      "The revision \"%.32s\" of the protocol is not spoken here; %s, %s and "
                      "%s are.",
                      wanted, revisions[2], revisions[1], revisions[0]);
        e->data = json_pack("{s:o, s:o}", "supported", mcp_revisions(), "requested",
                            json_string_lossy(wanted, strlen(wanted)));
        return e->code;
}

/* A value that a header cannot hold as it is comes as "=?base64?…?=". */
static bool header_says(const char *header, const char *value) {
        static const char before[] = "=?base64?", after[] = "?=";
        size_t length = header ? strlen(header) : 0, start = strlen(before), end = strlen(after), decoded, wrong;
        if (!header)
                return false;
        if (length < start + end || strncmp(header, before, start) != 0 || strcmp(header + length - end, after) != 0)
                return strcmp(header, value) == 0;
        length -= start + end;
        CLEANUP_FREE unsigned char *bytes = malloc(BASE64_DECODED_MAX(length) + 1);
        return bytes && base64_decode(header + start, length, bytes, &decoded, &wrong) == 0 &&
               decoded == strlen(value) && memcmp(bytes, value, decoded) == 0;
}

static int check_header(const struct http_request *request, const char *name, const char *value, const char *what,
                        struct mcp_error *e) {
        const char *header = http_header(request, name);
        if (header_says(header, value))
                return 0;
        return mcp_error_set(e, MCP_HEADER_MISMATCH, "The header %s %s; it must repeat %s of the message.", name,
                             header ? "says something else" : "is missing", what);
}

/* Proxies route by these: what they read must be what is done. */
static int check_headers(const struct http_request *request, const struct mcp_message *message, struct mcp_error *e) {
        static const struct {
                const char *method, *member;
        } named[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
        int r = check_header(request, "Mcp-Method", message->method, "`method`", e);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(named); i++) {
                const char *name = mcp_text(message->params, named[i].member);
                if (name && strcmp(named[i].method, message->method) == 0)
                        r = check_header(request, "Mcp-Name", name, named[i].member, e);
        }
        return r;
}

static int check_envelope(const struct http_request *request, const struct mcp_message *message, const char *header,
                          enum mcp_revision *ret, struct mcp_error *e) {
        const json_t *meta = json_object_get(message->params, "_meta");
        const char *inside = mcp_text(meta, META_REVISION);
        if (!inside || !json_is_object(json_object_get(meta, META_CAPABILITIES)))
                return mcp_error_set(e, MCP_INVALID_PARAMS,
                                     "params._meta must have " META_REVISION " (text) and " META_CAPABILITIES
                                     " (an object).");
        int r = check_header(request, HEADER_REVISION, inside, META_REVISION, e);
        if (r == 0)
                r = check_headers(request, message, e);
        if (r != 0)
                return r;
        int revision = mcp_revision_of(header);
        if (revision < 0 || mcp_has_handshake((enum mcp_revision)revision))
                return refuse_revision(inside, e);
        *ret = (enum mcp_revision)revision;
        return 0;
}

int mcp_message_revision(const struct http_request *request, const struct mcp_message *message, enum mcp_revision *ret,
                         struct mcp_error *e) {
        const char *header = http_header(request, HEADER_REVISION);
        const json_t *meta = json_object_get(message->params, "_meta");
        int revision = mcp_revision_of(header);
        bool is_modern = revision >= 0 && !mcp_has_handshake((enum mcp_revision)revision);
        if (message->kind == MCP_REQUEST && (is_modern || json_object_get(meta, META_REVISION)))
                return check_envelope(request, message, header, ret, e);
        if (header && revision < 0)
                return refuse_revision(header, e);
        if (!is_modern)
                return 1;
        *ret = (enum mcp_revision)revision;
        return 0;
}

/* ---- messages */

static int refuse(struct mcp_error *e, const char *why) {
        return mcp_error_set(e, MCP_INVALID_REQUEST, "%s", why);
}

static int take(struct mcp_message *message, struct mcp_error *e) {
        const char *version = mcp_text(message->tree, "jsonrpc");
        json_t *params = json_object_get(message->tree, "params");
        message->id = json_object_get(message->tree, "id");
        if (!version || strcmp(version, "2.0") != 0)
                return refuse(e, "jsonrpc must be \"2.0\".");
        if (message->id && !json_is_string(message->id) && !json_is_integer(message->id)) {
                message->id = NULL;
                return refuse(e, "id must be a text or a whole number.");
        }
        if (!json_object_get(message->tree, "method") &&
            (json_object_get(message->tree, "result") || json_object_get(message->tree, "error"))) {
                message->kind = MCP_RESPONSE;
                return 0;
        }
        message->method = mcp_text(message->tree, "method");
        if (!message->method)
                return refuse(e, "method must be the name of a method.");
        if (params && !json_is_object(params))
                return refuse(e, "params must be an object.");
        message->kind = message->id ? MCP_REQUEST : MCP_NOTIFICATION;
        message->params = params;
        return 0;
}

int mcp_message_read(const char *bytes, size_t length, struct mcp_message *ret, struct mcp_error *e) {
        struct err problem = {.code = 0};
        size_t space = 0;
        *ret = (struct mcp_message){.kind = MCP_REQUEST};
        while (space < length && strchr(" \t\r\n", bytes[space]) && bytes[space])
                space++;
        if (space < length && bytes[space] == '[')
                return refuse(e,
                              "Lists of messages are no part of these revisions of the protocol: send each message in "
                              "a request of its own.");
        if (json_parse_object_many(bytes, length, &ret->tree, &problem) < 0)
                return mcp_error_set(e, MCP_PARSE_ERROR, "The body is no message: %s", problem.message);
        return take(ret, e);
}

void mcp_message_deinit(struct mcp_message *message) {
        json_decref(message->tree);
        *message = (struct mcp_message){.kind = MCP_REQUEST};
}

json_t *mcp_error_response(json_t *id, struct mcp_error *e) {
        json_t *error = json_pack("{s:i, s:o, s:o*}", "code", e->code, "message",
                                  json_string_lossy(e->message, strlen(e->message)), "data", TAKE_PTR(e->data));
        return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? json_incref(id) : json_null(), "error", error);
}

unsigned mcp_error_status(int code) {
        switch (code) {
        case MCP_INTERNAL_ERROR:
                return 200;
        case MCP_METHOD_NOT_FOUND:
                return 404;
        default:
                return 400;
        }
}
