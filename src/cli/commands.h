/*
 * The commands, each in the file of its name.
 */
#pragma once

#include "cli/command.h"

extern const struct command cmd_run;
extern const struct command cmd_status;
extern const struct command cmd_doctor;
extern const struct command cmd_environment;
extern const struct command cmd_version;
