/* Strict base64: every length there and back, and everything that is nearly base64 refused at the right place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "run/base64.h"

static void comes_back_as_it_went(void **state) {
        (void)state;
        srand(1);
        for (int length = 0; length < 200; length++) {
                unsigned char bytes[200], text[300];
                for (int i = 0; i < length; i++)
                        bytes[i] = (unsigned char)rand();
                size_t text_length = (size_t)EVP_EncodeBlock(text, bytes, length), got, wrong;
                unsigned char *decoded = malloc(BASE64_DECODED_MAX(text_length) + 1);
                assert_int_equal(base64_decode((char *)text, text_length, decoded, &got, &wrong), 0);
                assert_int_equal(got, length);
                assert_memory_equal(decoded, bytes, (size_t)length);
                free(decoded);
        }
}

static const struct {
        const char *text;
        size_t wrong;
} bad[] = {
        {"A", 1},
        {"AA", 2},
        {"AAA", 3},
        {"AAAAA", 5},
        {"=", 1},
        {"====", 0},
        {"A===", 1},
        {"AA=A", 2},
        {"=AAA", 0},
        {"AAAA====", 4},
        {"AAA=AAAA", 3},
        {"not base64 !!", 13},
        {"not base64 !", 3},
        {"AB==", 1},
        {"AAB=", 2},
        {"AA-_", 2},
        {"AAA\n", 3},
        {" AAA", 0},
        {"AAAA\r\nAAAA==", 4},
};

static void refuses_what_is_nearly_base64(void **state) {
        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                size_t length = strlen(bad[i].text), got, wrong = 99;
                unsigned char *decoded = malloc(BASE64_DECODED_MAX(length) + 1);
                if (base64_decode(bad[i].text, length, decoded, &got, &wrong) == 0 || wrong != bad[i].wrong)
                        fail_msg("%s: %zu", bad[i].text, wrong);
                free(decoded);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(comes_back_as_it_went),
                cmocka_unit_test(refuses_what_is_nearly_base64),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
