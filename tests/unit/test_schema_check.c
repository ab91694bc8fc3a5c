/* Arguments against a tool's JSON Schema: what fits, what does not, and which argument is named. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schema_check.h"
#include "base/cleanup.h"

#define DEFS "\"$defs\": {\"T\": {\"type\": \"object\", \"properties\": {\"next\": {\"$ref\": \"#/$defs/T\"},"               \
             " \"v\": {\"type\": \"integer\"}}, \"required\": [\"v\"]}}"

/* `field` NULL: it fits. */
static const struct {
        const char *schema, *arguments, *field, *words;
} cases[] = {
        {"{}", "{\"x\": 1}", NULL, NULL},
        {"{\"type\": \"object\"}", "{}", NULL, NULL},
        {"{\"required\": [\"a\"]}", "{}", "arguments.a", "is missing"},
        {"{\"required\": [\"a\"]}", "{\"a\": null}", NULL, NULL},
        {"{\"properties\": {\"a\": {}}, \"additionalProperties\": false}", "{\"b\": 1}", "arguments.b", "not an argument"},
        {"{\"patternProperties\": {\"^b\": {}}, \"additionalProperties\": false}", "{\"b\": 1}", NULL, NULL},
        {"{\"additionalProperties\": {\"type\": \"string\"}}", "{\"b\": 1}", "arguments.b", "a string"},
        {"{\"properties\": {\"a\": {\"type\": \"integer\"}}}", "{\"a\": 1}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"type\": \"integer\"}}}", "{\"a\": 1.0}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"type\": \"integer\"}}}", "{\"a\": 1.5}", "arguments.a", "a whole number"},
        {"{\"properties\": {\"a\": {\"type\": \"integer\"}}}", "{\"a\": true}", "arguments.a", "a whole number"},
        {"{\"properties\": {\"a\": {\"type\": \"integer\"}}}", "{\"a\": \"1\"}", "arguments.a", "a whole number"},
        {"{\"properties\": {\"a\": {\"type\": \"number\"}}}", "{\"a\": 2}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"type\": [\"string\", \"null\"]}}}", "{\"a\": null}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"type\": [\"string\", \"null\"]}}}", "{\"a\": 1}", "arguments.a", "a string or null"},
        {"{\"properties\": {\"a\": {\"type\": \"of no sense\"}}}", "{\"a\": 1}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"enum\": [\"x\", 2]}}}", "{\"a\": 2.0}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"enum\": [\"x\", 2]}}}", "{\"a\": \"y\"}", "arguments.a", "[\"x\", 2]"},
        {"{\"properties\": {\"a\": {\"const\": {\"b\": 1}}}}", "{\"a\": {\"b\": 1}}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"const\": 5}}}", "{\"a\": 6}", "arguments.a", "must be 5"},
        {"{\"properties\": {\"a\": {\"minimum\": 1, \"maximum\": 3}}}", "{\"a\": 3}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"minimum\": 1}}}", "{\"a\": 0}", "arguments.a", "at least 1"},
        {"{\"properties\": {\"a\": {\"maximum\": 3}}}", "{\"a\": 4}", "arguments.a", "at most 3"},
        {"{\"properties\": {\"a\": {\"exclusiveMinimum\": 1}}}", "{\"a\": 1}", "arguments.a", "greater than 1"},
        {"{\"properties\": {\"a\": {\"exclusiveMaximum\": 1}}}", "{\"a\": 1}", "arguments.a", "less than 1"},
        {"{\"properties\": {\"a\": {\"multipleOf\": 0.1}}}", "{\"a\": 0.3}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"multipleOf\": 5}}}", "{\"a\": 7}", "arguments.a", "multiple of 5"},
        {"{\"properties\": {\"a\": {\"maxLength\": 2}}}", "{\"a\": \"\xc3\xa4\xc3\xb6\"}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"maxLength\": 2}}}", "{\"a\": \"abc\"}", "arguments.a", "at most 2 characters"},
        {"{\"properties\": {\"a\": {\"minLength\": 2}}}", "{\"a\": \"a\"}", "arguments.a", "at least 2 characters"},
        {"{\"properties\": {\"a\": {\"items\": {\"type\": \"integer\"}}}}", "{\"a\": [1, \"x\"]}", "arguments.a[1]", "whole"},
        {"{\"properties\": {\"a\": {\"maxItems\": 1}}}", "{\"a\": [1, 2]}", "arguments.a", "at most 1 items"},
        {"{\"properties\": {\"a\": {\"prefixItems\": [{}, {\"type\": \"null\"}], \"items\": false}}}", "{\"a\": [1, null]}",
         NULL, NULL},
        {"{\"properties\": {\"a\": {\"prefixItems\": [{}], \"items\": false}}}", "{\"a\": [1, 2]}", "arguments.a[1]",
         "too many"},
        {"{\"properties\": {\"a\": {\"uniqueItems\": true}}}", "{\"a\": [1, 2, 1.0]}", "arguments.a", "0 and 2"},
        {"{\"minProperties\": 1}", "{}", "arguments", "at least 1 members"},
        {"{\"properties\": {\"a\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}}}", "{\"a\": null}", NULL, NULL},
        {"{\"properties\": {\"a\": {\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}}}", "{\"a\": 1}", "arguments.a",
         "none of the 2 forms"},
        {"{\"properties\": {\"a\": {\"oneOf\": [{\"type\": \"number\"}, {\"minimum\": 1}]}}}", "{\"a\": 2}", "arguments.a",
         "fits 2"},
        {"{\"properties\": {\"a\": {\"allOf\": [{\"type\": \"number\"}, {\"minimum\": 1}]}}}", "{\"a\": 0}", "arguments.a",
         "at least 1"},
        {"{\"properties\": {\"a\": {\"not\": {\"type\": \"null\"}}}}", "{\"a\": null}", "arguments.a", "does not take"},
        {"{\"properties\": {\"a\": {\"$ref\": \"#/$defs/T\"}}, " DEFS "}", "{\"a\": {\"v\": 1, \"next\": {\"v\": 2}}}", NULL,
         NULL},
        {"{\"properties\": {\"a\": {\"$ref\": \"#/$defs/T\"}}, " DEFS "}", "{\"a\": {\"v\": 1, \"next\": {\"v\": \"2\"}}}",
         "arguments.a.next.v", "whole number"},
        {"{\"$ref\": \"#\"}", "{}", "arguments", "nested deeper"},
        {"{\"$ref\": \"#/$defs/none\"}", "{}", NULL, NULL},
        {"{\"properties\": 5, \"required\": 5, \"enum\": 5, \"items\": 5, \"anyOf\": 5, \"$ref\": 5}", "{\"a\": [1]}", NULL, NULL},
};

static void each_case(void **state) {
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                json_t *schema = json_loads(cases[i].schema, 0, NULL), *arguments = json_loads(cases[i].arguments, 0, NULL);
                struct err e = {0};
                assert_non_null(schema);
                assert_non_null(arguments);
                int r = schema_check(schema, arguments, "arguments", &e);
                bool right = cases[i].field ? r == -EINVAL && strcmp(e.field, cases[i].field) == 0 &&
                                                      strstr(e.message, cases[i].words)
                                            : r == 0;
                if (!right)
                        fail_msg("%s %s: %d, %s: %s", cases[i].schema, cases[i].arguments, r, e.field, e.message);
                json_decref(schema);
                json_decref(arguments);
        }
}

/* Forms in forms, each twice: without a bound they would be looked at 2^60 times. */
static void work_is_bounded(void **state) {
        json_t *schema = json_pack("{s:s}", "type", "string");
        struct err e = {0};
        (void)state;
        for (int i = 0; i < 60; i++)
                schema = json_pack("{s:[o, O]}", "anyOf", schema, schema);
        json_t *arguments = json_object();
        assert_int_equal(schema_check(schema, arguments, "arguments", &e), -EINVAL);
        json_decref(arguments);
        json_decref(schema);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(each_case), cmocka_unit_test(work_is_bounded)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
