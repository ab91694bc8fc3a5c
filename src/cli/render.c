/* Shows an answer of the service to people; see render.h. */
#include "cli/render.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/output.h"

#define COLUMNS_MAX 8
#define DEPTH_MAX 4

/* Endings of names that say what a number counts; in the table it stands behind the number. */
static const struct {
        const char *ending, *unit;
} units[] = {{"_s", " s"}, {"_ms", " ms"}, {"_percent", " %"}};

static bool ends_with(const char *name, const char *ending) {
        size_t length = strlen(name), wanted = strlen(ending);
        return length > wanted && strcmp(name + length - wanted, ending) == 0;
}

static const char *unit_of(const char *name, size_t *ret_ending) {
        *ret_ending = 0;
        for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
                if (!ends_with(name, units[i].ending))
                        continue;
                *ret_ending = strlen(units[i].ending);
                return units[i].unit;
        }
        return "";
}

/* "output_keep_bytes" → "output keep bytes", "uptime_s" → "uptime": names of the API as people read them. */
static char *label_of(const char *name) {
        size_t ending;
        unit_of(name, &ending);
        char *label = strndup(name, strlen(name) - ending);
        for (char *c = label; c && *c; c++)
                if (*c == '_')
                        *c = ' ';
        return label;
}

/* A JSON Schema of an object: what its members are called. */
static void add_schema(struct table *table, const json_t *properties) {
        CLEANUP_FREE char *names = strdup("");
        const char *name;
        json_t *schema;
        json_object_foreach((json_t *)properties, name, schema) {
                char *longer = NULL;
                if (!names || asprintf(&longer, "%s%s%s", names, *names ? ", " : "", name) < 0)
                        return;
                free(names);
                names = longer;
        }
        table_add(table, "%s", names && *names ? names : "-");
}

static void add_value(struct table *table, const char *name, const json_t *value) {
        size_t ending;
        const char *unit = unit_of(name, &ending);
        if (json_is_string(value))
                table_add(table, "%s", json_string_value(value));
        else if (json_is_boolean(value))
                table_add(table, "%s", json_is_true(value) ? "yes" : "no");
        else if (json_is_null(value))
                table_add(table, "-");
        else if (json_is_number(value) && ends_with(name, "_bytes"))
                table_add(table, "%s", human_bytes(json_number_value(value)));
        else if (json_is_integer(value))
                table_add(table, "%" JSON_INTEGER_FORMAT "%s", json_integer_value(value), unit);
        else if (json_is_real(value))
                table_add(table, "%g%s", json_real_value(value), unit);
        else if (json_is_object(json_object_get(value, "properties")))
                add_schema(table, json_object_get(value, "properties"));
        else
                table_add(table, "(%zu)", json_is_array(value) ? json_array_size(value) : json_object_size(value));
}

/* A list of objects: the names of the first one's members are the headings. A list of plain values: one a line. */
static void render_list(struct cli *cli, const json_t *list) {
        CLEANUP(table_deinit) struct table table;
        const json_t *first = json_array_get(list, 0);
        const char *names[COLUMNS_MAX], *name;
        size_t columns = 0, i;
        json_t *value, *item;
        json_object_foreach((json_t *)first, name, value) if (columns < COLUMNS_MAX) names[columns++] = name;
        table_init(&table, columns > 0 ? columns : 1);
        for (size_t j = 0; j < columns; j++) {
                CLEANUP_FREE char *label = label_of(names[j]);
                table_add(&table, "%s", label ? label : names[j]);
        }
        json_array_foreach(list, i, item) {
                for (size_t j = 0; j < columns; j++)
                        add_value(&table, names[j], json_object_get(item, names[j]));
                if (columns == 0)
                        add_value(&table, "", item);
        }
        table_print(&table, cli, columns > 0);
}

static void render_level(struct cli *cli, const char *title, const json_t *object, int depth) {
        CLEANUP(table_deinit) struct table table;
        const char *name;
        json_t *value;
        table_init(&table, 2);
        json_object_foreach((json_t *)object, name, value) {
                if (json_is_object(value) || json_is_array(value))
                        continue;
                CLEANUP_FREE char *label = label_of(name);
                table_add(&table, "  %s", label ? label : name);
                add_value(&table, name, value);
        }
        if (table.count > 0 && title) {
                fputc('\n', cli->out.file);
                print_painted(&cli->out, PAINT_BOLD, title);
                fputc('\n', cli->out.file);
        }
        table_print(&table, cli, false);
        json_object_foreach((json_t *)object, name, value) {
                CLEANUP_FREE char *label = label_of(name);
                if (json_is_object(value) && depth < DEPTH_MAX) {
                        render_level(cli, label, value, depth + 1);
                } else if (json_is_array(value)) {
                        fputc('\n', cli->out.file);
                        print_painted(&cli->out, PAINT_BOLD, label ? label : name);
                        fprintf(cli->out.file, "%s\n", json_array_size(value) == 0 ? ": none" : "");
                        render_list(cli, value);
                }
        }
}

void render_object(struct cli *cli, const json_t *object) {
        render_level(cli, NULL, object, 0);
}
