/* The table of endpoints: paths, methods, and names within paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/execute.h"
#include "api/routes.h"

static char storage[256];
static const char *params[HTTP_PARAMS_MAX];
static char allow[ROUTE_ALLOW_BYTES];

static const struct route *find(const char *method, const char *path, enum route_match wanted) {
        const struct route *route = NULL;
        assert_int_equal(route_find(method, path, &route, storage, params, allow), wanted);
        return route;
}

static void finds_paths(void **state) {
        (void)state;
        assert_ptr_equal(find("POST", "/v1/execute", ROUTE_FOUND)->handle, execute_handle);
        assert_int_equal(find("GET", "/healthz", ROUTE_FOUND)->scope, ROUTE_OPEN);
        assert_int_equal(find("HEAD", "/healthz", ROUTE_FOUND)->scope, ROUTE_OPEN);
        assert_int_equal(find("GET", "/v1/environment", ROUTE_FOUND)->scope, ROUTE_PROJECT);
        assert_int_equal(find("GET", "/v1/status", ROUTE_FOUND)->scope, ROUTE_ADMIN);
}

static void knows_nothing_else(void **state) {
        static const char *const paths[] = {
                "",
                "/",
                "//",
                "/v1",
                "/v1/",
                "/v1/execute/",
                "//v1/execute",
                "/v1//execute",
                "/V1/execute",
                "/v1/executes",
                "/v1/execut",
                "/v1/%65xecute",
                "/v1/execute/x",
                "/v1/projects/",
                "/v1/projects//keys",
                "/v1/projects/a/keys/",
                "/v1/projects/a/keys/b/c",
                "/v1/projects/a/other",
                "healthz",
                "/.",
                "/healthz/..",
        };
        (void)state;
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
                const struct route *route;
                if (route_find("GET", paths[i], &route, storage, params, allow) != ROUTE_UNKNOWN)
                        fail_msg("found: %s", paths[i]);
                assert_null(params[0]);
        }
}

static void says_which_methods_there_are(void **state) {
        (void)state;
        find("PUT", "/v1/projects", ROUTE_WRONG_METHOD);
        assert_string_equal(allow, "GET, HEAD, POST");
        find("GET", "/v1/execute", ROUTE_WRONG_METHOD);
        assert_string_equal(allow, "POST");
        find("HEAD", "/v1/execute", ROUTE_WRONG_METHOD);
        find("post", "/v1/execute", ROUTE_WRONG_METHOD);
        find("", "/v1/execute", ROUTE_WRONG_METHOD);
        find("POST", "/v1/projects/a/keys/b", ROUTE_WRONG_METHOD);
        assert_string_equal(allow, "GET, HEAD, DELETE");
        find("POST", "/v1/agents/a", ROUTE_WRONG_METHOD);
        assert_string_equal(allow, "GET, HEAD, PUT, DELETE");
}

static void reads_names(void **state) {
        (void)state;
        find("GET", "/v1/projects/a-b_c.d", ROUTE_FOUND);
        assert_string_equal(params[0], "a-b_c.d");
        assert_null(params[1]);
        find("GET", "/v1/projects/%41%2f%c3%A4/keys/x%2Ey", ROUTE_FOUND);
        assert_string_equal(params[0], "A/\xc3\xa4");
        assert_string_equal(params[1], "x.y");
        find("PUT", "/v1/agents/shop/env/A", ROUTE_FOUND);
        assert_string_equal(params[0], "shop");
        assert_string_equal(params[1], "A");
        find("GET", "/v1/projects/..", ROUTE_FOUND);
        assert_string_equal(params[0], "..");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_paths),
                cmocka_unit_test(knows_nothing_else),
                cmocka_unit_test(says_which_methods_there_are),
                cmocka_unit_test(reads_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
