/* Tools that agents declare, and what a model is told about run_python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/agent_settings.h"
#include "api/agent_tools.h"
#include "api/tool_description.h"
#include "base/config.h"

/* ---- declared tools */

static int take(const char *list, char **ret, struct err *e) {
        json_t *tools = json_loads(list, 0, NULL);
        assert_non_null(tools);
        int r = agent_tools_take(tools, ret, e);
        json_decref(tools);
        return r;
}

static void fills_in_what_is_left_out(void **state) {
        char *text = NULL;
        struct err e = {0};
        (void)state;
        assert_int_equal(take("[{\"name\": \"find\", \"entrypoint\": \"shop.tools:Orders.find\"}]", &text, &e), 0);
        assert_string_equal(text, "[{\"name\":\"find\",\"entrypoint\":\"shop.tools:Orders.find\",\"description\":\"\","
                                  "\"parameters\":{\"type\":\"object\",\"properties\":{}}}]");
        free(text);
        assert_int_equal(take("[]", &text, &e), 0);
        assert_string_equal(text, "[]");
        free(text);
}

#define GOOD "\"name\": \"a\", \"entrypoint\": \"m:f\""

static const struct {
        const char *list, *field;
} refused[] = {
        {"[5]", "tools[0]"},
        {"[{}]", "tools[0].name"},
        {"[{\"name\": \"a\"}]", "tools[0].entrypoint"},
        {"[{" GOOD ", \"x\": 1}]", "tools[0].x"},
        {"[{\"name\": \"\", \"entrypoint\": \"m:f\"}]", "tools[0].name"},
        {"[{\"name\": \"a b\", \"entrypoint\": \"m:f\"}]", "tools[0].name"},
        {"[{\"name\": \"run_python\", \"entrypoint\": \"m:f\"}]", "tools[0].name"},
        {"[{" GOOD "}, {" GOOD "}]", "tools[1].name"},
        {"[{\"name\": \"a\", \"entrypoint\": \"m\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \":f\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \"m:\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \"m:f:g\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \"1m:f\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \"m..n:f\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \"m/n:f\"}]", "tools[0].entrypoint"},
        {"[{\"name\": \"a\", \"entrypoint\": \"m:f; import os\"}]", "tools[0].entrypoint"},
        {"[{" GOOD ", \"parameters\": {}}]", "tools[0].parameters"},
        {"[{" GOOD ", \"parameters\": {\"type\": \"string\"}}]", "tools[0].parameters"},
        {"[{" GOOD ", \"parameters\": {\"type\": \"object\", \"properties\": []}}]", "tools[0].parameters.properties"},
        {"[{" GOOD ", \"description\": 5}]", "tools[0].description"},
};

static void names_what_is_wrong(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
                char *text = NULL;
                struct err e = {0};
                if (take(refused[i].list, &text, &e) == 0 || strcmp(e.field, refused[i].field) != 0)
                        fail_msg("%s: %s (%s)", refused[i].list, e.field, e.message);
        }
}

/* ---- run_python */

static const struct config config = {.session_idle_s = 900};

static json_t *describe(const struct agent_settings *settings, enum tool_format format) {
        json_t *environment =
                json_pack("{s:s, s:[s, s, s]}", "python", "3.12.1", "libraries", "numpy", "pandas", "pillow");
        json_t *tool = tool_run_python(&config, environment, settings, format);
        assert_non_null(tool);
        json_decref(environment);
        return tool;
}

static void has(const json_t *tool, const char *part) {
        const char *text = json_string_value(json_object_get(tool, "description"));
        if (!text || !strstr(text, part))
                fail_msg("not in: %s: %s", text, part);
}

static void has_not(const json_t *tool, const char *part) {
        assert_null(strstr(json_string_value(json_object_get(tool, "description")), part));
}

static void says_what_holds(void **state) {
        struct agent_settings fresh = {.timeout_ms = 20000, .timeout_max_ms = 60000};
        struct agent_settings stateful = {.stateful = true, .timeout_ms = 7000, .timeout_max_ms = 7000};
        (void)state;
        json_t *tool = describe(&fresh, TOOL_MCP);
        has(tool, "Python 3.12 code");
        has(tool, "each call starts fresh");
        has(tool, "at most 20 s, or up to 60 s with `timeout_s`");
        has(tool, "512 MiB");
        has(tool, "Network: none");
        has(tool, "the standard library, numpy, pandas and pillow.");
        has(tool, "at most 4 MB each, 16 MB and 256 files");
        has_not(tool, "share one interpreter");
        json_decref(tool);
        tool = describe(&stateful, TOOL_MCP);
        has(tool, "share one interpreter");
        has(tool, "the files stay");
        has(tool, "After 900 s without a call");
        has(tool, "at most 7 s;");
        has_not(tool, "timeout_s");
        has_not(tool, "fresh");
        json_decref(tool);
}

static void a_model_is_offered_no_choice_that_it_has_not(void **state) {
        struct agent_settings fresh = {.timeout_ms = 20000, .timeout_max_ms = 60000};
        struct agent_settings bound = {.timeout_ms = 20000, .timeout_max_ms = 20000};
        (void)state;
        json_t *tool = describe(&fresh, TOOL_ANTHROPIC);
        json_t *properties = json_object_get(json_object_get(tool, "input_schema"), "properties");
        assert_int_equal(json_object_size(properties), 2);
        assert_true(json_number_value(json_object_get(json_object_get(properties, "timeout_s"), "maximum")) == 60);
        json_decref(tool);
        tool = describe(&bound, TOOL_ANTHROPIC);
        properties = json_object_get(json_object_get(tool, "input_schema"), "properties");
        assert_int_equal(json_object_size(properties), 1);
        json_decref(tool);
}

static void an_image_may_say_nothing(void **state) {
        struct agent_settings fresh = {.timeout_ms = 20000, .timeout_max_ms = 60000};
        json_t *environment = json_object();
        (void)state;
        json_t *tool = tool_run_python(&config, environment, &fresh, TOOL_MCP);
        has(tool, "Runs Python 3 code");
        has(tool, "Packages: the standard library.");
        json_decref(tool);
        json_decref(environment);
}

static void knows_its_formats(void **state) {
        (void)state;
        assert_int_equal(tool_format_of("openai"), TOOL_OPENAI);
        assert_int_equal(tool_format_of("openai-responses"), TOOL_OPENAI_RESPONSES);
        assert_int_equal(tool_format_of("mcp"), TOOL_MCP);
        assert_int_equal(tool_format_of("MCP"), -1);
        assert_int_equal(tool_format_of(""), -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(fills_in_what_is_left_out),
                cmocka_unit_test(names_what_is_wrong),
                cmocka_unit_test(says_what_holds),
                cmocka_unit_test(a_model_is_offered_no_choice_that_it_has_not),
                cmocka_unit_test(an_image_may_say_nothing),
                cmocka_unit_test(knows_its_formats),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
