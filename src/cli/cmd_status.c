/*
 * platformctl status: how the service is doing.
 */
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
                json_object_del(json_object_get(answer, "activity"), "minutes"); /* sixty of them: for charts */
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
