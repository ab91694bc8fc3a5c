/* Fuzz target: the body of POST /v1/execute. What is taken obeys every limit; what is refused says why. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/execute_request.h"
#include "api/json.h"
#include "base/config.h"
#include "run/text.h"
#include "run/work_channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

void api_quit(struct api *api, int exit_status, const char *why) {
        (void)api;
        (void)exit_status;
        (void)why;
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
        const struct config config = {.execute_timeout_s = 20, .execute_max_timeout_s = 60};
        struct execute_request execute = {.body = NULL};
        struct err e = {0};
        int r = json_parse_object((const char *)bytes, length, &execute.body, &e);
        if (r == 0)
                r = execute_request_decode(&execute, &config, execute.body, &e);
        if (r != 0) {
                assert(r == -EINVAL || r == -ENOMEM);
                assert(e.message[0]);
        } else {
                assert(execute.run.timeout_ms <= 60000);
                assert(execute.run.input_count <= INPUTS_MAX);
                for (size_t i = 0; i < execute.run.input_count; i++)
                        assert(work_name_is_good(execute.inputs[i].name, execute.inputs[i].name_length));
        }
        execute_request_deinit(&execute);
        return 0;
}
