/* Azure's dynamic sessions: runs; see door_azure.h. */
#include "api/door_azure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/door_call.h"
#include "api/door_traceback.h"
#include "api/http.h"
#include "api/names.h"
#include "base/cleanup.h"
#include "run/base64.h"

#define IDENTIFIER_CHARACTERS NAME_LETTERS NAME_DIGITS "._:-"
#define IDENTIFIER_MIN 4
#define IDENTIFIER_MAX 128

static const char *const fields[] = {"code", "codeInputType", "executionType", "timeoutInSeconds", NULL};

struct execution {
        struct door_call call; /* first */
        bool has_properties;   /* 2024-02-02-preview */
        char identifier[IDENTIFIER_MAX + 1];
};

static struct execution *execution_of(struct door_call *call) {
        return (struct execution *)(void *)call;
}

const char *azure_identifier(struct door_call *call) {
        const char *identifier = http_query(call->request, "identifier");
        if (identifier && strlen(identifier) >= IDENTIFIER_MIN &&
            name_is_of(identifier, IDENTIFIER_CHARACTERS, IDENTIFIER_CHARACTERS, IDENTIFIER_MAX))
                return identifier;
        door_refuse(
                call, HTTP_INVALID_REQUEST, "identifier",
                "identifier must stand in the address: %d to %d characters of A-Z, a-z, 0-9, \".\", \"_\", \":\" and "
                "\"-\".",
                IDENTIFIER_MIN, IDENTIFIER_MAX);
        return NULL;
}

/* ---- what is asked for */

static int decode_code(const json_t *body, json_t **ret, struct err *e) {
        const char *code, *type;
        size_t length, wrong;
        if (door_text(body, "code", &code, e) < 0 || door_text(body, "codeInputType", &type, e) < 0)
                return -EINVAL;
        if (!code)
                return err_set_field(e, -EINVAL, "code", "code is missing.");
        if (!type || strcasecmp(type, "Inline") == 0 || strcasecmp(type, "InlineText") == 0) {
                *ret = json_incref(json_object_get(body, "code"));
                return 0;
        }
        if (strcasecmp(type, "InlineBase64") != 0)
                return err_set_field(e, -EINVAL, "codeInputType",
                                     "codeInputType must be Inline, InlineText or InlineBase64.");
        CLEANUP_FREE char *bytes = malloc(strlen(code) + 1);
        if (!bytes)
                return -ENOMEM;
        if (base64_decode(code, strlen(code), (unsigned char *)bytes, &length, &wrong) < 0 ||
            !(*ret = json_stringn(bytes, length)))
                return err_set_field(e, -EINVAL, "code", "code is not the base64 of a text in UTF-8.");
        return 0;
}

static int decode(const json_t *body, json_t **ret, struct err *e) {
        const char *kind;
        double timeout_s;
        json_t *code = NULL;
        if (door_check_fields(body, fields, e) < 0 || door_text(body, "executionType", &kind, e) < 0 ||
            door_number(body, "timeoutInSeconds", 0, &timeout_s, e) < 0)
                return -EINVAL;
        if (kind && strcasecmp(kind, "Synchronous") != 0)
                return err_set_field(e, -EINVAL, "executionType",
                                     "executionType must be Synchronous: the answer comes when the code has ended.");
        int r = decode_code(body, &code, e);
        if (r < 0)
                return r;
        *ret = json_pack("{s:o, s:b}", "code", code, "inline_files", 0);
        if (*ret && timeout_s != 0)
                json_object_set_new(*ret, "timeout_s", json_real(timeout_s));
        return *ret ? 0 : -ENOMEM;
}

/* ---- what comes of it */

/* What stands between the quotes of a text's repr; NULL if it is not one, or has escapes of other kinds. */
static json_t *unquoted(const char *text) {
        static const char letters[] = "nrt\\'", meant[] = "\n\r\t\\'";
        size_t length = strlen(text), used = 0;
        if (length < 2 || *text != '\'' || text[length - 1] != '\'')
                return NULL;
        CLEANUP_FREE char *plain = malloc(length);
        for (size_t i = 1; plain && i < length - 1; i++) {
                const char *letter = text[i] == '\\' ? strchr(letters, text[i + 1]) : NULL;
                if (text[i] == '\'' || (text[i] == '\\' && (!letter || !*letter || i + 2 == length)))
                        return NULL;
                plain[used++] = letter ? meant[letter - letters] : text[i];
                i += letter != NULL;
        }
        return plain ? json_stringn(plain, used) : NULL;
}

json_t *azure_value(const char *text) {
        json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        if (value)
                return value;
        if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
                return json_boolean(*text == 'T');
        value = unquoted(text);
        return value ? value : json_string(text);
}

/* A session has one result: a picture if there was one, the last, else the value of the last expression. */
static json_t *result_of(const json_t *reply) {
        json_t *result, *picture = NULL, *value = NULL;
        size_t i;
        json_array_foreach(json_object_get(reply, "results"), i, result) {
                json_t *png = json_object_get(result, "image/png");
                picture = png ? png : picture;
                value = png ? value : json_object_get(result, "text/plain");
        }
        if (picture)
                return json_pack("{s:s, s:s, s:O}", "type", "image", "format", "png", "base64_data", picture);
        return value ? azure_value(json_string_value(value)) : json_null();
}

/* Lost variables have no place of their own in the protocol, and must not go unsaid; nor what ended the run. */
static json_t *errors_of(const json_t *reply) {
        json_t *errors = json_object_get(reply, "stderr"), *message;
        const char *added[2];
        message = json_object_get(json_object_get(reply, "session"), "message");
        added[0] = json_string_value(message);
        added[1] = json_string_value(json_object_get(reply, "hint"));
        json_t *all = json_incref(errors);
        for (int i = 0; i < 2; i++) {
                if (!added[i])
                        continue;
                json_t *longer = json_sprintf("%s%s\n", json_string_value(all), added[i]);
                if (!longer)
                        continue; /* the text has a NUL in it */
                json_decref(all);
                all = longer;
        }
        return all;
}

static json_t *error_of(const json_t *reply, const char *outcome) {
        const char *errors = json_string_value(json_object_get(reply, "stderr"));
        struct traceback found;
        if (strcmp(outcome, "ok") == 0)
                return json_null();
        if (strcmp(outcome, "error") == 0 && traceback_find(errors, &found))
                return json_pack("{s:s%, s:s%}", "code", found.name, found.name_length, "message", found.value,
                                 found.value_length);
        return json_pack("{s:s, s:s+}", "code", outcome, "message", "The run ended with ", outcome);
}

static void on_run(struct door_call *call, unsigned status, json_t *reply) {
        struct execution *execution = execution_of(call);
        const char *outcome, *id;
        double wall_ms;
        if (status != 200 || json_unpack(reply, "{s:s, s:s, s:{s:F}}", "outcome", &outcome, "run_id", &id, "usage",
                                         "wall_ms", &wall_ms) < 0) {
                door_pass_error(call, status, reply);
                return;
        }
        bool ok = strcmp(outcome, "ok") == 0;
        json_t *result = json_pack("{s:O, s:o, s:o, s:I}", "stdout", json_object_get(reply, "stdout"), "stderr",
                                   errors_of(reply), execution->has_properties ? "result" : "executionResult",
                                   result_of(reply), "executionTimeInMilliseconds", (json_int_t)wall_ms);
        if (execution->has_properties) {
                json_object_set_new(result, "status", json_string(ok ? "Success" : "Failure"));
                door_reply(call, 200, json_pack("{s:o}", "properties", result));
                return;
        }
        door_reply(call, 200,
                   json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "id", id, "identifier", execution->identifier,
                             "executionType", "Synchronous", "status", ok ? "Succeeded" : "Failed", "error",
                             error_of(reply, outcome), "result", result));
}

static void execute(struct api *api, struct http_request *request, bool has_properties) {
        static const char *const outer[] = {"properties", NULL};
        struct door_call *call;
        struct err e = {0};
        json_t *body, *run = NULL;
        const char *identifier;
        if (!door_begin(api, request, sizeof(struct execution), NULL, &call) || !(identifier = azure_identifier(call)))
                return;
        struct execution *execution = execution_of(call);
        execution->has_properties = has_properties;
        memcpy(execution->identifier, identifier, strlen(identifier) + 1);
        if (!(body = door_body(call, has_properties ? outer : fields)))
                return;
        int r = decode(has_properties ? json_object_get(body, "properties") : body, &run, &e);
        json_decref(body);
        if (r == -EINVAL) {
                door_refuse_err(call, &e);
                return;
        }
        if (run)
                json_object_set_new(run, "conversation_id", json_string(execution->identifier));
        door_execute(call, AZURE_AGENT, run, on_run);
}

void azure_handle_executions(struct api *api, struct http_request *request) {
        execute(api, request, false);
}

void azure_handle_code_execute(struct api *api, struct http_request *request) {
        execute(api, request, true);
}

/* ---- the end of a session */

static void on_deleted(struct door_call *call, unsigned status, json_t *reply) {
        if (status / 100 == 2)
                door_reply_empty(call, 204);
        else
                door_pass_error(call, status, reply);
}

void azure_handle_session_delete(struct api *api, struct http_request *request) {
        struct door_call *call;
        const char *identifier;
        if (!door_begin(api, request, sizeof(*call), NULL, &call) || !(identifier = azure_identifier(call)))
                return;
        CLEANUP_FREE char *target = door_target("/v1/conversations/", identifier, "");
        door_ask(call, "DELETE", target, NULL, on_deleted);
}
