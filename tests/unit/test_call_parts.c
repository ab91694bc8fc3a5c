/* Pure parts of calls and deployments: the environment, references, what imports and discoveries say, hints. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/call_env.h"
#include "api/call_hint.h"
#include "api/deploy_image.h"
#include "base/cleanup.h"
#include "base/config.h"

#define DIGEST "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void names_that_look_like_credentials_are_left_out(void **state) {
        static const char *const out[] = {
                "OPENAI_API_KEY", "aws_secret_access_key", "AWS_REGION", "GITHUB_TOKEN", "DB_PASSWORD", "PGPASSFILE", "KEY",
                "STRIPE_KEY", "MY_KEY_FILE", "AUTH_TOKEN_2", "SESSION_COOKIE", "DATABASE_URL", "SENTRY_DSN", "MYSECRET",
                "SANDBOX_ADMIN_KEY", "CODE_SANDBOX_URL", "Code_Sandbox_Key", "SSH_AUTH_SOCK", "SMTP_PASS", "NPM_TOKEN",
                "CODE_INTERPRETER_SESSION", "KUBECONFIG", "X_CREDENTIALS",
        };
        static const char *const in[] = {
                "PATH", "PYTHONPATH", "LANG", "TOKENIZERS_PARALLELISM", "MONKEY", "KEYBOARD", "PASSENGERS", "AUTHOR",
                "PYTHON_VERSION", "SHOP_CURRENCY",
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(out); i++)
                if (!call_env_is_left_out(out[i], "x", ""))
                        fail_msg("%s", out[i]);
        for (size_t i = 0; i < ARRAY_SIZE(in); i++)
                if (call_env_is_left_out(in[i], "x", ""))
                        fail_msg("%s", in[i]);
        assert_true(call_env_is_left_out("PROXY", "http://me:pass@proxy:3128/", ""));
        assert_false(call_env_is_left_out("PROXY", "http://proxy:3128/a:b@c", ""));
        assert_true(call_env_is_left_out("CORP_ID", "1", "OTHER,corp_*"));
        assert_false(call_env_is_left_out("CORP_ID", "1", "OTHER,CORP"));
}

static void the_environment_is_the_images(void **state) {
        json_t *list = json_pack("[s,s,s,s,s,i]", "A=1", "B=x=y", "A=2", "API_KEY=no", "no equals", 5);
        (void)state;
        json_t *environment = call_env_of(list, "");
        assert_int_equal(json_object_size(environment), 2);
        assert_string_equal(json_string_value(json_object_get(environment, "A")), "2");
        assert_string_equal(json_string_value(json_object_get(environment, "B")), "x=y");
        json_decref(environment);
        json_decref(list);
        environment = call_env_of(NULL, "");
        assert_int_equal(json_object_size(environment), 0);
        json_decref(environment);
}

static void references_name_registries(void **state) {
        static const struct {
                const char *reference;
                bool good;
        } cases[] = {
                {"docker://ghcr.io/acme/shop:1", true},      {"docker://shop", true}, /* docker.io's */
                {"docker://GHCR.IO/x", true},                {"docker://registry.local:5000/x@sha256:ab", true},
                {"docker://evil.example/shop", false},       {"docker://ghcr.io.evil.example/x", false},
                {"docker://localhost/x", false},             {"ghcr.io/acme/shop", false},
                {"docker://", false},                        {"oci:/etc", false},
                {"docker://ghcr.io/x --all", false},         {"docker:///etc/passwd", false},
                {"docker://ghcr.io/x\nHost: y", false},      {"dir:/etc", false},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct err e = {0};
                int r = deploy_check_reference(cases[i].reference, "docker.io,ghcr.io,registry.local:5000", &e);
                if ((r == 0) != cases[i].good)
                        fail_msg("%s: %s", cases[i].reference, e.message);
                assert_string_equal(e.field, cases[i].good ? "" : "image");
        }
        struct err e = {0};
        /* A list as operators write it, and what the import would refuse in any case. */
        assert_int_equal(deploy_check_reference("docker://ghcr.io/x", "docker.io, ghcr.io", &e), 0);
        assert_int_equal(deploy_check_reference("docker://ghcr.io//x", "docker.io, ghcr.io", &e), -EINVAL);
        assert_int_equal(deploy_check_reference("docker://ghcr.io/x", "", &e), -EINVAL);
        assert_non_null(strstr(e.message, "SANDBOX_REGISTRIES"));
}

static int take_image(const char *said, struct store_image *image, bool *known, struct err *e) {
        static const struct config config = {.env_strip = (char *)"CORP_*", .registries = (char *)""};
        const struct json_span span = {said, strlen(said)};
        return deploy_take_image(&span, &config, image, known, e);
}

static void an_import_describes_its_image(void **state) {
        CLEANUP(store_image_deinit) struct store_image image = {.env = NULL};
        struct err e = {0};
        bool known;
        (void)state;
        assert_int_equal(take_image("{\"digest\": \"" DIGEST "\", \"env\": [\"A=1\", \"X_TOKEN=t\", \"CORP_X=1\"],"
                                    " \"working_dir\": \"/app\", \"python\": \"/usr/bin/python3\"}",
                                    &image, &known, &e),
                         0);
        assert_false(known);
        assert_string_equal(image.digest, DIGEST);
        assert_string_equal(image.env, "[\"A=1\"]");
        assert_string_equal(image.working_dir, "/app");
}

static void what_an_import_says_is_checked(void **state) {
        static const char *const bad[] = {
                "{}", "{\"digest\": \"sha256:xyz\", \"working_dir\": \"/\"}", "{\"digest\": \"" DIGEST "\"}",
                "{\"digest\": \"" DIGEST "\", \"working_dir\": \"app\"}",
                "{\"digest\": \"" DIGEST "\", \"working_dir\": \"/\", \"env\": 5}",
                "{\"digest\": \"" DIGEST "0\", \"working_dir\": \"/\"}",
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                CLEANUP(store_image_deinit) struct store_image image = {.env = NULL};
                struct err e = {0};
                bool known;
                if (take_image(bad[i], &image, &known, &e) != -EINVAL)
                        fail_msg("%s", bad[i]);
        }
        assert_null(deploy_progress("{\"done\": 1}", 11));
        assert_null(deploy_progress("no", 2));
        static const char said[] = "{\"step\": \"unpack\", \"done\": -1, \"total\": 5, \"x\": 1}";
        json_t *progress = deploy_progress(said, strlen(said));
        assert_non_null(progress);
        assert_int_equal(json_object_size(progress), 4);
        assert_true(json_is_null(json_object_get(progress, "done")));
        json_decref(progress);
}

static int take_tools(const char *said, char **tools, char python[STORE_PYTHON_MAX + 1], struct err *e) {
        struct call_end end = {.bytes = NULL};
        call_end_take(&end, said, strlen(said));
        int r = deploy_take_tools(&end, tools, python, e);
        call_end_deinit(&end);
        return r;
}

static void a_discovery_names_tools(void **state) {
        static const struct {
                const char *said, *words;
        } bad[] = {
                {"{\"tools\": [], \"python\": \"3.9.2\", \"implementation\": \"cpython\"}", "3.9; tools need 3.10"},
                {"{\"tools\": [], \"python\": \"3.12\", \"implementation\": \"pypy\"}", "CPython"},
                {"{\"tools\": [], \"implementation\": \"cpython\"}", "version"},
                {"{\"tools\": [{\"name\": \"a b\", \"entrypoint\": \"m:f\"}], \"python\": \"3.12.1\", \"implementation\": "
                 "\"cpython\"}",
                 "tools[0].name"},
                {"{\"tools\": 5, \"python\": \"3.12.1\", \"implementation\": \"cpython\"}", "list"},
        };
        char python[STORE_PYTHON_MAX + 1];
        CLEANUP_FREE char *tools = NULL;
        struct err e = {0};
        (void)state;
        assert_int_equal(take_tools("{\"tools\": [{\"name\": \"a\", \"entrypoint\": \"m:f\"}], \"python\": \"3.13.0rc1\","
                                    " \"implementation\": \"cpython\"}",
                                    &tools, python, &e),
                         0);
        assert_string_equal(python, "3.13.0rc1");
        assert_non_null(strstr(tools, "\"parameters\""));
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                CLEANUP_FREE char *none = NULL;
                assert_int_equal(take_tools(bad[i].said, &none, python, &e), -EINVAL);
                if (!strstr(e.message, bad[i].words))
                        fail_msg("%s", e.message);
        }
}

static void assert_hint(const struct call_hint_facts *facts, const char *words) {
        char hint[CALL_HINT_BYTES] = "";
        assert_true(call_hint_choose(facts, hint) == (words != NULL));
        if (words && !strstr(hint, words))
                fail_msg("%s", hint);
}

static void hints_say_what_to_do(void **state) {
        struct call_error error = {.message = (char *)"No module named 'httpx'"};
        struct call_hint_facts facts = {.outcome = OUTCOME_ERROR,
                                        .error = &error,
                                        .agent = "shop",
                                        .reference = "docker://ghcr.io/acme/shop:1",
                                        .digest = DIGEST,
                                        .timeout_ms = 30000,
                                        .timeout_max_ms = 120000,
                                        .env_strip = "",
                                        .started = true};
        (void)state;
        strcpy(error.type, "ModuleNotFoundError");
        assert_hint(&facts, "docker://ghcr.io/acme/shop:1 (sha256:aaaaaaaaaaaa) has no module \"httpx\"");
        strcpy(error.type, "LookupError");
        error.message = (char *)"shop has no find";
        assert_hint(&facts, "finds its tools anew");
        strcpy(error.type, "KeyError");
        error.message = (char *)"'OPENAI_API_KEY'";
        assert_hint(&facts, "\"OPENAI_API_KEY\"");
        error.message = (char *)"'currency'";
        assert_hint(&facts, NULL);
        strcpy(error.type, "PermissionError");
        error.message = (char *)"[Errno 13] Permission denied: '/app/cache'";
        assert_hint(&facts, "/mnt/data or /tmp");
        error.message = (char *)"[Errno 1] Operation not permitted"; /* of no file */
        assert_hint(&facts, NULL);
        facts.refused = 2;
        assert_hint(&facts, "2 connections");
        facts.error = NULL;
        facts.outcome = OUTCOME_OK;
        assert_hint(&facts, NULL);
        facts.outcome = OUTCOME_TIMEOUT;
        assert_hint(&facts, "at most 120 s");
        facts.timeout_ms = 120000;
        assert_hint(&facts, "120 s is the most");
        facts.outcome = OUTCOME_OUT_OF_MEMORY;
        assert_hint(&facts, "1 GiB");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_that_look_like_credentials_are_left_out),
                cmocka_unit_test(the_environment_is_the_images),
                cmocka_unit_test(references_name_registries),
                cmocka_unit_test(an_import_describes_its_image),
                cmocka_unit_test(what_an_import_says_is_checked),
                cmocka_unit_test(a_discovery_names_tools),
                cmocka_unit_test(hints_say_what_to_do),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
