/* What all front doors share; see door.h. */
#include "api/door.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "run/base64.h"

static const struct {
        const char *name;
        const char *headers[3]; /* that carry the key and nothing else */
        bool bare;              /* Authorization may be the key alone, without a scheme */
        const char *place;
} doors[DOORS] = {
        [DOOR_E2B] = {"e2b", {"X-API-Key", "E2B-Traffic-Access-Token", "X-Access-Token"}, false, "X-API-Key: KEY"},
        [DOOR_DIFY] = {"dify", {"X-Api-Key"}, false, "X-Api-Key: KEY"},
        [DOOR_PISTON] = {"piston", {NULL}, true, "Authorization: KEY"},
        [DOOR_AZURE] = {"azure", {NULL}, false, "Authorization: Bearer KEY"},
};

const char *door_name(enum door door) {
        return doors[door].name;
}

const char *door_key_place(enum door door) {
        return doors[door].place;
}

bool door_is_open(const struct config *config, enum door door) {
        return config_front_door(config, doors[door].name);
}

/* ---- keys */

/* What follows "SCHEME " in a header, or NULL. */
static const char *of_scheme(const char *header, const char *scheme) {
        size_t length = strlen(scheme);
        if (strncasecmp(header, scheme, length) != 0)
                return NULL;
        size_t spaces = strspn(header + length, " ");
        return spaces && header[length + spaces] ? header + length + spaces : NULL;
}

/* The password of "Basic NAME:PASSWORD": for clients that can be given an address and nothing else. */
static const char *password(const char *text, char *storage) {
        size_t length = strlen(text), wrong;
        if (BASE64_DECODED_MAX(length) >= DOOR_KEY_BYTES ||
            base64_decode(text, length, (unsigned char *)storage, &length, &wrong) < 0)
                return NULL;
        storage[length] = '\0';
        const char *colon = strchr(storage, ':');
        return colon && colon[1] ? colon + 1 : NULL;
}

const char *door_key(const struct http_request *request, char *storage) {
        enum door door = route_door(request->route);
        for (size_t i = 0; i < ARRAY_SIZE(doors[door].headers) && doors[door].headers[i]; i++) {
                const char *key = http_header(request, doors[door].headers[i]);
                if (key && *key)
                        return key;
        }
        const char *header = http_header(request, "Authorization");
        if (!header)
                return NULL;
        const char *basic = of_scheme(header, "Basic"), *bearer = of_scheme(header, "Bearer");
        if (basic) /* which a browser may remember, and send with what a page of somebody else's asks for */
                return http_header(request, "Origin") ? NULL : password(basic, storage);
        return bearer || !doors[door].bare ? bearer : header;
}

/* ---- errors */

/* "invalid_request" as "InvalidRequest". */
static void to_camel_case(const char *type, char *to, size_t size) {
        bool up = true;
        size_t used = 0;
        for (; *type && used + 1 < size; type++) {
                if (*type != '_')
                        to[used++] = (char)(up ? toupper((unsigned char)*type) : *type);
                up = *type == '_';
        }
        to[used] = '\0';
}

json_t *door_error_body(enum door door, unsigned status, const char *type, const char *message) {
        char code[64];
        switch (door) {
        case DOOR_E2B:
                return json_pack("{s:i, s:s}", "code", (int)status, "message", message);
        case DOOR_DIFY:
                return json_pack("{s:i, s:s, s:n}", "code", -(int)status, "message", message, "data");
        case DOOR_PISTON:
                return json_pack("{s:s}", "message", message);
        default:
                to_camel_case(type, code, sizeof(code));
                return json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message);
        }
}

/* Dify reads the body of 200 only, and of all other statuses shows nothing but their number. */
unsigned door_error_status(enum door door, unsigned status) {
        return door == DOOR_DIFY && (status == 400 || status == 429) ? 200 : status;
}

/* ---- fields */

bool door_is_set(const json_t *value) {
        switch (value ? json_typeof(value) : JSON_NULL) {
        case JSON_NULL:
        case JSON_FALSE:
                return false;
        case JSON_STRING:
                return json_string_length(value) > 0;
        case JSON_ARRAY:
                return json_array_size(value) > 0;
        case JSON_OBJECT:
                return json_object_size(value) > 0;
        default:
                return true;
        }
}

static bool is_known(const char *name, const char *const *known) {
        for (; *known; known++)
                if (strcmp(*known, name) == 0)
                        return true;
        return false;
}

int door_check_fields(const json_t *object, const char *const *known, struct err *e) {
        const char *name;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)object, name, value) {
                if (!is_known(name, known) && door_is_set(value))
                        return err_set_field(
                                e, -EINVAL, name,
                                "%.64s is not supported here: leave it out. This front door covers a part of "
                                "its protocol only; docs/front-doors.md says which.",
                                name);
        }
        return 0;
}

int door_text(const json_t *object, const char *name, const char **ret, struct err *e) {
        json_t *value;
        int r = door_bytes(object, name, &value, e);
        *ret = json_string_value(value);
        if (r == 0 && *ret && strlen(*ret) != json_string_length(value))
                return err_set_field(e, -EINVAL, name, "%s must not contain a NUL character.", name);
        return r;
}

int door_bytes(const json_t *object, const char *name, json_t **ret, struct err *e) {
        json_t *value = json_object_get(object, name);
        *ret = NULL;
        if (!door_is_set(value))
                return 0;
        if (!json_is_string(value))
                return err_set_field(e, -EINVAL, name, "%s must be a text.", name);
        *ret = value;
        return 0;
}

int door_number(const json_t *object, const char *name, double fallback, double *ret, struct err *e) {
        const json_t *value = json_object_get(object, name);
        *ret = fallback;
        if (!value || json_is_null(value))
                return 0;
        if (!json_is_number(value))
                return err_set_field(e, -EINVAL, name, "%s must be a number.", name);
        *ret = json_number_value(value);
        return 0;
}
