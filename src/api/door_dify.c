/* dify-sandbox; see door_dify.h. */
#include "api/door_dify.h"

#include <stdio.h>
#include <string.h>

#include "api/door_call.h"
#include "api/http.h"
#include "base/cleanup.h"

/* Dify asks for the network with every run. There is none, which the code notices when it uses it, and says. */
static const char *const fields[] = {"language", "code", "preload", "enable_network", NULL};

/* Dify shows nothing but `error` of a failed run: what ended it belongs there too. */
static void on_run(struct door_call *call, unsigned status, json_t *reply) {
        json_t *hint = json_object_get(reply, "hint"), *errors = json_object_get(reply, "stderr");
        json_t *code = json_object_get(reply, "exit_code");
        bool silent = json_integer_value(code) != 0 && json_string_length(errors) == 0 && json_is_string(hint);
        if (status == 200)
                door_reply(call, 200,
                           json_pack("{s:i, s:s, s:{s:O, s:O, s:O, s:O}}", "code", 0, "message", "success", "data",
                                     "stdout", json_object_get(reply, "stdout"), "stderr", errors, "error",
                                     silent ? hint : errors, "exit_code", code));
        else
                door_pass_error(call, status, reply);
}

/* Its clients put what every run needs into `preload`; it goes before the code, as there. */
static json_t *with_preload(const char *preload, const char *code) {
        CLEANUP_FREE char *both = NULL;
        if (!preload)
                return json_string(code);
        return asprintf(&both, "%s\n%s", preload, code) < 0 ? NULL : json_string(both);
}

void door_dify_handle_run(struct api *api, struct http_request *request) {
        struct door_call *call;
        const char *language, *code, *preload;
        struct err e = {0};
        json_t *body;

        if (!door_begin(api, request, sizeof(*call), NULL, &call) || !(body = door_body(call, fields)))
                return;
        if (door_text(body, "language", &language, &e) < 0 || door_text(body, "code", &code, &e) < 0 ||
            door_text(body, "preload", &preload, &e) < 0)
                door_refuse_err(call, &e);
        else if (!language || strcmp(language, "python3") != 0)
                door_refuse(call, HTTP_INVALID_REQUEST, "language",
                            "language must be \"python3\": only Python is run here.");
        else if (!code)
                door_refuse(call, HTTP_INVALID_REQUEST, "code", "code is missing.");
        else
                door_run(call, json_pack("{s:o, s:b}", "code", with_preload(preload, code), "inline_files", 0), on_run);
        json_decref(body);
}
