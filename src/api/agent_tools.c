/* Declared tools; see agent_tools.h. */
#include "api/agent_tools.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "api/names.h"
#include "base/cleanup.h"

#define TOOL_NAME_MAX 64 /* what the APIs of models take */
#define ENTRYPOINT_MAX 512
#define DESCRIPTION_MAX 8192
/* The service's own tool, beside which the agent's stand. */
#define RESERVED_NAME "run_python"

/* "name" or "package.module": identifiers of ASCII, with points between them. Returns what stands after it. */
static const char *skip_dotted(const char *text) {
        for (;;) {
                size_t length = strspn(text, NAME_LETTERS NAME_DIGITS "_");
                if (length == 0 || strchr(NAME_DIGITS, text[0]))
                        return NULL;
                text += length;
                if (*text != '.')
                        return text;
                text++;
        }
}

/* "module:function" */
static bool is_entrypoint(const char *text) {
        const char *function = skip_dotted(text);
        if (!function || *function++ != ':')
                return false;
        const char *end = skip_dotted(function);
        return end && !*end;
}

static int refuse(struct err *e, const char *where, const char *member, const char *why) {
        char field[sizeof(e->field)];
        snprintf(field, sizeof(field), "%s%s", where, member);
        return err_set_field(e, -EINVAL, field, "%s %s.", field, why);
}

static int check_name(const json_t *tools, size_t index, const char *where, const char *name, struct err *e) {
        if (!name_is_of(name, NAME_LETTERS NAME_DIGITS "_-", NAME_LETTERS NAME_DIGITS "_-", TOOL_NAME_MAX))
                return refuse(e, where, "name", "must be 1 to 64 characters of A-Z, a-z, 0-9, \"_\" and \"-\"");
        if (strcmp(name, RESERVED_NAME) == 0)
                return refuse(e, where, "name", "must not be \"" RESERVED_NAME "\", which is the service's own tool");
        for (size_t i = 0; i < index; i++) {
                const char *other = json_string_value(json_object_get(json_array_get(tools, i), "name"));
                if (other && strcmp(other, name) == 0)
                        return refuse(e, where, "name", "stands twice in the list; each tool needs a name of its own");
        }
        return 0;
}

static int check_parameters(json_t *tool, const json_t *parameters, const char *where, struct err *e) {
        if (!parameters) {
                json_t *none = json_pack("{s:s, s:{}}", "type", "object", "properties");
                return json_object_set_new(tool, "parameters", none) < 0 ? -ENOMEM : 0;
        }
        const char *type = json_string_value(json_object_get(parameters, "type"));
        const json_t *properties = json_object_get(parameters, "properties");
        if (!type || strcmp(type, "object") != 0)
                return refuse(e, where, "parameters",
                              "must be a JSON Schema of an object: {\"type\": \"object\", \"properties\": {…}}");
        if (properties && !json_is_object(properties))
                return refuse(e, where, "parameters.properties", "must be an object");
        return 0;
}

static int take_tool(json_t *tools, size_t index, struct err *e) {
        json_t *tool = json_array_get(tools, index), *name, *entrypoint, *description, *parameters;
        const struct json_field fields[] = {
                {.name = "name", .want = JSON_WANT_STRING, .required = true, .value = &name},
                {.name = "entrypoint",
                 .want = JSON_WANT_STRING,
                 .required = true,
                 .max = ENTRYPOINT_MAX,
                 .value = &entrypoint},
                {.name = "description", .want = JSON_WANT_STRING, .max = DESCRIPTION_MAX, .value = &description},
                {.name = "parameters", .want = JSON_WANT_OBJECT, .value = &parameters},
        };
        char where[32];

        snprintf(where, sizeof(where), "tools[%zu]", index);
        if (!json_is_object(tool))
                return refuse(e, where, "", "must be an object with `name` and `entrypoint`");
        snprintf(where, sizeof(where), "tools[%zu].", index);
        int r = json_decode(tool, where, fields, ARRAY_SIZE(fields), e);
        if (r == 0)
                r = check_name(tools, index, where, json_string_value(name), e);
        if (r == 0 && !is_entrypoint(json_string_value(entrypoint)))
                r = refuse(e, where, "entrypoint", "must be \"module:function\", such as \"shop.tools:find_order\"");
        if (r == 0 && !description && json_object_set_new(tool, "description", json_string("")) < 0)
                r = -ENOMEM;
        return r == 0 ? check_parameters(tool, parameters, where, e) : r;
}

int agent_tools_take(json_t *tools, char **ret, struct err *e) {
        for (size_t i = 0; i < json_array_size(tools); i++) {
                int r = take_tool(tools, i, e);
                if (r < 0)
                        return r;
        }
        *ret = json_dumps(tools, JSON_COMPACT);
        return *ret ? 0 : -ENOMEM;
}
