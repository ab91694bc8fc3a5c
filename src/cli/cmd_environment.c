/*
 * platformctl environment: what a snippet finds in its sandbox.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/service.h"

struct environment_options {
        bool json;
};

static const struct option_row rows[] = {
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct environment_options, json),
         "print the service's answer as JSON"},
};

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct environment_options *options = values;
        json_t *answer = NULL;
        (void)argc;
        (void)argv;
        int code = service_get(cli, "/v1/environment", &answer);
        if (code != 0)
                return code;
        int r = 0;
        if (options->json)
                r = print_json(cli, answer);
        else
                render_object(cli, answer);
        json_decref(answer);
        return r < 0 ? write_failed(cli, r) : EXIT_SUCCESS;
}

const struct command cmd_environment = {
        .name = "environment",
        .summary = "show Python, packages and limits of the sandboxes",
        .usage = "[--json]",
        .description = "Shows which Python and which packages a snippet finds in its sandbox, and the\n"
                       "limits in force.\n",
        .examples = "  platformctl environment\n"
                    "  platformctl environment --json | jq -r .packages.pandas\n",
        .options = rows,
        .options_count = ARRAY_SIZE(rows),
        .values_size = sizeof(struct environment_options),
        .run = run,
};
