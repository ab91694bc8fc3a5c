/*
 * The commands, each in the file of its name, but projects, keys, conversations and sessions in cmd_resources.c.
 */
#pragma once

#include "cli/command.h"

extern const struct command cmd_run;
extern const struct command cmd_call;
extern const struct command cmd_mcp;
extern const struct command cmd_status;
extern const struct command cmd_doctor;
extern const struct command cmd_environment;
extern const struct command cmd_version;
extern const struct command cmd_completion, cmd_complete;
extern const struct command cmd_login;
extern const struct command cmd_logout;
extern const struct command cmd_projects;
extern const struct command cmd_keys;
extern const struct command cmd_agents;
extern const struct command cmd_agent_env, cmd_agent_deploy; /* below agents */
extern const struct command cmd_conversations;
extern const struct command cmd_files;
extern const struct command cmd_sessions;
extern const struct command cmd_audit;
extern const struct command cmd_backup, cmd_restore;
