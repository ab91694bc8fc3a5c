/* A run as E2B's lines; see door_e2b_lines.h. */
#include "api/door_e2b_lines.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/door_traceback.h"
#include "base/cleanup.h"

#define HELD_MAX (64 << 10)

static const char *const streams[] = {"stdout", "stderr"};

/* The forms of a result that have a name of their own; all others are `extra`. */
static const struct {
        const char *type, *name;
} forms[] = {
        {"text/plain", "text"},     {"text/html", "html"},   {"text/markdown", "markdown"},
        {"image/svg+xml", "svg"},   {"image/png", "png"},    {"image/jpeg", "jpeg"},
        {"application/pdf", "pdf"}, {"text/latex", "latex"}, {"application/javascript", "javascript"},
};

static void open_line(struct json_out *out, const char *type) {
        json_out_open(out, '{');
        json_out_member_string(out, "type", type);
}

static void close_line(struct json_out *out) {
        json_out_close(out, '}');
        json_out_text(out, "\n");
        out->comma = false;
}

static void bare_line(struct json_out *out, const char *type) {
        open_line(out, type);
        close_line(out);
}

static void text_line(struct json_out *out, const char *type, const char *text, size_t length, uint64_t now_ns) {
        open_line(out, type);
        json_out_key(out, "text");
        json_out_bytes(out, text, length);
        json_out_member_int(out, "timestamp", (int64_t)now_ns);
        close_line(out);
}

static void error_line(struct json_out *out, const char *name, size_t name_length, const char *value,
                       size_t value_length, const char *traceback) {
        open_line(out, "error");
        json_out_key(out, "name");
        json_out_bytes(out, name, name_length);
        json_out_key(out, "value");
        json_out_bytes(out, value, value_length);
        json_out_member_string(out, "traceback", traceback);
        close_line(out);
}

/* ---- text */

void e2b_lines_flush(struct e2b_lines *lines, struct json_out *out, uint64_t now_ns) {
        for (int i = 0; i < 2; i++) {
                if (lines->held[i].length > 0)
                        text_line(out, streams[i], lines->held[i].bytes, lines->held[i].length, now_ns);
                lines->held[i].length = 0;
        }
}

bool e2b_lines_hold(const struct e2b_lines *lines) {
        return lines->held[0].length > 0 || lines->held[1].length > 0;
}

void e2b_lines_deinit(struct e2b_lines *lines) {
        for (int i = 0; i < 2; i++)
                free(lines->held[i].bytes);
}

static void put_text(struct e2b_lines *lines, struct json_out *out, int stream, const json_t *text, uint64_t now_ns) {
        size_t length = json_string_length(text), held = lines->held[stream].length;
        char *bytes = length ? realloc(lines->held[stream].bytes, held + length) : NULL;
        if (!bytes) {
                out->failed = out->failed || length > 0;
                return;
        }
        memcpy(bytes + held, json_string_value(text), length);
        lines->held[stream].bytes = bytes;
        const char *line_end = memrchr(bytes, '\n', held + length);
        size_t whole = held + length > HELD_MAX ? held + length : line_end ? (size_t)(line_end + 1 - bytes) : 0;
        lines->held[stream].length = held + length - whole;
        if (whole == 0)
                return;
        text_line(out, streams[stream], bytes, whole, now_ns);
        memmove(bytes, bytes + whole, held + length - whole);
}

/* ---- results */

static void put_member(struct json_out *out, const char *name, const json_t *value) {
        json_out_key(out, name);
        json_out_bytes(out, json_string_value(value), json_string_length(value));
}

/* Of a result that is JSON, clients want what it stands for. */
static void put_json(struct json_out *out, const json_t *text) {
        json_t *value =
                json_loadb(json_string_value(text), json_string_length(text), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        CLEANUP_FREE char *clean = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        json_decref(value);
        if (!clean)
                return;
        json_out_key(out, "json");
        json_out_raw(out, clean, strlen(clean));
}

static const char *form_of(const char *type) {
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
                if (strcmp(type, forms[i].type) == 0)
                        return forms[i].name;
        return NULL;
}

/* A picture with its text is a shown figure; all else in `results` is the value of the last expression. */
static bool is_main(const json_t *result) {
        return !json_object_get(result, "image/png") || json_object_size(result) > 2;
}

static void result_line(struct json_out *out, const json_t *result) {
        const char *type;
        json_t *value, *extra = json_object();
        open_line(out, "result");
        json_object_foreach((json_t *)(uintptr_t)result, type, value) {
                const char *name = form_of(type);
                if (name)
                        put_member(out, name, value);
                else if (strcmp(type, "application/json") == 0)
                        put_json(out, value);
                else
                        json_object_set(extra, type, value);
        }
        CLEANUP_FREE char *others = json_object_size(extra) ? json_dumps(extra, JSON_COMPACT) : NULL;
        json_decref(extra);
        if (others) {
                json_out_key(out, "extra");
                json_out_raw(out, others, strlen(others));
        }
        json_out_member_bool(out, "is_main_result", is_main(result));
        close_line(out);
}

/* ---- the end */

/* What ended a run that no exception ended. */
static const char *name_of_end(const char *outcome) {
        return strcmp(outcome, "timeout") == 0         ? "TimeoutError"
               : strcmp(outcome, "out_of_memory") == 0 ? "MemoryError"
               : strcmp(outcome, "error") == 0         ? "SystemExit"
                                                       : "SandboxError";
}

static void put_error(struct json_out *out, const json_t *reply, const char *outcome) {
        const char *errors = json_string_value(json_object_get(reply, "stderr"));
        const char *hint = json_string_value(json_object_get(reply, "hint"));
        struct traceback error;
        char ended[64];
        if (strcmp(outcome, "error") == 0 && errors && traceback_find(errors, &error)) {
                error_line(out, error.name, error.name_length, error.value, error.value_length, error.text);
                return;
        }
        snprintf(ended, sizeof(ended), "The run ended with %s and exit code %d.", outcome,
                 (int)json_integer_value(json_object_get(reply, "exit_code")));
        const char *name = name_of_end(outcome), *value = hint ? hint : ended;
        error_line(out, name, strlen(name), value, strlen(value), "");
}

/* Lost variables have no place of their own in the protocol, and must not go unsaid. */
static void put_done(struct json_out *out, const json_t *reply, uint64_t now_ns) {
        const char *outcome = json_string_value(json_object_get(reply, "outcome"));
        const json_t *message = json_object_get(json_object_get(reply, "session"), "message");
        if (json_is_string(message)) {
                json_t *line = json_sprintf("%s\n", json_string_value(message));
                text_line(out, "stderr", json_string_value(line), json_string_length(line), now_ns);
                json_decref(line);
        }
        if (outcome && strcmp(outcome, "ok") != 0)
                put_error(out, reply, outcome);
        bare_line(out, "end_of_execution");
}

static void put_failure(struct json_out *out, const json_t *reply) {
        const char *message = json_string_value(json_object_get(json_object_get(reply, "error"), "message"));
        static const char name[] = "SandboxError";
        message = message ? message : "The service failed.";
        error_line(out, name, sizeof(name) - 1, message, strlen(message), "");
        bare_line(out, "end_of_execution");
}

/* ---- events */

static void put_event(struct e2b_lines *lines, struct json_out *out, const char *event, size_t length,
                      const json_t *data, uint64_t now_ns) {
        static const char *const names[] = {"stdout", "stderr", "start", "result", "done", "error"};
        size_t i = 0;
        while (i < ARRAY_SIZE(names) && (strlen(names[i]) != length || memcmp(names[i], event, length) != 0))
                i++;
        if (i > 1)
                e2b_lines_flush(lines, out, now_ns);
        switch (i) {
        case 0:
        case 1:
                put_text(lines, out, (int)i, json_object_get(data, "text"), now_ns);
                break;
        case 2:
                open_line(out, "number_of_executions");
                json_out_member_int(out, "execution_count", lines->number);
                close_line(out);
                break;
        case 3:
                result_line(out, data);
                break;
        case 4:
                put_done(out, data, now_ns);
                break;
        case 5:
                put_failure(out, data);
                break;
        default: /* files, which the protocol has no line for */
                break;
        }
}

/* "event: NAME\ndata: JSON\n\n", or ": comment\n\n". */
void e2b_lines_write(struct e2b_lines *lines, struct json_out *out, const char *events, size_t length,
                     uint64_t now_ns) {
        static const char before_name[] = "event: ", before_data[] = "\ndata: ";
        const char *end = events + length;
        while (events && events < end) {
                const char *stop = memmem(events, (size_t)(end - events), "\n\n", 2);
                stop = stop ? stop : end;
                const char *data = memmem(events, (size_t)(stop - events), before_data, strlen(before_data));
                if (data && strncmp(events, before_name, strlen(before_name)) == 0) {
                        const char *name = events + strlen(before_name), *json = data + strlen(before_data);
                        json_t *tree = json_loadb(json, (size_t)(stop - json), JSON_ALLOW_NUL, NULL);
                        put_event(lines, out, name, (size_t)(data - name), tree, now_ns);
                        json_decref(tree);
                } else {
                        bare_line(out, "keepalive");
                }
                events = stop < end ? stop + 2 : end;
        }
}
