/* piston; see door_piston.h. */
#include "api/door_piston.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/door_call.h"
#include "api/http.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "run/json_out.h"

#define MAIN_FILE "main.py"
#define MEMORY_BYTES (512 << 20) /* that every run may have */

/* Nothing is compiled, so limits for that are kept in any case. */
static const char *const fields[] = {
        "language",
        "version",
        "files",
        "stdin",
        "args",
        "run_timeout",
        "compile_timeout",
        "run_memory_limit",
        "compile_memory_limit",
        "compile_cpu_time",
        NULL,
};
static const char *const file_fields[] = {"name", "content", "encoding", NULL};
static const char *const names[] = {"python", "python3", "py", "py3"};

static const char *version_of(const struct api *api) {
        const char *version = json_string_value(json_object_get(api->environment, "python"));
        return version ? version : "3";
}

/* ---- what is asked for */

static int part(const char **text) {
        char *end;
        if (!isdigit((unsigned char)**text))
                return -1;
        long value = strtol(*text, &end, 10);
        *text = end + (*end == '.');
        return value <= 9999 ? (int)value : -1;
}

/* The forms of semver's ranges that name one version or an open end; whatever is not given fits. */
bool door_piston_version_is(const char *wanted, const char *version) {
        bool at_least = false;
        if (strncmp(wanted, ">=", 2) == 0 || *wanted == '^' || *wanted == '~') {
                at_least = true;
                wanted += 1 + (*wanted == '>');
        }
        wanted += *wanted == 'v';
        for (int i = 0; i < 3 && *wanted && *wanted != '*' && *wanted != 'x'; i++) {
                int want = part(&wanted), have = part(&version);
                if (want < 0 || have < 0 || have < want || (have > want && (!at_least || i == 0)))
                        return false;
                if (have > want)
                        return true;
        }
        return *wanted == '\0' || strspn(wanted, "*x.") == strlen(wanted);
}

static int check_language(const json_t *body, const char *version, struct err *e) {
        const char *language, *wanted;
        int r = door_text(body, "language", &language, e);
        if (r < 0 || (r = door_text(body, "version", &wanted, e)) < 0)
                return r;
        if (!language)
                return err_set_field(e, -EINVAL, "language", "language is required as a text.");
        bool known = false;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                known = known || strcmp(language, names[i]) == 0;
        if (!known || (wanted && !door_piston_version_is(wanted, version)))
                return err_set_field(e, -EINVAL, "language",
                                     "The runtime %.32s-%.32s is unknown: there is python-%s only.", language,
                                     wanted ? wanted : "*", version);
        return 0;
}

static json_t *decode_hex(const json_t *content) {
        const char *text = json_string_value(content);
        size_t length = json_string_length(content);
        struct json_out out;
        CLEANUP_FREE unsigned char *bytes = malloc(length / 2 + 1);
        if (!bytes || length % 2 != 0 || strspn(text, "0123456789abcdefABCDEF") != length)
                return NULL;
        for (size_t i = 0; i < length / 2; i++) {
                const char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
                bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
        }
        json_out_init(&out, length);
        json_out_base64(&out, bytes, length / 2);
        json_t *value = out.failed ? NULL : json_loadb(out.bytes, out.used, JSON_DECODE_ANY, NULL);
        json_out_deinit(&out);
        return value;
}

/* One of `files` as the engine has it. */
static int decode_file(const json_t *file, size_t index, json_t **ret, struct err *e) {
        const char *name, *encoding;
        char unnamed[32], where[32];
        json_t *content = json_object_get(file, "content");
        snprintf(where, sizeof(where), "files[%zu]", index);
        snprintf(unnamed, sizeof(unnamed), index == 0 ? MAIN_FILE : "file%zu.code", index);
        if (!json_is_object(file) || !json_is_string(content))
                return err_set_field(e, -EINVAL, where, "%s.content is required as a text.", where);
        if (door_check_fields(file, file_fields, e) < 0 || door_text(file, "name", &name, e) < 0 ||
            door_text(file, "encoding", &encoding, e) < 0)
                return -EINVAL;
        bool hex = encoding && strcmp(encoding, "hex") == 0, base64 = encoding && strcmp(encoding, "base64") == 0;
        if (encoding && !hex && !base64 && strcmp(encoding, "utf8") != 0)
                return err_set_field(e, -EINVAL, where, "%s.encoding must be utf8, base64 or hex.", where);
        content = hex ? decode_hex(content) : json_incref(content);
        if (!content)
                return err_set_field(e, -EINVAL, where, "%s.content is not hexadecimal.", where);
        *ret = json_pack("{s:s, s:o}", "name", name ? name : unnamed, hex || base64 ? "content_base64" : "content",
                         content);
        return *ret ? 0 : -ENOMEM;
}

/* Of a file that is run with arguments, or is not plain text: it is run as it would be by its name. */
static json_t *run_file(const char *name, const json_t *args) {
        json_t *argv = json_array();
        CLEANUP_FREE char *text = NULL, *code = NULL;
        json_array_append_new(argv, json_string(name));
        json_array_extend(argv, (json_t *)(uintptr_t)args);
        text = json_dumps(argv, 0); /* Python reads a list of texts alike */
        json_decref(argv);
        if (!text || asprintf(&code,
                              "import sys\nsys.argv = %s\n"
                              "exec(compile(open(sys.argv[0], 'rb').read(), sys.argv[0], 'exec'))\n",
                              text) < 0)
                return NULL;
        return json_string(code);
}

static int decode_files(const json_t *body, json_t *run, struct err *e) {
        const json_t *files = json_object_get(body, "files"), *args = json_object_get(body, "args");
        json_t *inputs = json_array(), *value;
        size_t i;
        int r = 0;
        json_object_set_new(run, "files", inputs);
        if (!json_is_array(files) || json_array_size(files) == 0)
                return err_set_field(e, -EINVAL, "files", "files is required as a list with the program first.");
        if (door_is_set(args) && !json_is_array(args))
                return err_set_field(e, -EINVAL, "args", "args must be a list of texts.");
        json_array_foreach(args, i, value) if (!json_is_string(value)) return err_set_field(
                e, -EINVAL, "args", "args must be a list of texts.");
        json_array_foreach(files, i, value) {
                json_t *input = NULL;
                r = decode_file(value, i, &input, e);
                if (r < 0)
                        return r;
                json_array_append_new(inputs, input);
        }
        json_t *program = json_array_get(inputs, 0), *code = json_object_get(program, "content");
        if (code && !door_is_set(args)) {
                json_object_set(run, "code", code);
                return json_array_remove(inputs, 0);
        }
        return json_object_set_new(run, "code", run_file(json_string_value(json_object_get(program, "name")), args));
}

static int decode_limits(const json_t *body, const struct config *config, json_t *run, struct err *e) {
        double timeout_ms, memory, max_ms = (double)config->execute_max_timeout_s * 1000;
        if (door_number(body, "run_timeout", 0, &timeout_ms, e) < 0 ||
            door_number(body, "run_memory_limit", -1, &memory, e) < 0)
                return -EINVAL;
        if (timeout_ms < 0 || timeout_ms > max_ms)
                return err_set_field(e, -EINVAL, "run_timeout", "run_timeout cannot exceed the limit of %g ms.",
                                     max_ms);
        if (memory >= 0 && memory < MEMORY_BYTES)
                return err_set_field(e, -EINVAL, "run_memory_limit",
                                     "run_memory_limit cannot be set lower than the %d bytes that every run has.",
                                     MEMORY_BYTES);
        if (timeout_ms > 0)
                json_object_set_new(run, "timeout_s", json_real(timeout_ms / 1000));
        return 0;
}

int door_piston_decode(const json_t *body, const struct config *config, const char *version, json_t **ret,
                       struct err *e) {
        json_t *standard_input;
        int r = check_language(body, version, e);
        if (r < 0 || (r = door_bytes(body, "stdin", &standard_input, e)) < 0)
                return r;
        json_t *run = json_pack("{s:b, s:o}", "inline_files", 0, "stdin",
                                standard_input ? json_incref(standard_input) : json_string(""));
        if (!run)
                return -ENOMEM;
        r = decode_files(body, run, e);
        if (r == 0)
                r = decode_limits(body, config, run, e);
        if (r == 0)
                *ret = run;
        else
                json_decref(run);
        return r;
}

/* ---- what comes of it */

/* Its word for how a run ended; NULL: well. */
static const char *status_word(const char *outcome, json_int_t exit_code) {
        static const struct {
                const char *outcome, *word;
        } words[] = {{"timeout", "TO"},
                     {"output_limit", "OL"},
                     {"out_of_memory", "SG"},
                     {"killed", "XX"},
                     {"internal", "XX"}};
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcmp(outcome, words[i].outcome) == 0)
                        return words[i].word;
        return exit_code == 0 ? NULL : exit_code > 128 ? "SG" : "RE";
}

/* The hint on a time limit would name the engine's field. */
static const char *message_of(const char *word, const char *hint) {
        if (word && strcmp(word, "TO") == 0)
                return "The program was stopped at its time limit (run_timeout).";
        return word ? hint : NULL;
}

static json_t *signal_name(json_int_t exit_code) {
        const char *short_name = exit_code > 128 ? sigabbrev_np((int)exit_code - 128) : NULL;
        char name[32];
        if (exit_code >= 0 && !short_name)
                return json_null();
        snprintf(name, sizeof(name), "SIG%s", short_name ? short_name : "KILL");
        return json_string(name);
}

static json_t *joined(const json_t *first, const json_t *second) {
        size_t length = json_string_length(first), more = json_string_length(second);
        CLEANUP_FREE char *both = malloc(length + more + 1);
        if (!both)
                return NULL;
        memcpy(both, json_string_value(first), length);
        memcpy(both + length, json_string_value(second), more);
        return json_stringn(both, length + more);
}

json_t *door_piston_encode(const json_t *reply, const char *version) {
        const char *outcome, *hint = json_string_value(json_object_get(reply, "hint"));
        json_int_t exit_code, memory;
        double cpu_ms, wall_ms;
        json_t *standard, *errors;
        if (json_unpack((json_t *)(uintptr_t)reply, "{s:s, s:I, s:o, s:o, s:{s:F, s:F, s:I}}", "outcome", &outcome,
                        "exit_code", &exit_code, "stdout", &standard, "stderr", &errors, "usage", "cpu_ms", &cpu_ms,
                        "wall_ms", &wall_ms, "max_memory_bytes", &memory) < 0)
                return NULL;
        const char *word = status_word(outcome, exit_code);
        json_t *signal = signal_name(exit_code);
        bool by_signal = json_is_string(signal);
        return json_pack("{s:s, s:s, s:{s:O, s:O, s:o, s:o, s:o, s:s?, s:s?, s:I, s:I, s:I}}", "language", "python",
                         "version", version, "run", "stdout", standard, "stderr", errors, "output",
                         joined(standard, errors), "code", by_signal ? json_null() : json_integer(exit_code), "signal",
                         signal, "message", message_of(word, hint), "status", word, "cpu_time", (json_int_t)cpu_ms,
                         "wall_time", (json_int_t)wall_ms, "memory", memory);
}

/* ---- handlers */

static void on_run(struct door_call *call, unsigned status, json_t *reply) {
        if (status == 200)
                door_reply(call, 200, door_piston_encode(reply, version_of(call->api)));
        else
                door_pass_error(call, status, reply);
}

void door_piston_handle_execute(struct api *api, struct http_request *request) {
        struct door_call *call;
        struct err e = {0};
        json_t *body, *run = NULL;
        if (!door_begin(api, request, sizeof(*call), NULL, &call) || !(body = door_body(call, fields)))
                return;
        int r = door_piston_decode(body, api->config, version_of(api), &run, &e);
        json_decref(body);
        if (r == -EINVAL)
                door_refuse_err(call, &e);
        else
                door_run(call, run, on_run);
}

void door_piston_handle_runtimes(struct api *api, struct http_request *request) {
        json_t *aliases = json_array();
        for (size_t i = 1; i < ARRAY_SIZE(names); i++)
                json_array_append_new(aliases, json_string(names[i]));
        http_reply_json(
                request, 200,
                json_pack("[{s:s, s:s, s:o}]", "language", names[0], "version", version_of(api), "aliases", aliases));
}
