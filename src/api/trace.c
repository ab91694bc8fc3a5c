/* The header `traceparent`; see trace.h. */
#include "api/trace.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DIGITS "0123456789abcdef"
#define AT_TRACE 3
#define AT_SPAN 36
#define AT_FLAGS 53
#define SPAN_DIGITS 16
#define LENGTH 55

static bool are_digits(const char *text, size_t count) {
        return strspn(text, DIGITS) >= count;
}

static bool are_zeros(const char *text, size_t count) {
        return strspn(text, "0") >= count;
}

/* A later version may add fields behind those that are known; "ff" is none. */
static bool is_valid(const char *header) {
        size_t length = strlen(header);
        if (length < LENGTH || !are_digits(header, 2) || strncmp(header, "ff", 2) == 0)
                return false;
        if (length > LENGTH && (strncmp(header, "00", 2) == 0 || header[LENGTH] != '-'))
                return false;
        return header[2] == '-' && header[AT_SPAN - 1] == '-' && header[AT_FLAGS - 1] == '-' &&
               are_digits(header + AT_TRACE, TRACE_ID_DIGITS) && are_digits(header + AT_SPAN, SPAN_DIGITS) &&
               are_digits(header + AT_FLAGS, 2) && !are_zeros(header + AT_TRACE, TRACE_ID_DIGITS) &&
               !are_zeros(header + AT_SPAN, SPAN_DIGITS);
}

bool trace_continue(const char *header, char ret[TRACE_BYTES]) {
        unsigned char random[SPAN_DIGITS / 2];
        ret[0] = '\0';
        if (!header || !is_valid(header) || getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return false;
        memcpy(ret, header, LENGTH);
        ret[LENGTH] = '\0';
        memcpy(ret, "00", 2);
        random[0] |= 1; /* a span of zeros is none */
        for (size_t i = 0; i < sizeof(random); i++) {
                ret[AT_SPAN + 2 * i] = DIGITS[random[i] >> 4];
                ret[AT_SPAN + 2 * i + 1] = DIGITS[random[i] & 15];
        }
        return true;
}

void trace_id(const char *parent, char ret[TRACE_ID_BYTES]) {
        snprintf(ret, TRACE_ID_BYTES, "%s", *parent ? parent + AT_TRACE : "");
}
