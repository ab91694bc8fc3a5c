/*
 * platformctl version.
 */
#include <curl/curl.h>
#include <jansson.h>

#include "cli/commands.h"
#include "cli/output.h"

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        (void)values;
        (void)argc;
        (void)argv;
        fprintf(cli->out.file, "platformctl %s (libcurl %s, jansson %s)\n", PRODUCT_VERSION,
                curl_version_info(CURLVERSION_NOW)->version, JANSSON_VERSION);
        return EXIT_SUCCESS;
}

const struct command cmd_version = {
        .name = "version",
        .summary = "show the version of platformctl",
        .usage = "",
        .description = "Shows the version of this program and of the libraries that it uses. So\n"
                       "does `platformctl --version`.\n",
        .examples = "  platformctl version\n",
        .run = run,
};
