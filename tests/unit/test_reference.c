/* References to images: which registry they name, and whether it is one of the operator's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "import/reference.h"

static void test_which_registry(void **state) {
        static const struct {
                const char *reference, *registry;
        } rows[] = {
                {"docker://python", "docker.io"},
                {"docker://python:3.12-slim", "docker.io"},
                {"docker://acme/agent", "docker.io"},
                {"docker://ghcr.io/acme/agent:1.2", "ghcr.io"},
                {"docker://GHCR.io/acme/agent", "GHCR.io"},
                {"docker://registry.internal:5000/agent@sha256:00", "registry.internal:5000"},
                {"docker://registry:5000/agent", "registry:5000"},
                {"docker://localhost/agent", "localhost"},
                {"docker://localhosts/agent", "docker.io"},
                {"docker://10.0.0.1/agent", "10.0.0.1"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char registry[REGISTRY_MAX];
                struct err e = {0};
                assert_int_equal(reference_registry(rows[i].reference, registry, &e), 0);
                assert_string_equal(registry, rows[i].registry);
        }
}

static void test_what_is_no_reference(void **state) {
        static const char *const bad[] = {
                "",          "python",           "oci:/etc",          "docker:/x",      "docker://",
                "docker:///x", "docker://-x",      "docker://a b",      "docker://a//b",  "docker://a\nb",
                "docker://.x", "docker://_x", "docker://:5000/x", "docker://@x", "docker://a?b", "docker://a/b#c",   "docker://\xc3\xa9/x", "DOCKER://x",
        };
        char registry[REGISTRY_MAX], text[1024];
        struct err e = {0};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                assert_true(reference_registry(bad[i], registry, &e) < 0);
                assert_string_equal(e.field, "image");
        }
        memset(text, 'a', sizeof(text));
        memcpy(text, "docker://", 9);
        text[sizeof(text) - 1] = '\0';
        assert_true(reference_registry(text, registry, &e) < 0);
        text[REFERENCE_MAX] = '\0'; /* one that is not too long, with a host that is */
        memcpy(text + REGISTRY_MAX + 20, ".x/", 3);
        assert_true(reference_registry(text, registry, &e) < 0);
}

static void test_the_list(void **state) {
        static const char list[] = "docker.io, ghcr.io,http://registry.internal:5000";
        bool plain = true;
        (void)state;
        assert_true(reference_allowed(list, "docker.io", &plain) && !plain);
        assert_true(reference_allowed(list, "GHCR.IO", &plain) && !plain);
        assert_true(reference_allowed(list, "registry.internal:5000", &plain) && plain);
        static const char *const others[] = {"docker.io.evil.example", "evil.docker.io", "docker.i", "ocker.io", "",
                                             "registry.internal", "http://registry.internal:5000", "ghcr.io,docker.io"};
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_false(reference_allowed(list, others[i], &plain));
        assert_false(reference_allowed("", "docker.io", &plain));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_which_registry),
                cmocka_unit_test(test_what_is_no_reference),
                cmocka_unit_test(test_the_list),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
