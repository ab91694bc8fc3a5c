/*
 * What a model is told about run_python: name, parameters, and a text that promises no more and no less than holds.
 *
 * Runs in the api process. Pure, but for reading an agent's settings.
 */
#pragma once

#include <jansson.h>

struct agent_settings;
struct config;

#define TOOL_RUN_PYTHON "run_python"

enum tool_format {
        TOOL_OPENAI,           /* an entry of `tools` of chat completions */
        TOOL_OPENAI_RESPONSES, /* an entry of `tools` of the responses API */
        TOOL_ANTHROPIC,        /* an entry of `tools` of the messages API */
        TOOL_GEMINI,           /* an entry of `tools` of generateContent */
        TOOL_MCP,              /* an entry of the result of tools/list */
        TOOL_FORMATS
};

/* "openai" …; -1: there is none of that name. */
int tool_format_of(const char *name);

/* For an agent's settings, or those of a run without one. A new reference, or NULL. */
json_t *tool_run_python(const struct config *config, json_t *environment, const struct agent_settings *settings,
                        enum tool_format format);
