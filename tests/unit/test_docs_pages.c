/* The documentation within the program, and which path leads to which page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/docs_pages.h"

static void pages_have_short_addresses(void **state) {
        (void)state;
        const struct asset *page = docs_find("run-code");
        assert_non_null(page);
        assert_string_equal(page->path, "run-code.html");
        assert_string_equal(page->media_type, "text/html; charset=utf-8");
        assert_ptr_equal(docs_find("run-code.html"), page);
        assert_string_equal(docs_find("")->path, "index.html");
        assert_string_equal(docs_find("decisions/0011-one-writer-thread")->path, "decisions/0011-one-writer-thread.html");
        assert_string_equal(docs_find("style.css")->media_type, "text/css; charset=utf-8");
}

static void nothing_else_is_there(void **state) {
        static const char *const paths[] = {"run",  "run-code.", "run-code.htm", "run-code/", "decisions/", "..", "../etc/passwd",
                                            "html", ".html",     "images/",      "/",         "index.html/"};
        (void)state;
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
                if (docs_find(paths[i]))
                        fail_msg("found: %s", paths[i]);
}

static void no_page_has_a_script(void **state) {
        size_t pages = 0;
        (void)state;
        for (const struct asset *asset = docs_assets; asset->path; asset++) {
                if (!strstr(asset->path, ".html"))
                        continue;
                pages++;
                assert_null(memmem(asset->bytes, asset->length, "<script", 7));
                assert_null(memmem(asset->bytes, asset->length, "style=", 6));
                assert_non_null(memmem(asset->bytes, asset->length, "<main id=\"content\">", 19));
        }
        assert_true(pages > 12);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pages_have_short_addresses),
                cmocka_unit_test(nothing_else_is_there),
                cmocka_unit_test(no_page_has_a_script),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
