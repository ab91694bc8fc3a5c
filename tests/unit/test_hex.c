/* Hexadecimal digits of every byte, as printf(3) writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hex.h"

static void every_byte(void **state) {
        (void)state;
        for (unsigned i = 0; i < 256; i++) {
                const unsigned char bytes[] = {(unsigned char)i, (unsigned char)~i};
                char text[HEX_TEXT_BYTES(2)], wanted[HEX_TEXT_BYTES(2)];
                snprintf(wanted, sizeof(wanted), "%02x%02x", bytes[0], bytes[1]);
                hex_write(bytes, sizeof(bytes), text);
                assert_string_equal(text, wanted);
        }
}

static void of_nothing(void **state) {
        char text[HEX_TEXT_BYTES(0)] = "x";
        (void)state;
        hex_write("", 0, text);
        assert_string_equal(text, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_byte),
                cmocka_unit_test(of_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
