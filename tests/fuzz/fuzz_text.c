/* Fuzz target: any output becomes valid JSON, whole or cut, in whatever pieces it came. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "run/json_out.h"
#include "run/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void add(struct output *output, const uint8_t *bytes, size_t length) {
        while (length > 0) {
                size_t room;
                char *to = output_space(output, length, &room);
                memcpy(to, bytes, room);
                output_added(output, room);
                bytes += room;
                length -= room;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        if (length < 2)
                return 0;
        struct output output;
        struct json_out out;
        output_init(&output, 2 + bytes[0]);
        size_t first = bytes[1] < length - 2 ? bytes[1] : length - 2;
        add(&output, bytes + 2, first);
        add(&output, bytes + 2 + first, length - 2 - first);
        json_out_init(&out, 0);
        output_write_json(&output, &out);
        assert(!out.failed);
        json_t *value = json_loadb(out.bytes, out.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert(json_is_string(value));
        assert(output_truncated(&output) == (length - 2 > (size_t)2 + bytes[0]));
        json_decref(value);
        json_out_deinit(&out);
        output_deinit(&output);
        return 0;
}
