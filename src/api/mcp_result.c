/* Results of tools; see mcp_result.h. */
#include "api/mcp_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http_error.h"
#include "api/json.h"
#include "api/mcp_message.h"
#include "base/cleanup.h"
#include "run/json_scan.h"
#include "run/text.h"

#define TEXT_FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL)

static const char *text_of(const json_t *object, const char *key) {
        const char *text = json_string_value(json_object_get(object, key));
        return text ? text : "";
}

/* ---- text */

/* Beginning and end of what is too long, whole characters; NULL: it is not. */
static json_t *shortened(const json_t *text) {
        const char *bytes = json_string_value(text);
        size_t length = json_string_length(text), half = MCP_TEXT_BYTES_MAX / 2;
        if (!bytes || length <= MCP_TEXT_BYTES_MAX)
                return NULL;
        size_t before = half - text_cut_off(bytes, half);
        size_t after = half - text_left_over(bytes + length - half, half);
        CLEANUP_FREE char *brief = malloc(before + after + 64);
        if (!brief)
                return NULL;
        char *to = mempcpy(brief, bytes, before);
        to += sprintf(to, "\n[… %zu bytes left out …]\n", length - before - after);
        to = mempcpy(to, bytes + length - after, after);
        return json_stringn_nocheck(brief, (size_t)(to - brief));
}

static void shorten(json_t *reply, const char *key, const char *flag) {
        json_t *brief = shortened(json_object_get(reply, key));
        if (!brief)
                return;
        json_object_set_new(reply, key, brief);
        json_object_set_new(reply, flag, json_true());
}

static void write_block(FILE *out, const char *heading, const json_t *text) {
        json_t *brief = shortened(text);
        const json_t *shown = brief ? brief : text;
        const char *bytes = json_string_value(shown);
        size_t length = json_string_length(shown);
        if (length > 0) {
                if (heading)
                        fprintf(out, "%s%s\n", ftell(out) > 0 ? "\n" : "", heading);
                fwrite(bytes, 1, length, out);
                if (bytes[length - 1] != '\n')
                        fputc('\n', out);
        }
        json_decref(brief);
}

/* The values of last expressions, where they are more than what a picture is called. */
static void write_values(FILE *out, const json_t *results) {
        const json_t *one;
        size_t i;
        json_array_foreach(results, i, one)
                if (!json_object_get(one, "image/png"))
                        write_block(out, "[value]", json_object_get(one, "text/plain"));
}

static void write_files(FILE *out, const json_t *reply) {
        const json_t *file;
        size_t i;
        json_array_foreach(json_object_get(reply, "files"), i, file)
                fprintf(out, "%s%s (%lld bytes)\n", i == 0 ? "\n[files]\n" : "", text_of(file, "name"),
                        (long long)json_integer_value(json_object_get(file, "size")));
        json_array_foreach(json_object_get(reply, "files_skipped"), i, file)
                fprintf(out, "%s%s: %s\n", i == 0 ? "\n[files that were not kept]\n" : "", text_of(file, "name"),
                        text_of(file, "reason"));
}

static void write_end(FILE *out, const json_t *reply) {
        const char *outcome = text_of(reply, "outcome"), *hint = text_of(reply, "hint");
        const char *message = text_of(json_object_get(reply, "session"), "message");
        if (strcmp(outcome, "ok") != 0)
                fprintf(out, "\n[%s, exit code %lld]\n", outcome,
                        (long long)json_integer_value(json_object_get(reply, "exit_code")));
        if (*hint)
                fprintf(out, "[hint] %s\n", hint);
        if (*message)
                fprintf(out, "[session] %s\n", message);
}

static void write_run(FILE *out, const json_t *reply) {
        write_block(out, NULL, json_object_get(reply, "stdout"));
        write_block(out, "[stderr]", json_object_get(reply, "stderr"));
        write_values(out, json_object_get(reply, "results"));
        write_files(out, reply);
        write_end(out, reply);
}

/* A text as it is, anything else as JSON. */
static void write_value(FILE *out, const struct json_span *value) {
        json_t *text = value->bytes[0] == '"' ? json_loadb(value->bytes, value->length, TEXT_FLAGS, NULL)
                                              : json_string_lossy(value->bytes, value->length);
        write_block(out, NULL, text);
        json_decref(text);
}

static void write_call(FILE *out, const json_t *reply, const struct json_span *value) {
        const json_t *error = json_object_get(reply, "error");
        if (json_is_object(error)) {
                fprintf(out, "%s: %s\n", text_of(error, "type"), text_of(error, "message"));
                write_block(out, "[traceback]", json_object_get(error, "traceback"));
        } else {
                write_value(out, value);
        }
        write_block(out, "[stdout]", json_object_get(reply, "stdout"));
        write_block(out, "[stderr]", json_object_get(reply, "stderr"));
        write_end(out, reply);
}

/* Of a run, or of a call with its result. */
static json_t *text_item(const json_t *reply, const struct json_span *value) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        if (!out)
                return NULL;
        if (value)
                write_call(out, reply, value);
        else
                write_run(out, reply);
        bool failed = ferror(out);
        if (fclose(out) != 0 || failed)
                length = 0;
        json_t *item = json_pack("{s:s, s:o}", "type", "text", "text",
                                 length ? json_string_lossy(text, length) : json_string("[no output]"));
        free(text);
        return item;
}

/* ---- pictures and files */

static bool is_picture(const char *media_type) {
        static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
        for (size_t i = 0; i < ARRAY_SIZE(types); i++)
                if (strcmp(types[i], media_type) == 0)
                        return true;
        return false;
}

static void add_picture(json_t *content, const char *media_type, json_t *base64) {
        json_array_append_new(content,
                              json_pack("{s:s, s:O, s:s}", "type", "image", "data", base64, "mimeType", media_type));
}

/* Pictures move from the structured content into the content: one copy of them is enough. */
static void move_pictures(json_t *content, json_t *results) {
        json_t *one, *value;
        const char *type;
        void *next;
        size_t i;
        json_array_foreach(results, i, one) {
                json_object_foreach_safe(one, next, type, value) {
                        if (!is_picture(type) || !json_is_string(value))
                                continue;
                        add_picture(content, type, value);
                        json_object_del(one, type);
                }
        }
}

static void add_link(json_t *content, const json_t *file) {
        json_array_append_new(content,
                              json_pack("{s:s, s:o, s:O, s:O, s:O}", "type", "resource_link", "uri",
                                        json_sprintf(MCP_FILE_URI "%s", text_of(file, "file_id")), "name",
                                        json_object_get(file, "name"), "mimeType", json_object_get(file, "media_type"),
                                        "size", json_object_get(file, "size")));
}

/* A file that is kept nowhere comes along. */
static void add_contents(json_t *content, const json_t *reply, const json_t *file, json_t *base64) {
        if (is_picture(text_of(file, "media_type"))) {
                add_picture(content, text_of(file, "media_type"), base64);
                return;
        }
        json_t *resource =
                json_pack("{s:o, s:O, s:O}", "uri",
                          json_sprintf("sandbox://runs/%s/%s", text_of(reply, "run_id"), text_of(file, "name")),
                          "mimeType", json_object_get(file, "media_type"), "blob", base64);
        json_array_append_new(content, json_pack("{s:s, s:o}", "type", "resource", "resource", resource));
}

static void add_files(json_t *content, const json_t *reply) {
        json_t *file, *base64;
        size_t i;
        json_array_foreach(json_object_get(reply, "files"), i, file) {
                base64 = json_object_get(file, "content_base64");
                if (base64)
                        add_contents(content, reply, file, base64);
                else
                        add_link(content, file);
                json_object_del(file, "content_base64");
        }
}

/* ---- results */

static json_t *result(json_t *content, json_t *structured) {
        bool failed = strcmp(text_of(structured, "outcome"), "ok") != 0;
        return json_pack("{s:o, s:o, s:b}", "content", content, "structuredContent", structured, "isError", failed);
}

/* Its lists are short (RESULTS_MAX, FILES_MAX), so it may become a tree. */
json_t *mcp_result_of_run(json_t *reply) {
        json_t *content = json_array();
        shorten(reply, "stdout", "stdout_truncated");
        shorten(reply, "stderr", "stderr_truncated");
        json_array_append_new(content, text_item(reply, NULL));
        move_pictures(content, json_object_get(reply, "results"));
        add_files(content, reply);
        return result(content, reply);
}

/* The reply without what the tool returned, in whose place `mark` stands. NULL: it is none, or no memory. */
static json_t *parse_without(const char *bytes, size_t length, const struct json_span *value, const char *mark) {
        size_t before = (size_t)(value->bytes - bytes), after = length - before - value->length;
        CLEANUP_FREE char *text = malloc(length - value->length + strlen(mark) + 2);
        if (!text)
                return NULL;
        char *to = mempcpy(text, bytes, before);
        to += sprintf(to, "\"%s\"", mark);
        to = mempcpy(to, value->bytes + value->length, after);
        return json_loadb(text, (size_t)(to - text), JSON_ALLOW_NUL, NULL);
}

/* What the tool returned, in the place of `mark`. Line breaks stand between values only. */
static char *put_back(const char *text, const char *mark, const struct json_span *value) {
        const char *place = strstr(text, mark);
        size_t length = strlen(text);
        char *whole = place ? malloc(length + value->length + 1) : NULL;
        if (!whole)
                return NULL;
        char *from = mempcpy(whole, text, (size_t)(place - 1 - text));
        char *to = mempcpy(from, value->bytes, value->length);
        for (char *c = from; c < to; c++)
                *c = *c == '\n' || *c == '\r' ? ' ' : *c;
        strcpy(to, place + strlen(mark) + 1);
        return whole;
}

char *mcp_result_of_call(const char *bytes, size_t length) {
        struct json_span value = {NULL, 0};
        const struct json_member members[] = {{"result", &value}};
        char mark[REQUEST_ID_BYTES + 1];
        const char *wrong;
        http_new_id(mark);
        if (!json_scan_object(bytes, length, members, 1, &wrong) || !value.bytes)
                return NULL;
        json_t *reply = parse_without(bytes, length, &value, mark), *content = json_array();
        if (!reply) {
                json_decref(content);
                return NULL;
        }
        shorten(reply, "stdout", "stdout_truncated");
        shorten(reply, "stderr", "stderr_truncated");
        json_array_append_new(content, text_item(reply, &value));
        json_t *whole = result(content, reply);
        CLEANUP_FREE char *text = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
        json_decref(whole);
        return text ? put_back(text, mark, &value) : NULL;
}

json_t *mcp_result_of_refusal(unsigned status, const json_t *body, const char *retry_after, struct mcp_error *e) {
        const json_t *error = json_object_get(body, "error");
        const char *message = text_of(error, "message"), *param = text_of(error, "param");
        if (status == 429 || status == 503) {
                json_t *text = json_sprintf("%s%s%s%s", message, retry_after ? " (Try again in " : "",
                                            retry_after ? retry_after : "", retry_after ? " s.)" : "");
                return json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", text, "isError", 1);
        }
        if (status == 0 || status >= 500) {
                mcp_error_set(e, MCP_INTERNAL_ERROR, "%s",
                              *message ? message : "The run was ended before it could answer.");
                return NULL;
        }
        mcp_error_set(e, MCP_INVALID_PARAMS, "%s", message);
        if (*param)
                e->data = json_pack("{s:s}", "param", param);
        return NULL;
}

/* ---- schemas */

#define OUTCOMES "\"ok\", \"error\", \"timeout\", \"out_of_memory\", \"output_limit\", \"killed\", \"internal\""

static json_t *schema(const char *text) {
        return json_loads(text, 0, NULL);
}

json_t *mcp_run_schema(void) {
        return schema("{\"type\": \"object\","
                      " \"required\": [\"outcome\", \"exit_code\", \"stdout\", \"stderr\", \"results\", \"files\"],"
                      " \"properties\": {"
                      "  \"run_id\": {\"type\": \"string\"}, \"sandbox_id\": {\"type\": \"string\"},"
                      "  \"outcome\": {\"type\": \"string\", \"enum\": [" OUTCOMES "]},"
                      "  \"exit_code\": {\"type\": \"integer\"},"
                      "  \"stdout\": {\"type\": \"string\"}, \"stderr\": {\"type\": \"string\"},"
                      "  \"stdout_truncated\": {\"type\": \"boolean\"}, \"stderr_truncated\": {\"type\": \"boolean\"},"
                      "  \"results\": {\"type\": \"array\", \"items\": {\"type\": \"object\"},"
                      "   \"description\": \"Values of last expressions and figures by media type; pictures are in the"
                      " content.\"},"
                      "  \"files\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}},"
                      "  \"files_skipped\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}},"
                      "  \"session\": {\"type\": \"object\"}, \"usage\": {\"type\": \"object\"},"
                      "  \"hint\": {\"type\": [\"string\", \"null\"]}}}");
}

json_t *mcp_call_schema(void) {
        return schema("{\"type\": \"object\","
                      " \"required\": [\"outcome\", \"exit_code\", \"result\", \"error\", \"stdout\", \"stderr\"],"
                      " \"properties\": {"
                      "  \"outcome\": {\"type\": \"string\", \"enum\": [" OUTCOMES "]},"
                      "  \"exit_code\": {\"type\": \"integer\"},"
                      "  \"result\": {\"description\": \"What the function returned.\"},"
                      "  \"error\": {\"type\": [\"object\", \"null\"]},"
                      "  \"stdout\": {\"type\": \"string\"}, \"stderr\": {\"type\": \"string\"},"
                      "  \"hint\": {\"type\": [\"string\", \"null\"]}}}");
}
