/* Where the service may listen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/http_listen.h"
#include "base/cleanup.h"

static void listens(void **state) {
        static const char *const addresses[][2] = {
                {"127.0.0.1:0", "127.0.0.1:"},
                {"127.0.0.77:0", "127.0.0.77:"},
                {"0.0.0.0:0", "0.0.0.0:"},
                {"[::1]:0", "[::1]:"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
                struct err e = {.code = 0};
                char text[LISTEN_TEXT_BYTES];
                int fd;
                if (http_listen(addresses[i][0], &fd, &e) < 0) {
                        if (addresses[i][0][0] == '[')
                                continue; /* this machine has no IPv6 */
                        fail_msg("%s", e.message);
                }
                http_listen_text(fd, text);
                assert_memory_equal(text, addresses[i][1], strlen(addresses[i][1]));
                assert_true(atoi(strrchr(text, ':') + 1) > 0);

                int second;
                assert_true(http_listen(text, &second, &e) < 0);
                assert_non_null(strstr(e.message, "another program"));
                assert_string_equal(e.field, "SANDBOX_LISTEN");
                close(fd);
                assert_int_equal(http_listen(text, &second, &e), 0);
                close(second);
        }
}

static void refuses_what_is_no_address(void **state) {
        static const char *const bad[] = {
                "",
                ":",
                "8080",
                ":8080",
                "localhost:8080",
                "127.0.0.1",
                "127.0.0.1:",
                "127.0.0.1:x",
                "127.0.0.1:65536",
                "127.0.0.1:-1",
                "127.0.0.1:80x",
                "127.0.0:80",
                "[::1]",
                "[::1:80",
                "[]:80",
                "256.0.0.1:80",
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                struct err e = {.code = 0};
                int fd = -1;
                if (http_listen(bad[i], &fd, &e) == 0)
                        fail_msg("taken: %s", bad[i]);
                assert_int_equal(fd, -1);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(listens),
                cmocka_unit_test(refuses_what_is_no_address),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
