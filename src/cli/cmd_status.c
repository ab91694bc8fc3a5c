/*
 * platformctl status: how the service is doing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/service.h"

struct status_options {
        bool json;
};

static const struct option_row rows[] = {
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct status_options, json), "print the service's answer as JSON"},
};

/* {"wall_ms": {"p50": 1, …}, …} as rows of a table. */
static json_t *latency_rows(const json_t *latency) {
        json_t *table = json_array(), *each, *value;
        const char *name, *part;
        json_object_foreach((json_t *)latency, name, each) {
                size_t length = strlen(name) - (strlen(name) > 3 ? strlen("_ms") : 0);
                json_t *row = json_pack("{s:s%}", "of", name, length);
                json_object_foreach(each, part, value) {
                        CLEANUP_FREE char *key = NULL;
                        if (asprintf(&key, "%s_ms", part) < 0)
                                key = NULL;
                        else
                                json_object_set(row, key, value);
                }
                json_array_append_new(table, row);
        }
        return table;
}

/* Takes what is for charts out of the answer, and gives what is left the names that people know it by. */
static void prepare_for_people(json_t *answer) {
        json_t *activity = json_object_get(answer, "activity"), *sessions = json_object_get(answer, "sessions");
        json_t *list = json_incref(json_object_get(sessions, "list")), *session;
        size_t i;
        json_object_del(activity, "minutes"); /* sixty of them */
        if (json_object_get(activity, "latency"))
                json_object_set_new(answer, "time taken", latency_rows(json_object_get(activity, "latency")));
        json_object_del(activity, "latency");
        json_object_del(sessions, "list");
        json_array_foreach(list, i, session) json_object_del(session, "created_ms");
        if (json_array_size(list) > 0)
                json_object_set(answer, "live sessions", list);
        json_decref(list);
}

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct status_options *options = values;
        json_t *answer = NULL;
        (void)argc;
        (void)argv;
        int code = service_get(cli, "/v1/status", &answer);
        if (code != 0)
                return code;
        int r = 0;
        if (options->json) {
                r = print_json(cli, answer);
        } else {
                prepare_for_people(answer);
                fprintf(cli->out.file, "%s\n", http_client_url(cli->client));
                render_object(cli, answer);
        }
        json_decref(answer);
        return r < 0 ? write_failed(cli, r) : EXIT_SUCCESS;
}

const struct command cmd_status = {
        .name = "status",
        .summary = "show pool, queue and running sandboxes of the service",
        .usage = "[--json]",
        .description = "Shows how the service is doing: warm pool, queue, running sandboxes, template.\n"
                       "Needs an admin key.\n",
        .examples = "  platformctl status\n"
                    "  platformctl status --url https://sandbox.example.org --json\n",
        .options = rows,
        .options_count = ARRAY_SIZE(rows),
        .values_size = sizeof(struct status_options),
        .run = run,
};
