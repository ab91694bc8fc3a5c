/*
 * platformctl audit: who did what, and whether that record is whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/audit_check.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/resource.h"
#include "cli/service.h"

#define LIST_DEFAULT 50
#define FILE_MAX (UINT64_C(1) << 30)
#define DOWNLOAD_S 300
#define NAME_BYTES 64

/* ---- list */

static const struct option_row list_rows[] = {
        RESOURCE_JSON,
        {"limit", 0, OPTION_COUNT, "N", offsetof(struct resource_options, limit), "at most N of them; else 50"},
};

static const struct resource_column columns[] = {
        {"seq", "line", COLUMN_PLAIN},        {"time", "when (UTC)", COLUMN_TIME},  {"action", "action", COLUMN_PLAIN},
        {"target", "of", COLUMN_PLAIN},       {"project", "project", COLUMN_PLAIN}, {"key", "key", COLUMN_PLAIN},
        {"client", "address", COLUMN_PLAIN}};

static int list(struct cli *cli, const void *values, int argc, char **argv) {
        struct resource_options options = *(const struct resource_options *)values;
        if (options.limit == 0)
                options.limit = LIST_DEFAULT;
        return resource_list(cli, &options, argc, argv);
}

static const struct command audit_list = {
        .name = "list",
        .summary = "list who did what, newest first",
        .usage = "[--json] [--limit N]",
        .description = "Lists what was done, newest first: keys, projects, agents and their settings,\n"
                       "runs, calls, connections, refusals. Needs an admin key.\n",
        .examples = "  platformctl audit list --limit 20\n"
                    "  platformctl audit list --json | jq '.audit[] | select(.action == \"refused\")'\n",
        RESOURCE_OPTIONS(list_rows),
        .run = list,
        .data = &(const struct resource){.path = "/v1/audit",
                                         .list = "audit",
                                         .none = "the audit log is empty",
                                         .many = "lines",
                                         .is_paged = true,
                                         RESOURCE_COLUMNS(columns)},
};

/* ---- verify */

struct verify_options {
        bool json;
        const char *anchor;
};

static const struct option_row verify_rows[] = {
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct verify_options, json), "print what was found as JSON"},
        {"anchor", 0, OPTION_TEXT, "LINE:HASH", offsetof(struct verify_options, anchor),
         "this line must be there, with this hash: the\nservice's own log says where the audit log has\ncome to"},
};

/* How much of the log has come. */
struct look {
        struct progress progress;
        uint64_t before; /* in other files */
};

static void on_received(void *user, uint64_t received, uint64_t total) {
        struct look *look = user;
        (void)total;
        progress_transfer(&look->progress, "fetching the audit log", (double)(look->before + received), 0);
}

static int check_segment(struct cli *cli, struct audit_check *check, struct look *look, json_int_t first) {
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        struct err e = {0};
        char name[NAME_BYTES], path[NAME_BYTES];
        snprintf(path, sizeof(path), "/v1/audit/segments/%" JSON_INTEGER_FORMAT, first);
        snprintf(name, sizeof(name), "%020" JSON_INTEGER_FORMAT ".jsonl", first);
        const struct http_call call = {
                .method = "GET", .path = path, .timeout_s = DOWNLOAD_S, .on_received = on_received, .user = look};
        int r = http_client_call(cli->client, &call, &reply, &e);
        if (r != 0 || reply.status != 200)
                progress_end(&look->progress);
        if (r != 0)
                return service_explain_call(cli, r, &e);
        if (reply.status != 200) {
                json_t *answer = service_parse(reply.body, reply.body_length);
                int code = service_explain_status(cli, reply.status, answer);
                json_decref(answer);
                return code;
        }
        look->before += reply.body_length;
        audit_check_file(check, name, reply.body, reply.body_length);
        return 0;
}

/* The service said where its log has come to before it handed it out: that line must be in it. */
static int check_service(struct cli *cli, struct audit_check *check, bool json) {
        json_t *answer = NULL, *segment;
        struct look look = {0};
        size_t i;
        int code = service_get(cli, "/v1/audit/segments", &answer);
        const json_t *head = json_object_get(answer, "head");
        struct audit_anchor *anchor = &check->anchors[1];
        *anchor = (struct audit_anchor){.who = "the service"};
        anchor->place.seq = (uint64_t)json_integer_value(json_object_get(head, "seq"));
        snprintf(anchor->place.hash, sizeof(anchor->place.hash), "%s", json_text(head, "hash"));
        progress_init(&look.progress, cli, json);
        json_array_foreach(json_object_get(answer, "segments"), i, segment) {
                if (code == 0)
                        code = check_segment(cli, check, &look, json_integer_value(json_object_get(segment, "first")));
        }
        progress_end(&look.progress);
        json_decref(answer);
        return code;
}

/* Beside the files of a service lies where its log had come to. Read before them, as they may grow meanwhile. */
static void look_for_head(struct audit_check *check, const char *file) {
        const char *slash = strrchr(file, '/');
        CLEANUP_FREE char *path = NULL, *text = NULL;
        struct audit_anchor *anchor = &check->anchors[1];
        size_t length;
        struct err e;
        if (asprintf(&path, "%.*s" AUDIT_HEAD, slash ? (int)(slash + 1 - file) : 0, file) < 0)
                path = NULL;
        if (!path || access(path, F_OK) < 0 || paths_read(path, AUDIT_PLACE_BYTES, &text, &length, &e) < 0)
                return;
        text[strcspn(text, "\n")] = '\0';
        *anchor = (struct audit_anchor){.who = "the file \"" AUDIT_HEAD "\" beside it"};
        if (!audit_place_parse(text, &anchor->place))
                anchor->place.seq = 0;
}

static int check_files(struct cli *cli, struct audit_check *check, int argc, char **argv) {
        look_for_head(check, argv[argc - 1]);
        for (int i = 0; i < argc; i++) {
                CLEANUP_FREE char *text = NULL;
                size_t length;
                struct err e = {0};
                if (paths_read(argv[i], FILE_MAX, &text, &length, &e) < 0)
                        return say_error(cli, EX_NOINPUT, "%s", e.message);
                audit_check_file(check, argv[i], text, length);
        }
        return 0;
}

static int report(struct cli *cli, const struct audit_check *check, bool json) {
        size_t i, faults = json_array_size(check->faults);
        json_t *text;
        int r = 0;
        if (json) {
                json_t *answer = json_pack("{s:b, s:I, s:I, s:I, s:s, s:O, s:O}", "whole", faults == 0, "lines",
                                           (json_int_t)check->lines, "first", (json_int_t)check->first, "last",
                                           (json_int_t)check->place.seq, "hash", check->place.hash, "faults",
                                           check->faults, "notes", check->notes);
                r = print_json(cli, answer);
                json_decref(answer);
        }
        json_array_foreach(check->notes, i, text)
                say_note(cli, "%s", json_string_value(text));
        json_array_foreach(check->faults, i, text)
                say_error(cli, EXIT_FAILURE, "%s", json_string_value(text));
        if (check->more_faults)
                say_error(cli, EXIT_FAILURE, "there are more faults than these %zu", faults);
        if (faults == 0 && !json)
                say_note(cli, "the audit log is whole: %" PRIu64 " lines, up to line %" PRIu64 " with hash %s",
                         check->lines, check->place.seq, check->place.hash);
        return r < 0 ? write_failed(cli, r) : faults ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int verify(struct cli *cli, const void *values, int argc, char **argv) {
        const struct verify_options *options = values;
        CLEANUP(audit_check_deinit) struct audit_check check;
        if (audit_check_init(&check) < 0)
                return say_error(cli, EX_SOFTWARE, "out of memory");
        if (options->anchor && !audit_anchor_parse(options->anchor, &check.anchors[0]))
                return say_error(cli, EX_USAGE, "--anchor takes LINE:HASH, a number and 64 hexadecimal digits, as the "
                                                "service's log has them");
        int code = argc > 0 ? check_files(cli, &check, argc, argv) : service_open(cli);
        if (code == 0 && argc == 0)
                code = check_service(cli, &check, options->json);
        if (code != 0)
                return code;
        audit_check_end(&check);
        return report(cli, &check, options->json);
}

static const struct command audit_verify = {
        .name = "verify",
        .summary = "find lines that were changed, removed or moved",
        .usage = "[--json] [--anchor LINE:HASH] [FILE]...",
        .description = "Checks every line of the audit log: that its hash is that of its bytes, and that\n"
                       "it was written after the line before it. The log is that of the service, which\n"
                       "needs an admin key, or that of the files: audit/*.jsonl of the data folder's\n"
                       "folder \"service\", or a copy. Exits with 1 if anything is wrong with it.\n",
        .examples = "  platformctl audit verify\n"
                    "  platformctl audit verify /var/lib/code-sandbox/service/audit/*.jsonl\n",
        COMMAND_OPTIONS(verify_rows, struct verify_options),
        .words_max = WORDS_ANY,
        .run = verify,
};

static const struct command *const commands[] = {&audit_list, &audit_verify};

const struct command cmd_audit = {
        .name = "audit",
        .summary = "who did what, and whether that record is whole",
        .usage = "[COMMAND [ARGUMENT]...]",
        .description = "The audit log tells who did what. Each of its lines carries the hash of the one\n"
                       "before. Without a command, the last 50 lines are listed. Needs an admin key.\n",
        .examples = "  platformctl audit\n"
                    "  platformctl audit --json --limit 1000\n"
                    "  platformctl audit verify\n",
        COMMAND_CHILDREN(commands),
        .otherwise = &audit_list,
};
