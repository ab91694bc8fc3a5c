/* The end of a tool call; see call_end.h. */
#include "run/call_end.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "run/json_out.h"
#include "run/text.h"
#include "spawn/frames.h"

#define EXIT_OF_ERROR 1
#define ERROR_BYTES_MAX (256 << 10)
/* What goes wrong with the sandbox, and not in the agent's code, has this type. */
#define SANDBOX_ERROR "SandboxError"

void call_end_deinit(struct call_end *end) {
        free(end->bytes);
        *end = (struct call_end){.bytes = NULL};
}

/* ---- the last word */

static void refuse(struct call_end *end, const char *why) {
        snprintf(end->problem, sizeof(end->problem), "%s", why);
}

static void check_members(struct call_end *end) {
        bool result = end->result.bytes, error = end->error.bytes, tools = end->tools.bytes, image = end->image.bytes;
        if (result + error + tools + image != 1)
                refuse(end, "it is not what the sandbox's runner would have sent");
        else if (end->error.length > ERROR_BYTES_MAX)
                refuse(end, "its error is larger than 256 KiB");
        else if (end->result.length > CALL_RESULT_BYTES_MAX)
                end->too_large = end->result.length;
}

void call_end_take(struct call_end *end, const char *payload, size_t length) {
        const char *wrong;
        end->seen = true;
        end->bytes = malloc(length + 1);
        if (!end->bytes) {
                refuse(end, "the service has no memory left for it");
                return;
        }
        memcpy(end->bytes, payload, length);
        end->bytes[length] = '\0';
        const struct json_member members[] = {
                {"result", &end->result}, {"error", &end->error},   {"tools", &end->tools},
                {"image", &end->image},   {"python", &end->python}, {"implementation", &end->implementation},
        };
        if (json_scan_object(end->bytes, length, members, ARRAY_SIZE(members), &wrong))
                check_members(end);
        else
                refuse(end, wrong);
}

void call_end_refuse_size(struct call_end *end, size_t length) {
        end->seen = true;
        end->too_large = length;
}

/* ---- errors */

void call_error_deinit(struct call_error *error) {
        free(error->message);
        free(error->traceback);
        *error = (struct call_error){.message = NULL};
}

__attribute__((format(printf, 3, 4))) static void set(struct call_error *error, const char *type, const char *format,
                                                      ...) {
        va_list arguments;
        va_start(arguments, format);
        snprintf(error->type, sizeof(error->type), "%s", type);
        if (vasprintf(&error->message, format, arguments) < 0)
                error->message = NULL;
        va_end(arguments);
}

static char *cut_text(const json_t *value, size_t max) {
        const char *text = json_string_value(value);
        size_t length = json_string_length(value);
        if (!text)
                return NULL;
        if (length > max)
                length = max - text_cut_off(text, max);
        return strndup(text, length);
}

/* As the runner tells it. False: it is no sense. */
static bool take_error(const struct json_span *span, struct call_error *error) {
        json_t *object = json_loadb(span->bytes, span->length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        const char *type = json_string_value(json_object_get(object, "type"));
        bool good = type && *type && json_is_string(json_object_get(object, "message"));
        if (good) {
                CLEANUP_FREE char *name = cut_text(json_object_get(object, "type"), CALL_ERROR_TYPE_MAX);
                snprintf(error->type, sizeof(error->type), "%s", name ? name : "");
                error->message = cut_text(json_object_get(object, "message"), CALL_ERROR_MESSAGE_MAX);
                error->traceback = cut_text(json_object_get(object, "traceback"), CALL_ERROR_TRACEBACK_MAX);
                error->builtin = json_is_true(json_object_get(object, "builtin"));
        }
        json_decref(object);
        return good;
}

void call_error_write(const struct call_error *error, struct json_out *out) {
        json_out_open(out, '{');
        json_out_member_string(out, "type", error->type);
        json_out_member_string(out, "message", error->message ? error->message : "");
        json_out_member_string(out, "traceback", error->traceback);
        json_out_member_bool(out, "builtin", error->builtin);
        json_out_close(out, '}');
}

/* ---- both together */

/* The platform ended it. */
static void explain_limit(const struct call_facts *facts, struct call_error *error) {
        switch (facts->outcome.outcome) {
        case OUTCOME_TIMEOUT:
                set(error, SANDBOX_ERROR, "The call did not end within its time limit of %g s and was stopped.",
                    facts->timeout_ms / 1000.0);
                break;
        case OUTCOME_OUT_OF_MEMORY:
                set(error, SANDBOX_ERROR, "The call needed more than the %llu MiB of memory that it may use and was "
                                          "stopped.",
                    (unsigned long long)(facts->memory_bytes >> 20));
                break;
        case OUTCOME_OUTPUT_LIMIT:
                set(error, SANDBOX_ERROR, "The call printed more than %llu bytes and was stopped.",
                    (unsigned long long)facts->output_max_bytes);
                break;
        case OUTCOME_KILLED:
                set(error, SANDBOX_ERROR, "The sandbox was lost while the call ran. What it did may have had effects.");
                break;
        default:
                set(error, SANDBOX_ERROR, "The sandbox was lost before the call ran.");
        }
}

/* The process ended by itself, and not as one that has returned does. */
static void explain_end(const struct call_end *end, const struct call_facts *facts, struct call_error *error) {
        const char *before = end->seen ? "after" : "before";
        if (WIFSIGNALED(facts->wait_status)) {
                int number = WTERMSIG(facts->wait_status);
                const char *name = sigabbrev_np(number);
                set(error, SANDBOX_ERROR, "The process of the tool died of signal %d (SIG%s) %s the function returned.",
                    number, name ? name : "?", before);
        } else if (!facts->started)
                set(error, SANDBOX_ERROR,
                    "The image's Python ended with exit code %d before it could load the agent's code; standard error "
                    "says more.",
                    facts->outcome.exit_code);
        else
                set(error, SANDBOX_ERROR,
                    "The process of the tool ended with exit code %d %s the function returned, as after os._exit().",
                    facts->outcome.exit_code, before);
}

static void explain_word(const struct call_end *end, struct call_error *error) {
        if (end->too_large > 0)
                set(error, SANDBOX_ERROR,
                    "What the function returned is %zu bytes of JSON; the reply to a call may have at most %u bytes "
                    "(8 MiB). Return less, or a part at a time.",
                    end->too_large, CALL_RESULT_BYTES_MAX);
        else
                set(error, SANDBOX_ERROR, "What the function returned is no JSON: %s.",
                    end->problem[0] ? end->problem : "it is not what the sandbox's runner would have sent");
}

bool call_end_judge(const struct call_end *end, const struct json_span *wanted, struct call_facts *facts,
                    struct call_error *error) {
        *error = (struct call_error){.message = NULL};
        if (facts->outcome.outcome != OUTCOME_OK && facts->outcome.outcome != OUTCOME_ERROR) {
                explain_limit(facts, error);
                return false;
        }
        bool sound = end->seen && !end->problem[0] && end->too_large == 0 && (wanted->bytes || end->error.bytes);
        if (sound && wanted->bytes && facts->outcome.outcome == OUTCOME_OK)
                return true;
        bool told = sound && end->error.bytes && take_error(&end->error, error);
        if (!told && end->seen && (!sound || end->error.bytes))
                explain_word(end, error);
        else if (!told)
                explain_end(end, facts, error);
        /* A process that has told of an error may yet end as if there were none. */
        if (end->seen && facts->outcome.outcome == OUTCOME_OK)
                facts->outcome.exit_code = EXIT_OF_ERROR;
        facts->outcome.outcome = OUTCOME_ERROR;
        return false;
}
