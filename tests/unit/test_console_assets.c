/* The Console's files within the program, and which path leads to which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/console_assets.h"

static const struct asset *find(const char *path) {
        return console_asset_find(path);
}

static void has_its_files(void **state) {
        size_t scripts = 0;
        (void)state;
        for (const struct asset *asset = console_assets; asset->path; asset++) {
                assert_ptr_equal(find(asset->path), asset);
                assert_int_equal(strlen(asset->hash), 32);
                assert_true(asset->length > 0 && (!asset->gzip || asset->gzip_length < asset->length));
                if (asset->gzip)
                        assert_memory_equal(asset->gzip, "\x1f\x8b", 2);
                assert_true(asset->immutable == (strncmp(asset->path, "assets/", 7) == 0));
                scripts += strcmp(asset->media_type, "text/javascript; charset=utf-8") == 0;
        }
        assert_true(scripts > 0);
        assert_non_null(memmem(find("index.html")->bytes, find("index.html")->length, "<!doctype html>", 15));
}

static void views_are_the_page(void **state) {
        static const char *const views[] = {"",       "conversations", "conversations/", "conversations/a.b:c-d_e",
                                            "status", "a/b/c",         "login"};
        (void)state;
        for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
                assert_ptr_equal(find(views[i]), find("index.html"));
}

static void nothing_else_is_there(void **state) {
        static const char *const paths[] = {"assets/",
                                            "assets/gone.js",
                                            "assets/x",
                                            "assets/../index.html",
                                            "gone.js",
                                            "favicon.ico",
                                            "..",
                                            ".",
                                            "a/..",
                                            "../etc/passwd",
                                            "a/../b",
                                            "a/./b",
                                            "../../../../etc/shadow",
                                            "index.html~x.y",
                                            ".git/../config"};
        (void)state;
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
                if (find(paths[i]))
                        fail_msg("found: %s", paths[i]);
}

static void knows_its_paths(void **state) {
        (void)state;
        assert_true(console_owns("/console") && console_owns("/console/") && console_owns("/console/x"));
        assert_false(console_owns("/consolex") || console_owns("/v1/console") || console_owns("/") ||
                     console_owns("/consol"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(has_its_files),
                cmocka_unit_test(views_are_the_page),
                cmocka_unit_test(nothing_else_is_there),
                cmocka_unit_test(knows_its_paths),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
