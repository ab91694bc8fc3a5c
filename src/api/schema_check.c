/* Arguments of a tool; see schema_check.h. */
#include "api/schema_check.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define PATH_BYTES 256
#define LIST_BYTES 256

struct checker {
        const json_t *root; /* of the schema */
        char path[PATH_BYTES];
        unsigned depth, steps;
        struct err *e;
};

typedef int (*check_fn)(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value);

static int check(struct checker *c, const json_t *schema, const json_t *value);

__attribute__((format(printf, 2, 3))) static int refuse(struct checker *c, const char *format, ...) {
        char what[400];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(what, sizeof(what), format, arguments);
        va_end(arguments);
        return err_set_field(c->e, -EINVAL, c->path, "%s %s.", c->path, what);
}

/* ---- the place, as it is named */

static size_t enter_member(struct checker *c, const char *name) {
        size_t length = strlen(c->path);
        snprintf(c->path + length, sizeof(c->path) - length, ".%s", name);
        return length;
}

static size_t enter_item(struct checker *c, size_t index) {
        size_t length = strlen(c->path);
        snprintf(c->path + length, sizeof(c->path) - length, "[%zu]", index);
        return length;
}

static int leave(struct checker *c, size_t length, int r) {
        c->path[length] = '\0';
        return r;
}

/* ---- types */

static bool is_whole(const json_t *value) {
        return json_is_integer(value) || (json_is_real(value) && trunc(json_real_value(value)) == json_real_value(value));
}

static bool is_of_type(const char *type, const json_t *value) {
        static const struct {
                const char *name;
                json_type type;
        } plain[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY}, {"string", JSON_STRING}, {"null", JSON_NULL}};
        for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
                if (strcmp(type, plain[i].name) == 0)
                        return json_typeof(value) == plain[i].type;
        if (strcmp(type, "boolean") == 0)
                return json_is_boolean(value);
        if (strcmp(type, "number") == 0)
                return json_is_number(value);
        return strcmp(type, "integer") != 0 || is_whole(value); /* a type that is none allows everything */
}

static const char *shown_type(const char *type) {
        static const char *const names[][2] = {
                {"object", "an object"}, {"array", "a list"},          {"string", "a string"},   {"null", "null"},
                {"number", "a number"},  {"integer", "a whole number"}, {"boolean", "true or false"},
        };
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcmp(type, names[i][0]) == 0)
                        return names[i][1];
        return type;
}

static int check_type(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        char list[LIST_BYTES] = "";
        size_t i, used = 0;
        const json_t *type;
        (void)schema;
        if (json_is_string(keyword))
                return is_of_type(json_string_value(keyword), value)
                               ? 0
                               : refuse(c, "must be %s", shown_type(json_string_value(keyword)));
        json_array_foreach(keyword, i, type) {
                const char *name = json_string_value(type);
                if (!name || is_of_type(name, value))
                        return 0;
                if (used < sizeof(list))
                        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? " or " : "",
                                                 shown_type(name));
        }
        return json_array_size(keyword) > 0 ? refuse(c, "must be %s", list) : 0;
}

/* ---- fixed values */

static bool equals(const json_t *a, const json_t *b) {
        if (json_is_number(a) && json_is_number(b))
                return json_is_integer(a) && json_is_integer(b) ? json_integer_value(a) == json_integer_value(b)
                                                                : json_number_value(a) == json_number_value(b);
        return json_equal(a, b);
}

static int check_enum(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        const json_t *allowed;
        size_t i;
        (void)schema;
        if (!json_is_array(keyword))
                return 0;
        json_array_foreach(keyword, i, allowed) {
                c->steps++;
                if (equals(allowed, value))
                        return 0;
        }
        CLEANUP_FREE char *list = json_dumps(keyword, JSON_ENCODE_ANY);
        return refuse(c, "must be one of %.300s", list ? list : "those that the tool names");
}

static int check_const(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        (void)schema;
        if (equals(keyword, value))
                return 0;
        CLEANUP_FREE char *text = json_dumps(keyword, JSON_ENCODE_ANY);
        return refuse(c, "must be %.300s", text ? text : "what the tool says");
}

/* ---- objects */

static int check_properties(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        const char *name;
        json_t *property;
        (void)schema;
        if (!json_is_object(value))
                return 0;
        json_object_foreach((json_t *)keyword, name, property) {
                const json_t *member = json_object_get(value, name);
                if (!member)
                        continue;
                size_t place = enter_member(c, name);
                if (leave(c, place, check(c, property, member)) < 0)
                        return -EINVAL;
        }
        return 0;
}

static int check_required(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        const json_t *name;
        size_t i;
        (void)schema;
        if (!json_is_object(value))
                return 0;
        json_array_foreach(keyword, i, name) {
                const char *text = json_string_value(name);
                if (!text || json_object_get(value, text))
                        continue;
                size_t place = enter_member(c, text);
                return leave(c, place, refuse(c, "is missing; the tool needs it"));
        }
        return 0;
}

static int check_additional(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        const json_t *properties = json_object_get(schema, "properties");
        const char *name;
        json_t *member;
        if (!json_is_object(value) || (!json_is_false(keyword) && !json_is_object(keyword)) ||
            json_object_get(schema, "patternProperties")) /* which is not looked at, and may allow them */
                return 0;
        json_object_foreach((json_t *)value, name, member) {
                if (json_object_get(properties, name))
                        continue;
                size_t place = enter_member(c, name);
                int r = json_is_false(keyword) ? refuse(c, "is not an argument of this tool") : check(c, keyword, member);
                if (leave(c, place, r) < 0)
                        return r;
        }
        return 0;
}

/* ---- counts */

enum counted { MEMBERS, ITEMS, CHARACTERS };

static bool count(enum counted what, const json_t *value, size_t *ret) {
        if (what == MEMBERS && json_is_object(value))
                *ret = json_object_size(value);
        else if (what == ITEMS && json_is_array(value))
                *ret = json_array_size(value);
        else if (what == CHARACTERS && json_is_string(value)) {
                const char *text = json_string_value(value);
                *ret = 0;
                for (size_t i = 0; i < json_string_length(value); i++)
                        *ret += ((unsigned char)text[i] & 0xc0) != 0x80;
        } else
                return false;
        return true;
}

static int check_count(struct checker *c, enum counted what, bool is_max, const json_t *keyword, const json_t *value) {
        static const char *const names[] = {"members", "items", "characters"};
        size_t have;
        if (!json_is_number(keyword) || !count(what, value, &have))
                return 0;
        double bound = json_number_value(keyword);
        if (is_max ? (double)have <= bound : (double)have >= bound)
                return 0;
        return refuse(c, "must have at %s %g %s", is_max ? "most" : "least", bound, names[what]);
}

#define COUNT_CHECK(name, what, is_max)                                                                                \
        static int name(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {         \
                (void)schema;                                                                                          \
                return check_count(c, what, is_max, keyword, value);                                                   \
        }
COUNT_CHECK(check_min_properties, MEMBERS, false)
COUNT_CHECK(check_max_properties, MEMBERS, true)
COUNT_CHECK(check_min_items, ITEMS, false)
COUNT_CHECK(check_max_items, ITEMS, true)
COUNT_CHECK(check_min_length, CHARACTERS, false)
COUNT_CHECK(check_max_length, CHARACTERS, true)

/* ---- lists */

static int check_items(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        size_t i, first = json_array_size(json_object_get(schema, "prefixItems"));
        const json_t *item;
        if (!json_is_array(value))
                return 0;
        json_array_foreach(value, i, item) {
                if (i < first)
                        continue;
                size_t place = enter_item(c, i);
                int r = json_is_false(keyword) ? refuse(c, "is one item too many") : check(c, keyword, item);
                if (leave(c, place, r) < 0)
                        return r;
        }
        return 0;
}

static int check_prefix_items(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        size_t i;
        const json_t *item;
        (void)schema;
        json_array_foreach(keyword, i, item) {
                const json_t *member = json_array_get(value, i);
                if (!member)
                        return 0;
                size_t place = enter_item(c, i);
                if (leave(c, place, check(c, item, member)) < 0)
                        return -EINVAL;
        }
        return 0;
}

static int check_unique(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        size_t size = json_array_size(value);
        (void)schema;
        for (size_t i = 1; json_is_true(keyword) && i < size; i++)
                for (size_t j = 0; j < i; j++) {
                        if (++c->steps > SCHEMA_STEPS_MAX)
                                return refuse(c, "is too much to be checked against the tool's schema");
                        if (!equals(json_array_get(value, i), json_array_get(value, j)))
                                continue;
                        return refuse(c, "must have no item twice, but items %zu and %zu are the same", j, i);
                }
        return 0;
}

/* ---- numbers */

static int check_bound(struct checker *c, const json_t *keyword, const json_t *value, int direction, bool exclusive) {
        static const char *const words[2][2] = {{"at least", "greater than"}, {"at most", "less than"}};
        if (!json_is_number(keyword) || !json_is_number(value))
                return 0;
        double distance = (json_number_value(value) - json_number_value(keyword)) * direction;
        if (exclusive ? distance > 0 : distance >= 0)
                return 0;
        return refuse(c, "must be %s %.17g", words[direction < 0][exclusive], json_number_value(keyword));
}

#define BOUND_CHECK(name, direction, exclusive)                                                                        \
        static int name(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {         \
                (void)schema;                                                                                          \
                return check_bound(c, keyword, value, direction, exclusive);                                           \
        }
BOUND_CHECK(check_minimum, 1, false)
BOUND_CHECK(check_maximum, -1, false)
BOUND_CHECK(check_above, 1, true)
BOUND_CHECK(check_below, -1, true)

static int check_multiple(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        double step = json_number_value(keyword);
        (void)schema;
        if (!json_is_number(value) || !(step > 0))
                return 0;
        double times = json_number_value(value) / step;
        if (fabs(times - round(times)) <= 1e-9 * fmax(1, fabs(times)))
                return 0;
        return refuse(c, "must be a multiple of %.17g", step);
}

/* ---- schemas in schemas */

/* How many of the list fit; what the last that does not says goes into `e`. */
static size_t count_fitting(struct checker *c, const json_t *keyword, const json_t *value, struct err *e) {
        struct err *outer = c->e;
        const json_t *schema;
        size_t i, fitting = 0;
        c->e = e;
        json_array_foreach(keyword, i, schema)
                fitting += check(c, schema, value) == 0;
        c->e = outer;
        return fitting;
}

static int check_any(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        struct err e = {0};
        (void)schema;
        size_t size = json_array_size(keyword);
        if (size == 0 || count_fitting(c, keyword, value, &e) > 0)
                return 0;
        if (size == 1) {
                *c->e = e;
                return -EINVAL;
        }
        return refuse(c, "fits none of the %zu forms that the tool takes; of the last: %.250s", size, e.message);
}

static int check_one(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        struct err e = {0};
        (void)schema;
        size_t fitting = json_array_size(keyword) > 0 ? count_fitting(c, keyword, value, &e) : 1;
        if (fitting == 1)
                return 0;
        return refuse(c, "must fit exactly one of the forms that the tool takes, and fits %zu", fitting);
}

static int check_all(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        const json_t *part;
        size_t i;
        (void)schema;
        json_array_foreach(keyword, i, part) {
                if (check(c, part, value) < 0)
                        return -EINVAL;
        }
        return 0;
}

static int check_not(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        struct err e = {0}, *outer = c->e;
        (void)schema;
        c->e = &e;
        int r = check(c, keyword, value);
        c->e = outer;
        return r < 0 ? 0 : refuse(c, "is of a form that the tool does not take");
}

/* "#/$defs/Order": names from slash to slash, with "~1" for a slash and "~0" for "~". */
static const json_t *resolve(const json_t *root, const char *reference) {
        char name[128];
        if (reference[0] != '#')
                return NULL;
        for (const char *at = reference + 1; root && *at == '/';) {
                size_t length = 0;
                for (at++; *at && *at != '/' && length < sizeof(name) - 1; at++) {
                        bool escaped = *at == '~' && (at[1] == '0' || at[1] == '1');
                        name[length++] = escaped ? (*++at == '1' ? '/' : '~') : *at;
                }
                name[length] = '\0';
                root = json_object_get(root, name);
        }
        return root;
}

static int check_reference(struct checker *c, const json_t *schema, const json_t *keyword, const json_t *value) {
        const char *reference = json_string_value(keyword);
        const json_t *target = reference ? resolve(c->root, reference) : NULL;
        (void)schema;
        return target ? check(c, target, value) : 0;
}

/* ---- all of it */

static const struct {
        const char *name;
        check_fn check;
} keywords[] = {
        {"const", check_const},
        {"enum", check_enum},
        {"required", check_required},
        {"additionalProperties", check_additional},
        {"properties", check_properties},
        {"minProperties", check_min_properties},
        {"maxProperties", check_max_properties},
        {"minItems", check_min_items},
        {"maxItems", check_max_items},
        {"prefixItems", check_prefix_items},
        {"items", check_items},
        {"uniqueItems", check_unique},
        {"minLength", check_min_length},
        {"maxLength", check_max_length},
        {"minimum", check_minimum},
        {"maximum", check_maximum},
        {"exclusiveMinimum", check_above},
        {"exclusiveMaximum", check_below},
        {"multipleOf", check_multiple},
        {"$ref", check_reference},
        {"allOf", check_all},
        {"anyOf", check_any},
        {"oneOf", check_one},
        {"not", check_not},
};

static check_fn find_check(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
                if (strcmp(keywords[i].name, name) == 0)
                        return keywords[i].check;
        return NULL;
}

/* The type first: what it says is the plainest. */
static int check_keywords(struct checker *c, const json_t *schema, const json_t *value) {
        const json_t *type = json_object_get(schema, "type");
        const char *name;
        json_t *keyword;
        if (type && check_type(c, schema, type, value) < 0)
                return -EINVAL;
        json_object_foreach((json_t *)schema, name, keyword) {
                check_fn fn = find_check(name);
                if (fn && fn(c, schema, keyword, value) < 0)
                        return -EINVAL;
        }
        return 0;
}

static int check(struct checker *c, const json_t *schema, const json_t *value) {
        if (json_is_false(schema))
                return refuse(c, "is not taken by the tool");
        if (!json_is_object(schema))
                return 0;
        if (++c->steps > SCHEMA_STEPS_MAX)
                return refuse(c, "is too much to be checked against the tool's schema");
        if (c->depth == SCHEMA_DEPTH_MAX)
                return refuse(c, "is nested deeper than can be checked against the tool's schema");
        c->depth++;
        int r = check_keywords(c, schema, value);
        c->depth--;
        return r;
}

int schema_check(const json_t *schema, const json_t *arguments, const char *name, struct err *e) {
        struct checker c = {.root = schema, .e = e};
        snprintf(c.path, sizeof(c.path), "%s", name);
        return check(&c, schema, arguments);
}
