/*
 * platformctl agents: agents of the project. Their settings, `agents env`, are in
 * cmd_agent_env.c, their images, `agents deploy`, in cmd_agent_deploy.c.
 */
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/resource.h"

static const struct option_row json_rows[] = {RESOURCE_JSON};
static const struct option_row list_rows[] = {RESOURCE_JSON, RESOURCE_LIMIT};

static json_t *no_members(const struct resource_options *options, char **words) {
        (void)options;
        (void)words;
        return json_object();
}

static int say_made(struct cli *cli, long status, const json_t *answer, char **words) {
        (void)answer;
        if (status == 201)
                say_note(cli, "made the agent %s", words[0]);
        else
                say_note(cli, "the agent %s was there already, and stays as it is", words[0]);
        return 0;
}

static json_t *deleted(char **words) {
        return json_pack("{s:s, s:b}", "name", words[0], "deleted", 1);
}

static const struct resource_column columns[] = {{"name", "name", COLUMN_PLAIN},
                                                 {"created_at", "made (UTC)", COLUMN_TIME},
                                                 {"updated_at", "changed (UTC)", COLUMN_TIME}};

static const struct command agents_create = {
        .name = "create",
        .summary = "make an agent",
        .usage = "[--json] NAME",
        .description = "Makes an agent. One that is there already stays as it is.\n",
        .examples = "  platformctl agents create my-agent\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(1),
        .run = resource_change,
        .data = &(const struct resource){
                .method = "PUT", .path = "/v1/agents/{0}", .body = no_members, .say = say_made},
};

static const struct command agents_list = {
        .name = "list",
        .summary = "list the agents",
        .usage = "[--json] [--limit N]",
        .description = "Lists the agents of the project by name.\n",
        .examples = "  platformctl agents list\n"
                    "  platformctl agents list --json | jq -r '.agents[].name'\n",
        RESOURCE_OPTIONS(list_rows),
        .run = resource_list,
        .data = &(const struct resource){.path = "/v1/agents",
                                         .list = "agents",
                                         .none = "there are no agents",
                                         .is_paged = true,
                                         RESOURCE_COLUMNS(columns)},
};

static const struct command agents_show = {
        .name = "show",
        .summary = "show an agent and what holds for its runs",
        .usage = "[--json] NAME",
        .description = "Shows an agent: whether it is stateful, how long its runs may take, its tools.\n",
        .examples = "  platformctl agents show my-agent\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(1),
        .run = resource_show,
        .data = &(const struct resource){.path = "/v1/agents/{0}"},
};

static const struct command agents_delete = {
        .name = "delete",
        .summary = "delete an agent with its settings",
        .usage = "[--json] NAME",
        .description = "Deletes an agent with its settings, without asking. Its conversations stay.\n",
        .examples = "  platformctl agents delete my-agent\n",
        RESOURCE_OPTIONS(json_rows),
        COMMAND_WORDS(1),
        .run = resource_change,
        .data = &(const struct resource){.method = "DELETE",
                                         .path = "/v1/agents/{0}",
                                         .answer = deleted,
                                         .said = "deleted the agent {0} with its settings; its conversations stay"},
};

static const struct command *const commands[] = {&agents_create, &agents_list, &agents_show, &agents_delete,
                                                 &cmd_agent_deploy, &cmd_agent_env};

const struct command cmd_agents = {
        .name = "agents",
        .summary = "make, list and delete agents; their images and settings",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "An agent is a name in the project with settings that hold for its runs.\n",
        .examples = "  platformctl agents create my-agent\n"
                    "  platformctl agents env set my-agent CODE_INTERPRETER_SESSION=true\n"
                    "  platformctl agents deploy my-agent --image docker-archive:agent.tar\n"
                    "  platformctl agents show my-agent\n",
        COMMAND_CHILDREN(commands),
};
