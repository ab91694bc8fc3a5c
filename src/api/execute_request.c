/* The body of POST /v1/execute; see execute_request.h. */
#include "api/execute_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/http.h"
#include "api/json.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "run/base64.h"
#include "run/input_names.h"

#define AGENT_NAME_MAX 64
#define CONVERSATION_ID_MAX 128
#define PAGE_BYTES 4096

struct members {
        json_t *code, *timeout_s, *agent, *conversation_id, *files, *standard_input, *inline_files, *stream;
};

#define FIELDS 8

/* The table of fields, with what goes into its messages. */
struct table {
        struct json_field fields[FIELDS];
        struct members members;
        char seconds[80];
};

static void make_table(struct table *table, const struct config *config) {
        struct members *members = &table->members;
        double max_s = execute_max_timeout_ms(config) / 1000.0;
        snprintf(table->seconds, sizeof(table->seconds), "a number of seconds greater than 0 and at most %g", max_s);
        const struct json_field all[FIELDS] = {
                {.name = "code",
                 .want = JSON_WANT_STRING,
                 .required = true,
                 .max = CODE_BYTES_MAX,
                 .value = &members->code},
                {.name = "timeout_s",
                 .want = JSON_WANT_NUMBER,
                 .above_min = true,
                 .max = max_s,
                 .expected = table->seconds,
                 .value = &members->timeout_s},
                {.name = "agent", .want = JSON_WANT_STRING, .null_allowed = true, .value = &members->agent},
                /* A reply shows these two as null where they were not given, and what it shows may be sent. */
                {.name = "conversation_id",
                 .want = JSON_WANT_STRING,
                 .null_allowed = true,
                 .value = &members->conversation_id},
                {.name = "files", .want = JSON_WANT_ARRAY, .max = INPUTS_MAX, .value = &members->files},
                {.name = "stdin", .want = JSON_WANT_STRING, .nul_allowed = true, .value = &members->standard_input},
                {.name = "inline_files", .want = JSON_WANT_BOOL, .value = &members->inline_files},
                {.name = "stream", .want = JSON_WANT_BOOL, .value = &members->stream},
        };
        memcpy(table->fields, all, sizeof(all));
}

uint32_t execute_max_timeout_ms(const struct config *config) {
        uint64_t ms = (uint64_t)config->execute_max_timeout_s * 1000;
        return ms < SPAWN_TIMEOUT_MAX_MS ? (uint32_t)ms : SPAWN_TIMEOUT_MAX_MS;
}

/* Its range has been checked; what is left of a millisecond counts as one. */
static uint32_t take_timeout(const json_t *value, const struct config *config) {
        uint32_t max_ms = execute_max_timeout_ms(config);
        if (!value)
                return 0;
        double exact = json_number_value(value) * 1000;
        uint64_t ms = (uint64_t)exact;
        ms += (double)ms < exact;
        return ms < max_ms ? (uint32_t)ms : max_ms;
}

/* A name of the client's: so many of the letters, digits and `others`. */
static int take_name(const json_t *value, const char *field, size_t max, const char *others, const char **ret,
                     struct err *e) {
        if (!value)
                return 0;
        const char *name = json_string_value(value);
        size_t length = json_string_length(value);
        bool good = length >= 1 && length <= max;
        for (size_t i = 0; good && i < length; i++)
                good = isalnum((unsigned char)name[i]) || strchr(others, name[i]);
        if (!good)
                return err_set_field(e, -EINVAL, field, "%s must be 1 to %zu characters of A-Z, a-z, 0-9 and %s.",
                                     field, max, others);
        *ret = name;
        return 0;
}

static int refuse_content(size_t index, const char *member, const char *name, struct err *e, const char *why) {
        char field[64];
        snprintf(field, sizeof(field), "files[%zu]%s", index, member);
        return err_set_field(e, -EINVAL, field, "The input file \"%.*s\" %s.", (int)input_name_shown(name), name, why);
}

static int take_base64(struct execute_request *execute, size_t index, const json_t *value, struct err *e) {
        struct work_input *input = &execute->inputs[index];
        size_t length = json_string_length(value), wrong;
        unsigned char *bytes = malloc(BASE64_DECODED_MAX(length) + 1);
        if (!bytes)
                return -ENOMEM;
        execute->decoded[index] = bytes;
        if (base64_decode(json_string_value(value), length, bytes, &input->size, &wrong) < 0) {
                char why[160];
                snprintf(why, sizeof(why),
                         "is not valid base64 at character %zu: use the standard alphabet with padding and without "
                         "line breaks, or send text as `content`",
                         wrong + 1);
                return refuse_content(index, ".content_base64", input->name, e, why);
        }
        input->bytes = (const char *)bytes;
        return 0;
}

static int take_file(struct execute_request *execute, size_t index, json_t *object, struct input_name *name,
                     struct err *e) {
        struct work_input *input = &execute->inputs[index];
        json_t *name_value, *content, *content_base64, *file_id;
        const struct json_field fields[] = {
                {.name = "name", .want = JSON_WANT_STRING, .required = true, .nul_allowed = true, .value = &name_value},
                {.name = "content", .want = JSON_WANT_STRING, .nul_allowed = true, .value = &content},
                {.name = "content_base64", .want = JSON_WANT_STRING, .value = &content_base64},
                {.name = "file_id", .want = JSON_WANT_STRING, .value = &file_id},
        };
        char where[32];
        snprintf(where, sizeof(where), "files[%zu]", index);
        if (!json_is_object(object))
                return err_set_field(e, -EINVAL, where,
                                     "%s must be an object with `name` and one of `content`, `content_base64` and "
                                     "`file_id`.",
                                     where);
        snprintf(where, sizeof(where), "files[%zu].", index);
        int r = json_decode(object, where, fields, ARRAY_SIZE(fields), e);
        if (r < 0)
                return r;

        *name = (struct input_name){json_string_value(name_value), json_string_length(name_value), index};
        input->name = name->bytes;
        input->name_length = name->length;
        r = input_name_check(name, e);
        if (r < 0)
                return r;
        if (!!content + !!content_base64 + !!file_id != 1)
                return refuse_content(index, "", input->name, e,
                                      "needs exactly one of `content` (text), `content_base64` (bytes) and `file_id`");
        execute->file_ids[index] = json_string_value(file_id);
        if (file_id)
                return 0;
        if (content_base64)
                return take_base64(execute, index, content_base64, e);
        input->bytes = json_string_value(content);
        input->size = json_string_length(content);
        return 0;
}

/* What the files take in the working directory, a tmpfs of whole pages. The first that does not fit is named. */
int execute_request_check_inputs(const struct execute_request *execute, struct err *e) {
        uint64_t total = 0;
        for (size_t i = 0; i < execute->run.input_count; i++) {
                total += ((uint64_t)execute->inputs[i].size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
                if (total > SANDBOX_WORKDIR_BYTES)
                        return refuse_content(
                                i, "", execute->inputs[i].name, e,
                                "does not fit: the input files of a run may take 128 MiB together. Send fewer or "
                                "smaller ones");
        }
        return 0;
}

static int take_files(struct execute_request *execute, json_t *array, struct err *e) {
        size_t count = json_array_size(array);
        if (count == 0)
                return 0;
        CLEANUP_FREE struct input_name *names = calloc(count, sizeof(*names));
        execute->inputs = calloc(count, sizeof(*execute->inputs));
        execute->decoded = calloc(count, sizeof(*execute->decoded));
        execute->file_ids = calloc(count, sizeof(*execute->file_ids));
        execute->mapped = calloc(count, sizeof(*execute->mapped));
        if (!names || !execute->inputs || !execute->decoded || !execute->file_ids || !execute->mapped)
                return -ENOMEM;
        execute->run.inputs = execute->inputs;
        execute->run.input_count = count;
        for (size_t i = 0; i < count; i++) {
                int r = take_file(execute, i, json_array_get(array, i), &names[i], e);
                if (r != 0)
                        return r;
        }
        int r = input_names_check_together(names, count, e);
        return r < 0 ? r : execute_request_check_inputs(execute, e);
}

static int take_members(struct execute_request *execute, const struct config *config, const struct members *members,
                        struct err *e) {
        struct run_request *run = &execute->run;
        run->code = json_string_value(members->code);
        run->code_length = json_string_length(members->code);
        if (members->standard_input) {
                run->stdin_bytes = json_string_value(members->standard_input);
                run->stdin_length = json_string_length(members->standard_input);
        }
        execute->stream = json_is_true(members->stream);
        run->watched = execute->stream;
        execute->inline_given = members->inline_files != NULL;
        run->inline_files = !members->inline_files || json_is_true(members->inline_files);

        run->timeout_ms = take_timeout(members->timeout_s, config);

        int r = take_name(members->agent, "agent", AGENT_NAME_MAX, "._-", &execute->agent, e);
        if (r == 0)
                r = take_name(members->conversation_id, "conversation_id", CONVERSATION_ID_MAX, "._:-",
                              &execute->conversation_id, e);
        return r == 0 ? take_files(execute, members->files, e) : r;
}

int execute_request_decode(struct execute_request *execute, const struct config *config, json_t *body, struct err *e) {
        struct table table;
        make_table(&table, config);
        int r = json_decode(body, "", table.fields, FIELDS, e);
        return r < 0 ? r : take_members(execute, config, &table.members, e);
}

bool execute_request_take(struct execute_request *execute, const struct config *config, struct http_request *request) {
        struct table table;
        struct err e = {0};

        make_table(&table, config);
        if (!json_decode_request(request, table.fields, FIELDS, &execute->body))
                return false;
        int r = take_members(execute, config, &table.members, &e);
        if (r == 0) {
                execute->run.lane = request->auth.project;
                execute->run.memory_bytes = 2 * request->body_length; /* as it came, and decoded */
                return true;
        }
        if (r == -ENOMEM)
                http_reply_error(request, HTTP_OVERLOADED, NULL, "The service has no memory left for this request.");
        else
                http_reply_error(request, HTTP_INVALID_REQUEST, e.field, "%s", e.message);
        return false;
}

void execute_request_deinit(struct execute_request *execute) {
        for (size_t i = 0; execute->decoded && execute->mapped && i < execute->run.input_count; i++) {
                free(execute->decoded[i]);
                if (execute->mapped[i])
                        munmap(execute->mapped[i], execute->inputs[i].size);
        }
        free(execute->decoded);
        free(execute->file_ids);
        free(execute->mapped);
        free(execute->inputs);
        json_decref(execute->body);
        *execute = (struct execute_request){.body = NULL};
}
