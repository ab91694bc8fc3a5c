/* Commands that list, show or change what the service keeps; see resource.h. */
#include "cli/resource.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/service.h"

#define PAGE_MAX ((size_t)200)     /* the most that every list of the service takes */
#define LIST_MAX ((size_t)1000000) /* a service that always says that there is more must come to an end */
#define TIME_LENGTH strlen("2026-01-31T09:30:00")

static void decref(json_t **value) {
        json_decref(*value);
}

int resource_finish(struct cli *cli, bool json, json_t *answer, int result) {
        if (result == 0 && json)
                result = answer ? print_json(cli, answer) : 0;
        json_decref(answer);
        return result < 0 ? write_failed(cli, result) : EXIT_SUCCESS;
}

/* ---- lists */

/* A list while its pages come in. */
struct listing {
        struct cli *cli;
        const struct resource *resource;
        const struct resource_options *options;
        const char *path;
        json_t *whole;   /* the first answer */
        json_t *entries; /* the list in it, grown by those of the other pages; borrowed */
        bool more;
};

/* "?limit=..&agent=..&after=.." as far as they are wanted; on the heap, or NULL. */
static char *page_path(const struct listing *listing, const char *after) {
        const struct resource_options *options = listing->options;
        size_t have = json_array_size(listing->entries), limit = PAGE_MAX;
        char *words[] = {(char *)(options->agent ? options->agent : ""), (char *)after};
        CLEANUP_FREE char *agent = options->agent ? resource_expand("&agent={0}", words, true) : strdup("");
        CLEANUP_FREE char *tail = *after ? resource_expand("&after={1}", words, true) : strdup("");
        char *path = NULL;
        if (!listing->resource->is_paged)
                return strdup(listing->path);
        if (options->limit > 0 && options->limit - have < limit)
                limit = options->limit - have;
        const char *latest = listing->resource->has_versions && !options->all ? "&latest=1" : "";
        if (!agent || !tail ||
            asprintf(&path, "%s?limit=%zu%s%s%s", listing->path, limit, latest, agent, tail) < 0)
                return NULL;
        return path;
}

/* One page; `after` becomes the place of the next one, "" behind the last. 0 or an exit code. */
static int fetch_page(struct listing *listing, char **after) {
        CLEANUP_FREE char *path = page_path(listing, *after);
        CLEANUP(decref) json_t *answer = NULL;
        int code = path ? service_get(listing->cli, path, &answer)
                        : say_error(listing->cli, EX_SOFTWARE, "out of memory");
        if (code != 0)
                return code;
        json_t *page = json_object_get(answer, listing->resource->list);
        const char *next = json_text(answer, "next");
        if (!json_is_array(page) || (*next && json_array_size(page) == 0))
                return say_error(listing->cli, EX_PROTOCOL, "%s answers without a list of %s that makes sense",
                                 http_client_url(listing->cli->client), listing->resource->list);
        free(*after);
        *after = strdup(next);
        if (listing->whole) {
                json_array_extend(listing->entries, page);
                json_object_set(listing->whole, "next", json_object_get(answer, "next"));
        } else {
                listing->entries = page;
                listing->whole = TAKE_PTR(answer);
        }
        return *after ? 0 : say_error(listing->cli, EX_SOFTWARE, "out of memory");
}

static int fetch_list(struct listing *listing) {
        size_t limit = listing->options->limit > 0 ? listing->options->limit : LIST_MAX;
        CLEANUP_FREE char *after = strdup("");
        int code;
        do
                code = after ? fetch_page(listing, &after) : EX_SOFTWARE;
        while (code == 0 && *after && json_array_size(listing->entries) < limit);
        listing->more = code == 0 && *after;
        return code;
}

static void add_cell(struct table *table, enum column_kind kind, const json_t *value) {
        CLEANUP_FREE char *time = NULL;
        const char *text = json_string_value(value);
        switch (kind) {
        case COLUMN_TIME:
                time = strndup(text ? text : "-", TIME_LENGTH);
                if (time && strlen(time) == TIME_LENGTH && time[10] == 'T')
                        time[10] = ' ';
                table_add(table, "%s", time ? time : "-");
                return;
        case COLUMN_BYTES:
                table_add(table, "%s", human_bytes(json_number_value(value)));
                return;
        case COLUMN_SECONDS:
                table_add(table, "%.0f s", json_number_value(value));
                return;
        case COLUMN_FLAG:
                table_add(table, "%s", json_is_true(value) ? "yes" : "no");
                return;
        case COLUMN_PLAIN:
                break;
        }
        if (json_is_integer(value))
                table_add(table, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        else
                table_add(table, "%s", text && *text ? text : "-");
}

static void print_table(struct cli *cli, const struct resource *resource, const json_t *entries) {
        CLEANUP(table_deinit) struct table table;
        size_t i;
        json_t *entry;
        table_init(&table, resource->columns_count);
        for (size_t j = 0; j < resource->columns_count; j++)
                table_add(&table, "%s", resource->columns[j].heading);
        json_array_foreach(entries, i, entry) {
                for (size_t j = 0; j < resource->columns_count; j++)
                        add_cell(&table, resource->columns[j].kind,
                                 json_object_get(entry, resource->columns[j].member));
        }
        table_print(&table, cli, true);
}

static void say_more(struct cli *cli, const struct listing *listing) {
        const struct resource *resource = listing->resource;
        if (listing->more)
                say_note(cli, "there are more than these %zu %s", json_array_size(listing->entries),
                         resource->many ? resource->many : resource->list);
}

int resource_list(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        const struct resource *resource = cli->command->data;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, resource->path, argv, &code);
        (void)argc;
        if (!path)
                return code;
        struct listing listing = {.cli = cli, .resource = resource, .options = options, .path = path};
        code = fetch_list(&listing);
        if (code == 0 && !options->json) {
                if (json_array_size(listing.entries) > 0)
                        print_table(cli, resource, listing.entries);
                else
                        say_note(cli, "%s", resource->none);
                say_more(cli, &listing);
        }
        if (code == 0)
                return resource_finish(cli, options->json, listing.whole, 0);
        json_decref(listing.whole);
        return code;
}

/* ---- one thing */

/* Fetches the list that goes with it and puts it into the answer. */
static int add_part(struct cli *cli, const struct resource *part, const struct resource_options *options, char **words,
                    json_t *answer) {
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, part->path, words, &code);
        if (!path)
                return code;
        struct listing listing = {.cli = cli, .resource = part, .options = options, .path = path};
        code = fetch_list(&listing);
        if (code == 0) {
                json_object_set(answer, part->list, listing.entries);
                say_more(cli, &listing);
        }
        json_decref(listing.whole);
        return code;
}

static void show(struct cli *cli, const struct resource *resource, json_t *answer) {
        json_t *list = NULL;
        if (resource->part) {
                list = json_incref(json_object_get(answer, resource->part->list));
                json_object_del(answer, resource->part->list);
        }
        render_object(cli, answer);
        if (json_array_size(list) > 0) {
                fputc('\n', cli->out.file);
                print_table(cli, resource->part, list);
        }
        json_decref(list);
}

int resource_show(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        const struct resource *resource = cli->command->data;
        json_t *answer = NULL;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, resource->path, argv, &code);
        (void)argc;
        if (!path)
                return code;
        code = service_get(cli, path, &answer);
        if (code == 0 && resource->part)
                code = add_part(cli, resource->part, options, argv, answer);
        if (code == 0 && !options->json)
                show(cli, resource, answer);
        if (code == 0)
                return resource_finish(cli, options->json, answer, 0);
        json_decref(answer);
        return code;
}

/* ---- changes */

int resource_change(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        const struct resource *resource = cli->command->data;
        json_t *answer = NULL;
        long status = 0;
        int r = 0, code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, resource->path, argv, &code);
        (void)argc;
        if (!path)
                return code;
        json_t *body = resource->body ? resource->body(options, argv) : NULL;
        if (resource->body && !body)
                return say_error(cli, EX_USAGE, "a word on the command line is not UTF-8");
        code = service_call(cli, resource->method, path, body, 0, &status, &answer);
        if (code != 0)
                return code;
        if (!answer && resource->answer)
                answer = resource->answer(argv);
        if (!options->json && resource->say) {
                r = resource->say(cli, status, answer, argv);
        } else if (!options->json) {
                CLEANUP_FREE char *text = resource_expand(resource->said, argv, false);
                say_note(cli, "%s", text ? text : "done");
        }
        return resource_finish(cli, options->json, answer, r);
}
