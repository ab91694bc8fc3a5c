/*
 * platformctl files: what the runs of a conversation wrote and the service keeps.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/resource.h"
#include "cli/service.h"
#include "cli/utf8.h"

#define DOWNLOAD_S 300

static const struct option_row list_rows[] = {
        RESOURCE_JSON,
        RESOURCE_LIMIT,
        {"all", 0, OPTION_FLAG, NULL, offsetof(struct resource_options, all),
         "every version, not only the last of each name"},
};

static const struct resource_column columns[] = {{"file_id", "file", COLUMN_PLAIN},
                                                 {"name", "name", COLUMN_PLAIN},
                                                 {"size", "size", COLUMN_BYTES},
                                                 {"media_type", "type", COLUMN_PLAIN},
                                                 {"created_at", "written (UTC)", COLUMN_TIME}};

static const struct command files_list = {
        .name = "list",
        .summary = "list the files of a conversation",
        .usage = "[--json] [--limit N] [--all] CONVERSATION",
        .description = "Lists the files that the runs of a conversation wrote, latest first. Of a file\n"
                       "that was written again the last version is listed, or every one with --all.\n",
        .examples = "  platformctl files list talk-1\n"
                    "  platformctl files list talk-1 --json | jq -r '.files[].file_id'\n",
        RESOURCE_OPTIONS(list_rows),
        COMMAND_WORDS(1),
        .run = resource_list,
        .data = &(const struct resource){.path = "/v1/conversations/{0}/files",
                                         .list = "files",
                                         .none = "this conversation has no files",
                                         .is_paged = true,
                                         .has_versions = true,
                                         RESOURCE_COLUMNS(columns)},
};

/* ---- get */

static const struct option_row get_rows[] = {
        {"out", 'o', OPTION_TEXT, "FILE", offsetof(struct resource_options, out), "save it as FILE"},
        {"force", 0, OPTION_FLAG, NULL, offsetof(struct resource_options, force), "let --out overwrite a file"},
};

static int put_on_output(struct cli *cli, const struct http_reply *reply) {
        bool is_text = !memchr(reply->body, '\0', reply->body_length) &&
                       utf8_valid_prefix(reply->body, reply->body_length) == reply->body_length;
        if (!is_text && cli->out.filter)
                return say_error(cli, EX_USAGE, "this file is no text for a terminal (%s): save it with --out FILE",
                                 human_bytes((double)reply->body_length));
        int r = terminal_write(&cli->out, reply->body, reply->body_length);
        return r < 0 ? write_failed(cli, r) : EXIT_SUCCESS;
}

static int save(struct cli *cli, const struct resource_options *options, const struct http_reply *reply) {
        struct err e = {0};
        if (paths_write_path(options->out, reply->body, reply->body_length, options->force, &e) < 0)
                return say_error(cli, EX_CANTCREAT, "%s was not saved: %s", options->out, e.message);
        say_note(cli, "saved %s (%s)", options->out, human_bytes((double)reply->body_length));
        return EXIT_SUCCESS;
}

static void on_received(void *user, uint64_t received, uint64_t total) {
        progress_transfer(user, "fetching the file", (double)received, (double)total);
}

static int get(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        struct err e = {0};
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, "/v1/files/{0}", argv, &code);
        struct progress progress;
        const struct http_call call = {
                .method = "GET", .path = path, .timeout_s = DOWNLOAD_S, .on_received = on_received, .user = &progress};
        (void)argc;
        if (path)
                code = service_open(cli);
        if (code != 0)
                return code;
        progress_init(&progress, cli, false);
        int r = http_client_call(cli->client, &call, &reply, &e);
        progress_end(&progress);
        if (r != 0)
                return service_explain_call(cli, r, &e);
        if (reply.status != 200) {
                json_t *answer = service_parse(reply.body, reply.body_length);
                code = service_explain_status(cli, reply.status, answer);
                json_decref(answer);
                return code;
        }
        bool to_output = !options->out || strcmp(options->out, "-") == 0;
        return to_output ? put_on_output(cli, &reply) : save(cli, options, &reply);
}

static const struct command files_get = {
        .name = "get",
        .summary = "fetch a file",
        .usage = "[-o FILE [--force]] FILE_ID",
        .description = "Fetches a file by its id, to standard output or with -o into FILE, whole or not\n"
                       "at all. A file that is there is not overwritten unless forced.\n",
        .examples = "  platformctl files get file_01M8NTPNEK7RB7Z7E3W9KS1B79 -o total.csv\n"
                    "  platformctl files get file_01M8NTPNEK7RB7Z7E3W9KS1B79 | head\n",
        RESOURCE_OPTIONS(get_rows),
        COMMAND_WORDS(1),
        .run = get,
};

static const struct command *const commands[] = {&files_list, &files_get};

const struct command cmd_files = {
        .name = "files",
        .summary = "list and fetch files of conversations",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "Files that the runs of a conversation wrote are kept as long as it is.\n",
        .examples = "  platformctl files list talk-1\n"
                    "  platformctl files get file_01M8NTPNEK7RB7Z7E3W9KS1B79 -o total.csv\n",
        COMMAND_CHILDREN(commands),
};
