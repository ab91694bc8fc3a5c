/* Strict decoding of JSON bodies; see json.h. */
#include "api/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/http.h"
#include "api/json_long.h"
#include "base/cleanup.h"
#include "run/text.h"

static const char *const want_names[] = {
        [JSON_WANT_STRING] = "a string",    [JSON_WANT_NUMBER] = "a number", [JSON_WANT_INTEGER] = "a whole number",
        [JSON_WANT_BOOL] = "true or false", [JSON_WANT_ARRAY] = "a list",    [JSON_WANT_OBJECT] = "an object",
        [JSON_WANT_ANY] = "a value",
};

/* ---- parsing */

/*
 * Before jansson looks at it: it goes down 2048 levels, each with its share of the stack, and a body of small values
 * would keep the process busy for seconds and swell thirtyfold. Counts separators outside of strings: each stands for a
 * value.
 */
static int check_shape(const char *bytes, size_t length, unsigned values_max, struct err *e) {
        unsigned depth = 0, values = 0;
        bool in_string = false;
        for (size_t i = 0; i < length; i++) {
                char c = bytes[i];
                if (in_string) {
                        if (c == '\\')
                                i++;
                        else if (c == '"')
                                in_string = false;
                        continue;
                }
                if (c == '"')
                        in_string = true;
                else if ((c == ']' || c == '}') && depth)
                        depth--;
                else if (c == '[' || c == '{')
                        depth++;
                values += c == ',' || c == '[' || c == '{';
                if (depth > JSON_DEPTH_MAX)
                        return err_set(e, -EINVAL, "The body is nested deeper than %d levels.", JSON_DEPTH_MAX);
                if (values > values_max)
                        return err_set(e, -EINVAL, "The body has more than %u values.", values_max);
        }
        return 0;
}

/* jansson: `duplicate object key near '"code"'`. Only a plain name is worth naming. */
static void name_duplicate(const char *text, char *name, size_t size) {
        const char *from = strstr(text, "near '\"");
        name[0] = '\0';
        if (!from)
                return;
        from += strlen("near '\"");
        size_t length = strspn(from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (from[length] == '"')
                snprintf(name, size, "%.*s", (int)length, from);
}

static size_t skip_back(const char *bytes, size_t at, const char *these) {
        while (at > 0 && bytes[at - 1] && strchr(these, bytes[at - 1]))
                at--;
        return at;
}

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SPACE " \t\r\n"

/* The member whose value cannot be read, such as NaN or 1e999: the name before the token in which the parser stopped.
 */
static void name_member(const char *bytes, size_t at, char *name, size_t size) {
        name[0] = '\0';
        at = skip_back(bytes, skip_back(bytes, at, DIGITS LETTERS "+-."), SPACE);
        if (at == 0 || bytes[at - 1] != ':')
                return;
        size_t end = skip_back(bytes, at - 1, SPACE);
        if (end == 0 || bytes[--end] != '"')
                return;
        size_t start = skip_back(bytes, end, DIGITS LETTERS "_");
        if (start > 0 && bytes[start - 1] == '"')
                snprintf(name, size, "%.*s", (int)(end - start), bytes + start);
}

static int explain(const json_error_t *error, const char *bytes, size_t length, struct err *e) {
        char name[sizeof(e->field)];
        if (json_error_code(error) == json_error_out_of_memory)
                return err_set(e, -ENOMEM, "The service has no memory left for this body.");
        if (json_error_code(error) == json_error_duplicate_key) {
                name_duplicate(error->text, name, sizeof(name));
                return err_set_field(e, -EINVAL, name, "A name stands twice in one object%s%s (line %d, column %d).",
                                     *name ? ": " : "", name, error->line, error->column);
        }
        /* What follows " near" repeats bytes of the body. */
        const char *near = strstr(error->text, " near ");
        int shown = near ? (int)(near - error->text) : (int)strlen(error->text);
        size_t at = error->position > 0 && (size_t)error->position < length ? (size_t)error->position : length;
        name_member(bytes, at, name, sizeof(name));
        return err_set_field(e, -EINVAL, name, "The body is not valid JSON: %.*s (line %d, column %d).", shown,
                             error->text, error->line, error->column);
}

static int parse(const char *bytes, size_t length, json_t **ret, struct err *e) {
        json_error_t error;
        struct json_long taken;
        int r = json_long_take(&taken, bytes, length, JSON_LONG_BYTES, e);
        if (r < 0)
                return r;
        const char *rest = taken.rest ? taken.rest : bytes;
        size_t rest_length = taken.rest ? taken.rest_length : length;
        json_t *tree = json_loadb(rest, rest_length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!tree)
                r = explain(&error, rest, rest_length, e);
        else if (json_long_restore(&taken, tree) < 0)
                r = err_set(e, -ENOMEM, "The service has no memory left for this body.");
        json_long_deinit(&taken);
        if (r == 0)
                *ret = tree;
        else
                json_decref(tree);
        return r;
}

static int parse_object(const char *bytes, size_t length, unsigned values_max, json_t **ret, struct err *e) {
        json_t *object;
        if (length == 0)
                return err_set(e, -EINVAL, "The body is empty; send a JSON object.");
        int r = check_shape(bytes, length, values_max, e);
        if (r == 0)
                r = parse(bytes, length, &object, e);
        if (r < 0)
                return r;
        if (!json_is_object(object)) {
                json_decref(object);
                return err_set(e, -EINVAL, "The body must be a JSON object.");
        }
        *ret = object;
        return 0;
}

int json_parse_object(const char *bytes, size_t length, json_t **ret, struct err *e) {
        return parse_object(bytes, length, JSON_VALUES_MAX, ret, e);
}

int json_parse_object_many(const char *bytes, size_t length, json_t **ret, struct err *e) {
        return parse_object(bytes, length, JSON_VALUES_MANY, ret, e);
}

/* ---- members */

static bool has_type(const json_t *value, enum json_want want) {
        switch (want) {
        case JSON_WANT_STRING:
                return json_is_string(value);
        case JSON_WANT_NUMBER:
                return json_is_number(value);
        case JSON_WANT_INTEGER:
                return json_is_integer(value);
        case JSON_WANT_BOOL:
                return json_is_boolean(value);
        case JSON_WANT_ARRAY:
                return json_is_array(value);
        case JSON_WANT_OBJECT:
                return json_is_object(value);
        case JSON_WANT_ANY:
                return true;
        }
        return false;
}

/* What its bounds count: the number itself, bytes, or members. */
static double measure(const json_t *value) {
        if (json_is_string(value))
                return (double)json_string_length(value);
        if (json_is_array(value))
                return (double)json_array_size(value);
        return json_number_value(value);
}

static const char *measured_in(enum json_want want) {
        return want == JSON_WANT_STRING ? " bytes long" : want == JSON_WANT_ARRAY ? " entries long" : "";
}

static int check_bounds(const json_t *value, const struct json_field *field, const char *name, struct err *e) {
        double measured = measure(value);
        if (field->min == 0 && field->max == 0 && !field->above_min)
                return 0;
        bool low = field->above_min ? measured <= field->min : measured < field->min;
        if (!low && measured <= field->max)
                return 0;
        if (field->expected)
                return err_set_field(e, -EINVAL, name, "%s must be %s.", name, field->expected);
        if (field->above_min)
                return err_set_field(e, -EINVAL, name, "%s must be greater than %.15g and at most %.15g%s.", name,
                                     field->min, field->max, measured_in(field->want));
        return err_set_field(e, -EINVAL, name, "%s must be %.15g to %.15g%s.", name, field->min, field->max,
                             measured_in(field->want));
}

static int check_member(json_t *value, const struct json_field *field, const char *name, struct err *e) {
        if (!has_type(value, field->want))
                return err_set_field(e, -EINVAL, name, "%s must be %s.", name,
                                     field->expected ? field->expected : want_names[field->want]);
        if (field->want == JSON_WANT_STRING && !field->nul_allowed &&
            strlen(json_string_value(value)) != json_string_length(value))
                return err_set_field(e, -EINVAL, name, "%s must not contain a NUL character.", name);
        return check_bounds(value, field, name, e);
}

static int check_unknown(json_t *object, const char *where, const struct json_field *fields, size_t count,
                         struct err *e) {
        const char *key;
        json_t *value;
        json_object_foreach(object, key, value) {
                size_t i = 0;
                while (i < count && strcmp(fields[i].name, key) != 0)
                        i++;
                if (i < count)
                        continue;
                char name[sizeof(e->field)];
                snprintf(name, sizeof(name), "%s%s", where, key);
                return err_set_field(e, -EINVAL, name, "There is no field \"%s\" here.", name);
        }
        return 0;
}

int json_decode(json_t *object, const char *where, const struct json_field *fields, size_t count, struct err *e) {
        int r = check_unknown(object, where, fields, count, e);
        for (size_t i = 0; r == 0 && i < count; i++) {
                json_t *value = json_object_get(object, fields[i].name);
                char name[sizeof(e->field)];
                snprintf(name, sizeof(name), "%s%s", where, fields[i].name);
                if (json_is_null(value) && fields[i].null_allowed)
                        value = NULL;
                if (fields[i].value)
                        *fields[i].value = value;
                if (value)
                        r = check_member(value, &fields[i], name, e);
                else if (fields[i].required)
                        r = err_set_field(e, -EINVAL, name, "%s is required.", name);
        }
        return r;
}

/* ---- requests */

static bool is_json(const char *content_type) {
        static const char wanted[] = "application/json";
        size_t length = strcspn(content_type, "; \t");
        return length == strlen(wanted) && strncasecmp(content_type, wanted, length) == 0;
}

/* A member that could not even be parsed, such as 1e999, has more to be said of it than that. */
static void explain_by_table(const struct json_field *fields, size_t count, struct err *e) {
        for (size_t i = 0; i < count; i++)
                if (fields[i].expected && strcmp(fields[i].name, e->field) == 0)
                        err_set_field(e, e->code, fields[i].name, "%s must be %s.", fields[i].name, fields[i].expected);
}

static bool decode_request(struct http_request *request, const struct json_field *fields, size_t count,
                           unsigned values_max, json_t **ret) {
        const char *content_type = http_header(request, "Content-Type");
        const char *encoding = http_header(request, "Content-Encoding");
        struct err e = {.code = 0};
        json_t *object = NULL;

        if (content_type && !is_json(content_type)) {
                http_reply_error(request, HTTP_UNSUPPORTED_MEDIA_TYPE, NULL,
                                 "Send the body as JSON, with the header \"Content-Type: application/json\".");
                return false;
        }
        if (encoding && strcasecmp(encoding, "identity") != 0) {
                http_reply_error(request, HTTP_UNSUPPORTED_MEDIA_TYPE, NULL,
                                 "Send the body without Content-Encoding; compressed bodies are not accepted.");
                return false;
        }
        int r = parse_object(request->body, request->body_length, values_max, &object, &e);
        if (r == 0)
                r = json_decode(object, "", fields, count, &e);
        else
                explain_by_table(fields, count, &e);
        if (r < 0) {
                json_decref(object);
                http_reply_error(request, r == -ENOMEM ? HTTP_OVERLOADED : HTTP_INVALID_REQUEST, e.field, "%s",
                                 e.message);
                return false;
        }
        http_release_body(request); /* a run may last, and the members are copies */
        *ret = object;
        return true;
}

bool json_decode_request(struct http_request *request, const struct json_field *fields, size_t count, json_t **ret) {
        return decode_request(request, fields, count, JSON_VALUES_MAX, ret);
}

bool json_decode_request_many(struct http_request *request, const struct json_field *fields, size_t count,
                              json_t **ret) {
        return decode_request(request, fields, count, JSON_VALUES_MANY, ret);
}

/* ---- text of any kind */

json_t *json_string_lossy(const char *bytes, size_t length) {
        size_t valid_length = text_valid_prefix(bytes, length);
        if (valid_length == length)
                return json_stringn_nocheck(bytes, length);

        CLEANUP_FREE char *text = malloc(length * strlen(TEXT_REPLACEMENT));
        if (!text)
                return NULL;
        char *to = text;
        while (length) {
                bool valid;
                size_t count = text_step((const unsigned char *)bytes, length, &valid);
                if (count == 0) /* a character that the end cuts off */
                        count = length;
                to = valid ? mempcpy(to, bytes, count) : mempcpy(to, TEXT_REPLACEMENT, strlen(TEXT_REPLACEMENT));
                bytes += count;
                length -= count;
        }
        return json_stringn_nocheck(text, (size_t)(to - text));
}
