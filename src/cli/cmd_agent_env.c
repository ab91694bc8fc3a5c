/*
 * platformctl agents env: settings of an agent.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/resource.h"
#include "cli/service.h"

static const struct option_row rows[] = {RESOURCE_JSON};

static void decref(json_t **value) {
        json_decref(*value);
}

static void say_warnings(struct cli *cli, const json_t *answer) {
        size_t i;
        json_t *warning;
        json_array_foreach(json_object_get(answer, "warnings"), i, warning) if (json_is_string(warning))
                say_note(cli, "warning: %s", json_string_value(warning));
}

/* What the settings come to. */
static void say_effective(struct cli *cli, const char *agent, const json_t *answer) {
        const json_t *effective = json_object_get(answer, "effective");
        if (!json_is_object(effective))
                return;
        say_note(cli, "%s: %s, and a run may take %g s", agent,
                 json_is_true(json_object_get(effective, "stateful"))
                         ? "all runs of a conversation share one interpreter"
                         : "each run has a fresh interpreter",
                 json_number_value(json_object_get(effective, "timeout_s")));
}

/* ---- set */


/* Before anything is sent, so that a slip in the last word does not leave half of the work done. */
static int check_pairs(struct cli *cli, int count, char **pairs) {
        for (int i = 0; i < count; i++) {
                CLEANUP(decref) json_t *whole = json_string(pairs[i]);
                const char *equals = strchr(pairs[i], '=');
                if (!equals || equals == pairs[i])
                        return say_error(cli, EX_USAGE, "\"%s\" is no setting such as CODE_INTERPRETER_SESSION=true",
                                         pairs[i]);
                if (!whole)
                        return say_error(cli, EX_USAGE, "\"%s\" is not UTF-8", pairs[i]);
        }
        return EXIT_SUCCESS;
}

static int put_agent(struct cli *cli, char *agent) {
        CLEANUP(decref) json_t *answer = NULL;
        long status;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, "/v1/agents/{0}", &agent, &code);
        if (path)
                code = service_call(cli, "PUT", path, json_object(), 0, &status, &answer);
        if (code == 0)
                say_note(cli, "made the agent %s, which was not there yet", agent);
        return code;
}

/* Sets one. An agent that is not there is made, once: `*made`. */
static int put_setting(struct cli *cli, char *agent, const char *pair, bool *made, json_t **ret) {
        size_t length = strcspn(pair, "=");
        CLEANUP_FREE char *name = strndup(pair, length);
        char *words[] = {agent, name};
        long status = 0;
        int code = EX_SOFTWARE;
        CLEANUP_FREE char *path = name ? resource_path(cli, "/v1/agents/{0}/env/{1}", words, &code) : NULL;
        for (bool tried = false; path; tried = true) {
                json_t *body = json_pack("{s:s}", "value", pair + length + 1);
                code = service_call(cli, "PUT", path, body, *made || tried ? 0 : 404, &status, ret);
                if (code != 0 || status != 404)
                        break;
                json_decref(TAKE_PTR(*ret));
                code = put_agent(cli, agent);
                if (code != 0)
                        break;
                *made = true;
        }
        if (code == 0)
                say_note(cli, "set %s of %s", name, agent);
        return code;
}

static int set(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        CLEANUP(decref) json_t *settings = json_array();
        json_t *answer = NULL;
        bool made = false;
        int code = check_pairs(cli, argc - 1, argv + 1);
        for (int i = 1; i < argc && code == 0; i++) {
                code = put_setting(cli, argv[0], argv[i], &made, &answer);
                if (code != 0)
                        break;
                say_warnings(cli, answer);
                if (i == argc - 1)
                        say_effective(cli, argv[0], answer);
                json_array_append_new(settings, TAKE_PTR(answer));
        }
        if (code != 0)
                return code;
        return resource_finish(cli, options->json,
                               json_pack("{s:s, s:b, s:O}", "agent", argv[0], "created", (int)made, "settings",
                                         settings),
                               0);
}

static const struct command env_set = {
        .name = "set",
        .summary = "set settings of an agent, which is made if it is not there",
        .usage = "[--json] AGENT NAME=VALUE...",
        .description = "Sets settings of an agent; they hold from its next run on. An agent that is not\n"
                       "there is made, and platformctl says so. Warnings of the service are shown.\n"
                       "\n"
                       "  CODE_INTERPRETER_SESSION     true or false: whether all runs of a conversation\n"
                       "                               share one interpreter\n"
                       "  CODE_INTERPRETER_TIMEOUT_S   1 to 120: how many seconds a run may take\n"
                       "\n"
                       "Other names are kept for you. No setting ever reaches a sandbox.\n",
        .examples = "  platformctl agents env set my-agent CODE_INTERPRETER_SESSION=true\n"
                    "  platformctl agents env set my-agent CODE_INTERPRETER_TIMEOUT_S=60 TEAM=blue\n",
        RESOURCE_OPTIONS(rows),
        .words_min = 2,
        .words_max = WORDS_ANY,
        .run = set,
};

/* ---- list */

static void print_settings(struct cli *cli, const json_t *env) {
        CLEANUP(table_deinit) struct table table;
        const char *name;
        json_t *value;
        table_init(&table, 2);
        table_add(&table, "setting");
        table_add(&table, "value");
        json_object_foreach((json_t *)env, name, value) {
                const char *text = json_string_value(value);
                table_add(&table, "%s", name);
                table_add(&table, "%s", text ? text : "-");
        }
        table_print(&table, cli, true);
}

static int list(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        json_t *answer = NULL;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, "/v1/agents/{0}/env", argv, &code);
        (void)argc;
        if (path)
                code = service_get(cli, path, &answer);
        if (code != 0)
                return code;
        const json_t *env = json_object_get(answer, "env");
        if (!options->json) {
                if (json_object_size(env) > 0)
                        print_settings(cli, env);
                else
                        say_note(cli, "the agent %s has no settings", argv[0]);
                say_effective(cli, argv[0], answer);
                say_warnings(cli, answer);
        }
        return resource_finish(cli, options->json, answer, 0);
}

static const struct command env_list = {
        .name = "list",
        .summary = "list the settings of an agent",
        .usage = "[--json] AGENT",
        .description = "Lists the settings of an agent with their values, and says what they come to.\n",
        .examples = "  platformctl agents env list my-agent\n",
        RESOURCE_OPTIONS(rows),
        COMMAND_WORDS(1),
        .run = list,
};

/* ---- unset */

static int unset_one(struct cli *cli, char *agent, char *name) {
        CLEANUP(decref) json_t *answer = NULL;
        char *words[] = {agent, name};
        long status;
        int code = EXIT_SUCCESS;
        CLEANUP_FREE char *path = resource_path(cli, "/v1/agents/{0}/env/{1}", words, &code);
        if (path)
                code = service_call(cli, "DELETE", path, NULL, 0, &status, &answer);
        if (code == 0)
                say_note(cli, "removed %s of %s", name, agent);
        return code;
}

static int unset(struct cli *cli, const void *values, int argc, char **argv) {
        const struct resource_options *options = values;
        CLEANUP(decref) json_t *names = json_array();
        int code = EXIT_SUCCESS;
        for (int i = 1; i < argc && code == 0; i++) {
                code = unset_one(cli, argv[0], argv[i]);
                json_array_append_new(names, json_string(argv[i]));
        }
        if (code != 0)
                return code;
        return resource_finish(cli, options->json, json_pack("{s:s, s:O}", "agent", argv[0], "unset", names), 0);
}

static const struct command env_unset = {
        .name = "unset",
        .summary = "remove settings of an agent",
        .usage = "[--json] AGENT NAME...",
        .description = "Removes settings of an agent; the default holds again from its next run on.\n",
        .examples = "  platformctl agents env unset my-agent CODE_INTERPRETER_TIMEOUT_S TEAM\n",
        RESOURCE_OPTIONS(rows),
        .words_min = 2,
        .words_max = WORDS_ANY,
        .run = unset,
};

static const struct command *const commands[] = {&env_set, &env_list, &env_unset};

const struct command cmd_agent_env = {
        .name = "env",
        .summary = "settings of an agent",
        .usage = "COMMAND [ARGUMENT]...",
        .description = "Settings of an agent: whether its runs share an interpreter, how long they may\n"
                       "take.\n",
        .examples = "  platformctl agents env set my-agent CODE_INTERPRETER_SESSION=true\n"
                    "  platformctl agents env list my-agent\n"
                    "  platformctl agents env unset my-agent CODE_INTERPRETER_SESSION\n",
        COMMAND_CHILDREN(commands),
};
