/* Fuzz target: forms as a client sends them; the first line is the content type. What is found lies within them. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/door_multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)api, (void)exit_status, (void)why;
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        const uint8_t *line = memchr(bytes, '\n', length);
        struct multipart_file file;
        struct err e = {0};
        if (!line)
                return 0;
        size_t type_length = (size_t)(line - bytes), body_length = length - type_length - 1;
        char *type = strndup((const char *)bytes, type_length);
        char *body = malloc(body_length + 1); /* of its own, so that a step beyond its end is seen */
        assert(type && body);
        memcpy(body, line + 1, body_length);
        if (multipart_find_file(type, body, body_length, &file, &e) == 0) {
                assert(strlen(file.name) > 0 && strlen(file.name) < sizeof(file.name));
                assert(file.bytes >= body && file.bytes + file.length <= body + body_length);
        } else {
                assert(e.message[0]);
        }
        free(type);
        free(body);
        return 0;
}
