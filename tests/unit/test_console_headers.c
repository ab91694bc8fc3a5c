/* What the Console reads in headers: cookies, origins, encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "api/console_headers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void finds_its_cookie(void **state) {
        static const struct {
                const char *header, *value; /* NULL: not found */
        } rows[] = {
                {NULL, NULL},
                {"", NULL},
                {"c=1", "1"},
                {"c=", ""},
                {"a=2; c=1; b=3", "1"},
                {"a=2;c=1;b=3", "1"},
                {" \t c=1 \t ", "1"},
                {"C=1", NULL},
                {"cc=1", NULL},
                {"c", NULL},
                {"ac=1; xc=2", NULL},
                {"a=c=1", NULL},
                {"c=1=2", "1=2"},
                {";;; c=1;;", "1"},
                {"c=1234567", "1234567"},
                {"c=12345678", NULL},
                {"c=1; c=1", NULL},
                {"c=1; a=2; c=", NULL},
                {"c=12345678; c=1", NULL},
        };
        (void)state;
        for (size_t i = 0; i < COUNT(rows); i++) {
                char value[8];
                bool found = cookie_find(rows[i].header, "c", value, sizeof(value));
                if (found != (rows[i].value != NULL) || (found && strcmp(value, rows[i].value) != 0))
                        fail_msg("row %zu: %s", i, rows[i].header);
        }
}

struct origin_row {
        struct origin origin; /* origin, fetch_site, host, scheme */
        bool changes, reads;
};

static void check_origins(const struct origin_row *rows, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (origin_is_own(&rows[i].origin, false) != rows[i].changes ||
                    origin_is_own(&rows[i].origin, true) != rows[i].reads)
                        fail_msg("row %zu: %s %s", i, rows[i].origin.origin ? rows[i].origin.origin : "-",
                                 rows[i].origin.fetch_site ? rows[i].origin.fetch_site : "-");
}

static void believes_browsers_about_sites(void **state) {
        static const struct origin_row rows[] = {
                {{NULL, NULL, "h", NULL}, true, true}, /* no browser */
                {{NULL, "same-origin", "h", NULL}, true, true},
                {{NULL, "none", "h", NULL}, false, true},       /* typed by a person */
                {{NULL, "same-site", "h", NULL}, false, false}, /* another port of this host */
                {{NULL, "cross-site", "h", NULL}, false, false},
                {{NULL, "", "h", NULL}, false, false},
                {{NULL, "Same-Origin", "h", NULL}, false, false},
                {{NULL, "same-origin, cross-site", "h", NULL}, false, false},
                {{"http://h", "cross-site", "h", NULL}, false, false},
                {{"http://other", "same-origin", "h", NULL}, false, false},
                {{"http://h", "same-origin", "h", NULL}, true, true},
        };
        (void)state;
        check_origins(rows, COUNT(rows));
}

static void compares_origins_with_the_host(void **state) {
        static const struct origin_row rows[] = {
                {{"http://h", NULL, "h", NULL}, true, true},
                {{"https://h", NULL, "h", NULL}, true, true},
                {{"HTTP://H.example", NULL, "h.EXAMPLE", NULL}, true, true},
                {{"http://h:8080", NULL, "h:8080", NULL}, true, true},
                {{"http://[::1]:8080", NULL, "[::1]:8080", NULL}, true, true},
                {{"http://h", NULL, "h:80", NULL}, true, true},
                {{"https://h", NULL, "h:443", NULL}, true, true},
                {{"https://h", NULL, "h", "https"}, true, true},
                {{"https://h", NULL, "h", "https, http"}, true, true},
                {{"http://h", NULL, "h", "http"}, true, true},
                {{"http://h", NULL, "h", "https"}, false, false},
                {{"https://h", NULL, "h", "http"}, false, false},
                {{"http://h:443", NULL, "h", NULL}, false, false},
                {{"http://h:80", NULL, "h", NULL}, false, false}, /* no browser writes that */
                {{"http://h:8080:80", NULL, "h:8080", NULL}, false, false},
                {{"https://h:80", NULL, "h", NULL}, false, false},
                {{"http://h:8081", NULL, "h:8080", NULL}, false, false},
                {{"http://h", NULL, "h:8080", NULL}, false, false},
                {{"http://evil", NULL, "h", NULL}, false, false},
                {{"http://h.evil", NULL, "h", NULL}, false, false},
                {{"http://evil.h", NULL, "h", NULL}, false, false},
                {{"http://h/", NULL, "h", NULL}, false, false},
                {{"http://u@h", NULL, "h", NULL}, false, false},
                {{"null", NULL, "h", NULL}, false, false},
                {{"null", NULL, "null", NULL}, false, false},
                {{"", NULL, "", NULL}, false, false},
                {{"http://", NULL, "", NULL}, false, false},
                {{"h", NULL, "h", NULL}, false, false},
                {{"ftp://h", NULL, "h", NULL}, false, false},
                {{"file://", NULL, "", NULL}, false, false},
                {{"http://h", NULL, NULL, NULL}, false, false},
        };
        (void)state;
        check_origins(rows, COUNT(rows));
}

static void knows_forwarded_https(void **state) {
        (void)state;
        assert_true(forwarded_is_https("https"));
        assert_true(forwarded_is_https(" HTTPS , http"));
        assert_false(forwarded_is_https(NULL));
        assert_false(forwarded_is_https(""));
        assert_false(forwarded_is_https("http"));
        assert_false(forwarded_is_https("http, https"));
        assert_false(forwarded_is_https("httpsx"));
}

static void knows_who_takes_gzip(void **state) {
        static const char *const yes[] = {"gzip",  "deflate, gzip", "GZIP;q=0.5",  "br;q=1.0, gzip;q=0.8, *;q=0.1", "*",
                                          "gzip;", "gzip ; q=1",    "br, *;q=0.5", "identity;q=0.5, gzip;q=0.001"};
        static const char *const no[] = {"",        "br",    "identity", "gzip;q=0",    "gzip; q=0.000",
                                         "gzipped", "*;q=0", "x-gzip",   "*, gzip;q=0", "gzip ;Q=0",
                                         "gzi"};
        (void)state;
        assert_false(encoding_allows_gzip(NULL));
        for (size_t i = 0; i < COUNT(yes); i++)
                if (!encoding_allows_gzip(yes[i]))
                        fail_msg("not understood: %s", yes[i]);
        for (size_t i = 0; i < COUNT(no); i++)
                if (encoding_allows_gzip(no[i]))
                        fail_msg("misunderstood: %s", no[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_its_cookie),
                cmocka_unit_test(believes_browsers_about_sites),
                cmocka_unit_test(compares_origins_with_the_host),
                cmocka_unit_test(knows_forwarded_https),
                cmocka_unit_test(knows_who_takes_gzip),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
