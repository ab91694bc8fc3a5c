/* What a model is told about run_python; see tool_description.h. */
#include "api/tool_description.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_settings.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "spawn/frames.h"
#include "spawn/proto.h"

#define MIB (1024 * 1024)
#define VERSION_BYTES 16
#define LIBRARIES_BYTES 512
#define TEXT_BYTES 4096

/* ---- the text */

/* "3.12", or "3" if the image says nothing. */
static void print_version(json_t *environment, char text[VERSION_BYTES]) {
        const char *version = json_string_value(json_object_get(environment, "python"));
        const char *minor = version ? strchr(version, '.') : NULL;
        int length = minor ? (int)(minor - version) + 1 + (int)strspn(minor + 1, "0123456789") : 1;
        snprintf(text, VERSION_BYTES, "%.*s", length, version ? version : "3");
}

/* "numpy, pandas and pillow" */
static void print_libraries(json_t *environment, char text[LIBRARIES_BYTES]) {
        json_t *libraries = json_object_get(environment, "libraries"), *library;
        size_t used = 0, i;
        text[0] = '\0';
        json_array_foreach(libraries, i, library) {
                const char *name = json_string_value(library);
                const char *before = i == 0 ? "" : i + 1 == json_array_size(libraries) ? " and " : ", ";
                if (name && used + strlen(before) + strlen(name) < LIBRARIES_BYTES)
                        used += (size_t)sprintf(text + used, "%s%s", before, name);
        }
}

static void write_state(FILE *out, const struct config *config, const struct agent_settings *settings) {
        if (!settings->stateful) {
                fputs("State: each call starts fresh. No variable, import or file of an earlier call is there, so each "
                      "call must contain everything that it needs.\n",
                      out);
                return;
        }
        fprintf(out,
                "State: all calls of this conversation share one interpreter, like the cells of a notebook. "
                "Variables, imports, functions and files of earlier calls are there in later ones, and an exception "
                "loses nothing. A call that reaches the time limit, runs out of memory or crashes loses all variables "
                "and imports, but the files stay. After %lld s without a call, or a restart of the service, the "
                "variables are lost too, and the files that came back with results are there again. `session.message` "
                "then says so.\n",
                (long long)config->session_idle_s);
}

static void write_limits(FILE *out, const struct agent_settings *settings, const char *libraries) {
        fprintf(out, "Time: a call may take at most %g s", settings->timeout_ms / 1000.0);
        if (settings->timeout_max_ms > settings->timeout_ms)
                fprintf(out, ", or up to %g s with `timeout_s`", settings->timeout_max_ms / 1000.0);
        fprintf(out,
                "; then it is stopped. Memory: %d MiB, files included. One CPU.\n"
                "Network: none, not even name lookups, and nothing can be downloaded or installed (no pip, conda or "
                "apt). Packages: the standard library%s%s.\n",
                (int)(SANDBOX_MEMORY_BYTES / MIB), *libraries ? ", " : "", libraries);
}

static void write_results(FILE *out, const struct agent_settings *settings) {
        fprintf(out,
                "Files: the working directory is /mnt/data; write results there by relative path, such as "
                "\"result.csv\". New and changed files come back with the result: at most %d MB each, %d MB and %d "
                "files a call. %s\n"
                "Charts: draw with matplotlib and call plt.show(); each figure comes back as a PNG picture. Printed "
                "text comes back, and so does the value of an expression on the last line. input() has nothing to "
                "read.",
                (int)(FILE_BYTES_MAX / MIB), (int)(FILES_BYTES_MAX / MIB), FILES_MAX,
                settings->stateful ? "Files stay in the working directory for later calls."
                                   : "At the start it holds only the files that come with the call.");
}

/* malloc()ed, or NULL. */
static char *write_text(const struct config *config, json_t *environment, const struct agent_settings *settings) {
        char version[VERSION_BYTES], libraries[LIBRARIES_BYTES];
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        if (!out)
                return NULL;
        print_version(environment, version);
        print_libraries(environment, libraries);
        fprintf(out, "Runs Python %s code in a locked-down sandbox and returns what it prints, shows and writes.\n",
                version);
        write_state(out, config, settings);
        write_limits(out, settings, libraries);
        write_results(out, settings);
        bool failed = ferror(out);
        if (fclose(out) != 0 || failed)
                free(TAKE_PTR(text));
        return text;
}

/* ---- parameters */

/*
 * JSON Schema, of the part that every one of the APIs takes. Only where a model can gain something by it is there a
 * `timeout_s`: an agent has one limit, which is used anyway.
 */
static json_t *schema(const struct agent_settings *settings) {
        json_t *properties = json_pack("{s:{s:s, s:s}}", "code", "type", "string", "description",
                                       "Python source code, as it would stand in a file.");
        if (settings->timeout_max_ms > settings->timeout_ms)
                json_object_set_new(properties, "timeout_s",
                                    json_pack("{s:s, s:o, s:i, s:f}", "type", "number", "description",
                                              json_sprintf("Time limit of this call in seconds; %g if left out.",
                                                           settings->timeout_ms / 1000.0),
                                              "minimum", 1, "maximum", settings->timeout_max_ms / 1000.0));
        return json_pack("{s:s, s:o, s:[s]}", "type", "object", "properties", properties, "required", "code");
}

/* Of its own, beside `code`, nothing is taken. Gemini's schema has no such word. */
static json_t *closed(json_t *parameters) {
        json_object_set_new(parameters, "additionalProperties", json_false());
        return parameters;
}

/* Gemini spells its types in capitals. */
static json_t *in_capitals(json_t *parameters) {
        static const struct {
                const char *json, *gemini;
        } names[] = {{"object", "OBJECT"}, {"string", "STRING"}, {"number", "NUMBER"}};
        const char *type = json_string_value(json_object_get(parameters, "type")), *key;
        json_t *property;
        for (size_t i = 0; type && i < ARRAY_SIZE(names); i++)
                if (strcmp(type, names[i].json) == 0) {
                        json_object_set_new(parameters, "type", json_string(names[i].gemini));
                        break;
                }
        json_object_foreach(json_object_get(parameters, "properties"), key, property)
                in_capitals(property);
        return parameters;
}

/* ---- formats: each takes over the parameters */

static json_t *openai(const char *text, json_t *parameters) {
        return json_pack("{s:s, s:{s:s, s:s, s:o}}", "type", "function", "function", "name", TOOL_RUN_PYTHON,
                         "description", text, "parameters", closed(parameters));
}

/* `strict` has to be there. With true, a parameter could not be left out. */
static json_t *openai_responses(const char *text, json_t *parameters) {
        return json_pack("{s:s, s:s, s:s, s:o, s:b}", "type", "function", "name", TOOL_RUN_PYTHON, "description", text,
                         "parameters", closed(parameters), "strict", 0);
}

static json_t *anthropic(const char *text, json_t *parameters) {
        return json_pack("{s:s, s:s, s:o}", "name", TOOL_RUN_PYTHON, "description", text, "input_schema",
                         closed(parameters));
}

static json_t *gemini(const char *text, json_t *parameters) {
        return json_pack("{s:[{s:s, s:s, s:o}]}", "functionDeclarations", "name", TOOL_RUN_PYTHON, "description", text,
                         "parameters", in_capitals(parameters));
}

/* The annotations tell clients that ask their users before a call: nothing outside of the sandbox is touched. */
static json_t *mcp(const char *text, json_t *parameters) {
        return json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b, s:b, s:b}}", "name", TOOL_RUN_PYTHON, "title", "Run Python",
                         "description", text, "inputSchema", closed(parameters), "annotations", "readOnlyHint", 0,
                         "destructiveHint", 0, "idempotentHint", 0, "openWorldHint", 0);
}

static const struct {
        const char *name;
        json_t *(*make)(const char *text, json_t *parameters);
} formats[TOOL_FORMATS] = {
        [TOOL_OPENAI] = {"openai", openai},
        [TOOL_OPENAI_RESPONSES] = {"openai-responses", openai_responses},
        [TOOL_ANTHROPIC] = {"anthropic", anthropic},
        [TOOL_GEMINI] = {"gemini", gemini},
        [TOOL_MCP] = {"mcp", mcp},
};

int tool_format_of(const char *name) {
        for (size_t i = 0; i < TOOL_FORMATS; i++)
                if (strcmp(formats[i].name, name) == 0)
                        return (int)i;
        return -1;
}

json_t *tool_run_python(const struct config *config, json_t *environment, const struct agent_settings *settings,
                        enum tool_format format) {
        CLEANUP_FREE char *text = write_text(config, environment, settings);
        json_t *parameters = schema(settings);
        if (text && parameters)
                return formats[format].make(text, parameters);
        json_decref(parameters);
        return NULL;
}
