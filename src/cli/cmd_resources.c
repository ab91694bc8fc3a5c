/*
 * platformctl projects, keys, conversations and sessions: their tables. resource.h does the work; agents and files,
 * which need more than that, are in cmd_agents.c and cmd_files.c.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/resource.h"
#include "cli/service.h"

static const struct option_row json_rows[] = {RESOURCE_JSON};
static const struct option_row list_rows[] = {RESOURCE_JSON, RESOURCE_LIMIT};

/* ---- projects */

static json_t *project_body(const struct resource_options *options, char **words) {
        (void)options;
        return json_pack("{s:s}", "name", words[0]);
}

static const struct resource_column project_columns[] = {
        {"name", "name", COLUMN_PLAIN}, {"created_at", "made (UTC)", COLUMN_TIME}};

static const struct command projects_create = {
        .name = "create",
        .summary = "make a project",
        .usage = "[--json] NAME",
        .description = "Makes a project: agents, conversations and files of one project are out of reach\n"
                       "for the keys of another. Needs an admin key.\n",
        .examples = "  platformctl projects create reports\n"
                    "  platformctl keys create reports\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(1),
        .run = resource_change,
        .data = &(const struct resource){.method = "POST",
                                         .path = "/v1/projects",
                                         .body = project_body,
                                         .said = "made the project {0}; `platformctl keys create {0}` makes a key"},
};

static const struct command projects_list = {
        .name = "list",
        .summary = "list the projects",
        .usage = "[--json] [--limit N]",
        .description = "Lists the projects by name. Needs an admin key.\n",
        .examples = "  platformctl projects list\n"
                    "  platformctl projects list --json | jq -r '.projects[].name'\n",
        RESOURCE_OPTIONS(list_rows),
        .run = resource_list,
        .data = &(const struct resource){.path = "/v1/projects",
                                         .list = "projects",
                                         .none = "there are no projects",
                                         .is_paged = true,
                                         RESOURCE_COLUMNS(project_columns)},
};

static const struct command *const projects_commands[] = {&projects_create, &projects_list};

const struct command cmd_projects = {
        .name = "projects",
        .summary = "make and list projects",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "A project owns keys, agents, conversations and files. Needs an admin key.\n",
        .examples = "  platformctl projects create reports\n"
                    "  platformctl projects list\n",
        COMMAND_CHILDREN(projects_commands),
};

/* ---- keys */

static const struct option_row key_rows[] = {
        RESOURCE_JSON,
        {"label", 0, OPTION_TEXT, "TEXT", offsetof(struct resource_options, label), "what the key is for"},
};

static json_t *key_body(const struct resource_options *options, char **words) {
        (void)words;
        return options->label ? json_pack("{s:s}", "label", options->label) : json_object();
}

/* The key alone is on standard output, so that `KEY=$(platformctl keys create ...)` does what it looks like. */
static int say_key(struct cli *cli, long status, const json_t *answer, char **words) {
        const char *key = json_text(answer, "key");
        (void)status;
        say_note(cli, "made the key %s of the project %s. It is shown this once: keep it", json_text(answer, "id"),
                 words[0]);
        int r = terminal_write(&cli->out, key, strlen(key));
        return r < 0 ? r : terminal_write(&cli->out, "\n", 1);
}

static json_t *revoked(char **words) {
        return json_pack("{s:s, s:s, s:b}", "project", words[0], "id", words[1], "revoked", 1);
}

static const struct resource_column key_columns[] = {{"id", "id", COLUMN_PLAIN},
                                                     {"hint", "begins with", COLUMN_PLAIN},
                                                     {"label", "label", COLUMN_PLAIN},
                                                     {"created_at", "made (UTC)", COLUMN_TIME}};

static const struct command keys_create = {
        .name = "create",
        .summary = "make a key for a project",
        .usage = "[--json] [--label TEXT] PROJECT",
        .description = "Makes a key for a project and prints it on standard output. It is shown this\n"
                       "once: the service keeps no more than its hash. Needs an admin key.\n",
        .examples = "  platformctl keys create reports --label 'nightly job'\n"
                    "  platformctl keys create reports | platformctl login\n",
        RESOURCE_OPTIONS(key_rows),
        COMMAND_WORDS(1),
        .run = resource_change,
        .data = &(const struct resource){
                .method = "POST", .path = "/v1/projects/{0}/keys", .body = key_body, .say = say_key},
};

static const struct command keys_list = {
        .name = "list",
        .summary = "list the keys of a project",
        .usage = "[--json] [--limit N] PROJECT",
        .description = "Lists the keys of a project: their ids and how they begin. The keys themselves\n"
                       "are not kept. Needs an admin key.\n",
        .examples = "  platformctl keys list reports\n",
        RESOURCE_OPTIONS(list_rows),
        COMMAND_WORDS(1),
        .run = resource_list,
        .data = &(const struct resource){.path = "/v1/projects/{0}/keys",
                                         .list = "keys",
                                         .none = "this project has no keys",
                                         .is_paged = true,
                                         RESOURCE_COLUMNS(key_columns)},
};

static const struct command keys_revoke = {
        .name = "revoke",
        .summary = "make a key worthless, at once",
        .usage = "[--json] PROJECT KEY_ID",
        .description = "Revokes a key, named by its id, without asking: from now on the service refuses\n"
                       "it. Needs an admin key.\n",
        .examples = "  platformctl keys list reports\n"
                    "  platformctl keys revoke reports key_01M8NV38MKQ4YKK3S1Q2TVSS1E\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(2),
        .run = resource_change,
        .data = &(const struct resource){.method = "DELETE",
                                         .path = "/v1/projects/{0}/keys/{1}",
                                         .answer = revoked,
                                         .said = "revoked the key {1} of the project {0}"},
};

static const struct command *const keys_commands[] = {&keys_create, &keys_list, &keys_revoke};

const struct command cmd_keys = {
        .name = "keys",
        .summary = "make, list and revoke keys of a project",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "A key lets a program act in one project. Needs an admin key.\n",
        .examples = "  platformctl keys create reports --label 'nightly job'\n"
                    "  platformctl keys list reports\n"
                    "  platformctl keys revoke reports key_01M8NV38MKQ4YKK3S1Q2TVSS1E\n",
        COMMAND_CHILDREN(keys_commands),
};

/* ---- conversations */

static const struct option_row conversation_rows[] = {
        RESOURCE_JSON,
        RESOURCE_LIMIT,
        {"agent", 0, OPTION_TEXT, "NAME", offsetof(struct resource_options, agent), "those of this agent"},
};

static json_t *conversation_deleted(char **words) {
        return json_pack("{s:s, s:b}", "conversation_id", words[0], "deleted", 1);
}

static const struct resource_column conversation_columns[] = {{"conversation_id", "conversation", COLUMN_PLAIN},
                                                              {"agent", "agent", COLUMN_PLAIN},
                                                              {"run_count", "runs", COLUMN_PLAIN},
                                                              {"file_count", "files", COLUMN_PLAIN},
                                                              {"bytes", "size", COLUMN_BYTES},
                                                              {"active_at", "active (UTC)", COLUMN_TIME},
                                                              {"expires_at", "over (UTC)", COLUMN_TIME}};

static const struct resource_column run_columns[] = {{"run_id", "run", COLUMN_PLAIN},
                                                     {"started_at", "started (UTC)", COLUMN_TIME},
                                                     {"outcome", "outcome", COLUMN_PLAIN},
                                                     {"exit_code", "exit code", COLUMN_PLAIN},
                                                     {"stateful", "session", COLUMN_FLAG},
                                                     {"file_count", "files", COLUMN_PLAIN}};

static const struct command conversations_list = {
        .name = "list",
        .summary = "list the conversations, latest activity first",
        .usage = "[--json] [--limit N] [--agent NAME]",
        .description = "Lists the conversations of the project, those with the latest activity first.\n",
        .examples = "  platformctl conversations list --limit 20\n"
                    "  platformctl conversations list --agent my-agent --json\n",
        RESOURCE_OPTIONS(conversation_rows),
        .run = resource_list,
        .data = &(const struct resource){.path = "/v1/conversations",
                                         .list = "conversations",
                                         .none = "there are no conversations",
                                         .is_paged = true,
                                         RESOURCE_COLUMNS(conversation_columns)},
};

static const struct command conversations_show = {
        .name = "show",
        .summary = "show a conversation and its runs",
        .usage = "[--json] [--limit N] CONVERSATION",
        .description = "Shows a conversation and its runs, oldest first. --limit is for the runs.\n",
        .examples = "  platformctl conversations show talk-1\n",
        RESOURCE_OPTIONS(list_rows),
        COMMAND_WORDS(1),
        .run = resource_show,
        .data = &(const struct resource){
                .path = "/v1/conversations/{0}",
                .part = &(const struct resource){.path = "/v1/conversations/{0}/runs",
                                                 .list = "runs",
                                                 .is_paged = true,
                                                 RESOURCE_COLUMNS(run_columns)}},
};

static const struct command conversations_delete = {
        .name = "delete",
        .summary = "delete a conversation with its runs and files",
        .usage = "[--json] CONVERSATION",
        .description = "Deletes a conversation with its session, its runs and its files, without asking.\n"
                       "There is no way back.\n",
        .examples = "  platformctl conversations delete talk-1\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(1),
        .run = resource_change,
        .data = &(const struct resource){.method = "DELETE",
                                         .path = "/v1/conversations/{0}",
                                         .answer = conversation_deleted,
                                         .said = "deleted the conversation {0} with its runs and files"},
};

static const struct command *const conversations_commands[] = {&conversations_list, &conversations_show,
                                                               &conversations_delete};

const struct command cmd_conversations = {
        .name = "conversations",
        .summary = "list, show and delete conversations",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "A conversation holds the runs that were given its name, and their files, until\n"
                       "it has been quiet for long enough.\n",
        .examples = "  platformctl run --conversation talk-1 -c 'open(\"a.csv\", \"w\").write(\"1\")'\n"
                    "  platformctl conversations show talk-1\n"
                    "  platformctl conversations delete talk-1\n",
        COMMAND_CHILDREN(conversations_commands),
};

/* ---- sessions */

static int say_ended(struct cli *cli, long status, const json_t *answer, char **words) {
        (void)status;
        if (json_is_true(json_object_get(answer, "ended")))
                say_note(cli, "ended the session of %s: its variables are lost, kept files come back with its next run",
                         words[0]);
        else
                say_note(cli, "%s has no live session: nothing to end", words[0]);
        return 0;
}

static const struct resource_column session_columns[] = {
        {"conversation_id", "conversation", COLUMN_PLAIN}, {"agent", "agent", COLUMN_PLAIN},
        {"state", "state", COLUMN_PLAIN},                  {"idle_s", "idle", COLUMN_SECONDS},
        {"calls", "runs", COLUMN_PLAIN},                   {"waiting", "waiting", COLUMN_PLAIN}};

static const struct command sessions_list = {
        .name = "list",
        .summary = "list the live sessions",
        .usage = "[--json]",
        .description = "Lists the live sessions of the project; with --json the limits as well.\n",
        .examples = "  platformctl sessions list\n",
        RESOURCE_OPTIONS(json_rows),
        .run = resource_list,
        .data = &(const struct resource){.path = "/v1/sessions",
                                         .list = "sessions",
                                         .none = "there are no live sessions",
                                         RESOURCE_COLUMNS(session_columns)},
};

static const struct command sessions_end = {
        .name = "end",
        .summary = "end the session of a conversation",
        .usage = "[--json] CONVERSATION",
        .description = "Ends the interpreter of a conversation, and a run that is under way in it. Its\n"
                       "variables are lost; the conversation and its files stay.\n",
        .examples = "  platformctl sessions end talk-1\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(1),
        .run = resource_change,
        .data = &(const struct resource){
                .method = "DELETE", .path = "/v1/conversations/{0}/session", .say = say_ended},
};

static const struct command *const sessions_commands[] = {&sessions_list, &sessions_end};

const struct command cmd_sessions = {
        .name = "sessions",
        .summary = "list and end live interpreters",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "A session is the interpreter that the runs of one conversation share, for agents\n"
                       "with CODE_INTERPRETER_SESSION=true.\n",
        .examples = "  platformctl sessions list\n"
                    "  platformctl sessions end talk-1\n",
        COMMAND_CHILDREN(sessions_commands),
};
