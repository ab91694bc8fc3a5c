/* Fuzz target: results as a sandbox sends them. What is taken is one line of JSON, and is taken again unchanged. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/mime_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        size_t first_length, second_length;
        char *first = mime_map_normalise((const char *)bytes, length, &first_length);
        if (!first)
                return 0;
        assert(!memchr(first, '\n', first_length) && strlen(first) == first_length);
        char *second = mime_map_normalise(first, first_length, &second_length);
        assert(second && strcmp(first, second) == 0);
        free(first);
        free(second);
        return 0;
}
