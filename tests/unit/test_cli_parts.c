/*
 * Small parts of platformctl: base64, UTF-8, addresses, sizes for people.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base64.h"
#include "cli/http_client.h"
#include "cli/output.h"
#include "cli/utf8.h"

/* The vectors of RFC 4648, section 10. */
static void test_base64_vectors(void **state) {
        static const char *const pairs[][2] = {{"", ""},
                                               {"f", "Zg=="},
                                               {"fo", "Zm8="},
                                               {"foo", "Zm9v"},
                                               {"foob", "Zm9vYg=="},
                                               {"fooba", "Zm9vYmE="},
                                               {"foobar", "Zm9vYmFy"}};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
                CLEANUP_FREE char *text = base64_encode(pairs[i][0], strlen(pairs[i][0]));
                CLEANUP_FREE void *bytes = NULL;
                size_t length;
                assert_string_equal(text, pairs[i][1]);
                assert_int_equal(base64_decode(text, strlen(text), &bytes, &length), 0);
                assert_int_equal(length, strlen(pairs[i][0]));
                assert_memory_equal(bytes, pairs[i][0], length);
        }
}

static void test_base64_round_trip(void **state) {
        unsigned char bytes[259];
        (void)state;
        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (unsigned char)(255 - i);
        for (size_t length = 0; length <= sizeof(bytes); length++) {
                CLEANUP_FREE char *text = base64_encode(bytes, length);
                CLEANUP_FREE void *back = NULL;
                size_t back_length;
                assert_int_equal(base64_decode(text, strlen(text), &back, &back_length), 0);
                assert_int_equal(back_length, length);
                assert_memory_equal(back, bytes, length);
        }
}

static void test_base64_refusals(void **state) {
        static const char *const texts[] = {"Z",        "Zg",    "Zg=",    "Z===", "====", "=g==", "Z=g=",
                                            "Zg==Zg==", "Zg\n=", "Zm9v\n", "Zm9-", "Zm9_", "Zm 9", "\xff\xff\xff\xff"};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                void *bytes;
                size_t length;
                if (base64_decode(texts[i], strlen(texts[i]), &bytes, &length) != -EINVAL)
                        fail_msg("%s was taken", texts[i]);
        }
        void *bytes;
        size_t length;
        assert_int_equal(base64_decode("Zm\09", 4, &bytes, &length), -EINVAL);
}

static void test_utf8(void **state) {
        (void)state;
        assert_int_equal(utf8_valid_prefix("aé€😀", 10), 10);
        assert_int_equal(utf8_valid_prefix("aé€😀", 9), 6);
        assert_int_equal(utf8_valid_prefix("a\0b", 3), 3);
        assert_int_equal(utf8_valid_prefix("ab\xc0\x80", 4), 2);
        assert_int_equal(utf8_valid_prefix("\xed\x9f\xbf\xed\xa0\x80", 6), 3);
        assert_int_equal(utf8_valid_prefix("\xf4\x8f\xbf\xbf\xf4\x90\x80\x80", 8), 4);
        assert_int_equal(utf8_valid_prefix("\xf5\x80\x80\x80", 4), 0);
        assert_int_equal(utf8_columns("aé€😀"), 4);
}

/* The key of this machine goes to these addresses only. */
static void test_addresses_of_this_machine(void **state) {
        static const char *const own[] = {"http://127.0.0.1:8080", "http://127.1.2.3", "https://localhost:1/",
                                          "http://[::1]:8080",     "http://LOCALHOST", "http://127.0.0.1/prefix",
                                          "http://127.1"};
        static const char *const foreign[] = {"http://128.0.0.1",
                                              "http://10.0.0.1",
                                              "http://0.0.0.0:8080",
                                              "http://localhost.example.org",
                                              "http://127.0.0.1.example.org",
                                              "http://[::2]",
                                              "http://127.0.0.1@example.org",
                                              "http://example.org/127.0.0.1",
                                              "nonsense://",
                                              "http://x.localhost",
                                              "http://example.org#@127.0.0.1",
                                              ""};
        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                if (!http_url_is_loopback(own[i]))
                        fail_msg("%s is this machine", own[i]);
        for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
                if (http_url_is_loopback(foreign[i]))
                        fail_msg("%s is elsewhere", foreign[i]);
}

static void test_sizes(void **state) {
        (void)state;
        assert_string_equal(human_bytes(0), "0 B");
        assert_string_equal(human_bytes(999), "999 B");
        assert_string_equal(human_bytes(1234), "1.2 kB");
        assert_string_equal(human_bytes(5200000), "5.2 MB");
        assert_string_equal(human_bytes(3e15), "3000.0 TB");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_base64_vectors),
                cmocka_unit_test(test_base64_round_trip),
                cmocka_unit_test(test_base64_refusals),
                cmocka_unit_test(test_utf8),
                cmocka_unit_test(test_addresses_of_this_machine),
                cmocka_unit_test(test_sizes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
