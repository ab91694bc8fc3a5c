/* Words to and from the sandboxes of a deployment; see deploy_image.h. */
#include "api/deploy_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent_tools.h"
#include "api/call_env.h"
#include "api/json.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "import/reference.h"

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#else
#error "name this architecture as container images do"
#endif

#define DESCRIPTION_BYTES_MAX (1 << 20)
#define TOOLS_BYTES_MAX (4 << 20)
#define WORKING_DIR_MAX 1024
#define PROGRESS_TEXT_MAX 500
#define PYTHON_MINOR_MIN 10
#define HEX "0123456789abcdef"

/* ---- references */

/* The import looks again, with the same eyes: what it is told is not what it believes. */
int deploy_check_reference(const char *reference, const char *registries, struct err *e) {
        char registry[REGISTRY_MAX];
        bool plain;
        int r = reference_registry(reference, registry, e);
        if (r < 0 || reference_allowed(registries, registry, &plain))
                return r;
        return err_set_field(e, -EINVAL, "image",
                             "This service takes no images from the registry \"%s\": the operator allows %s "
                             "(SANDBOX_REGISTRIES). Send the image as an archive: platformctl agents deploy NAME "
                             "--image oci:FOLDER.",
                             registry, *registries ? registries : "none");
}

/* ---- what they are told */

char *deploy_import_frame(const struct config *config, const char *source, json_t *known) {
        json_t *frame = json_pack("{s:s, s:I, s:I, s:s, s:s, s:o}", "source", source, "max_bytes",
                                  (json_int_t)config->image_max_bytes, "max_files",
                                  (json_int_t)config->image_max_files, "arch", ARCH, "registries",
                                  config->registries, "known", known);
        char *text = json_dumps(frame, JSON_COMPACT);
        json_decref(frame);
        return text;
}

char *deploy_discovery_frame(const struct config *config, const struct store_image *image) {
        json_t *list = json_loads(image->env, 0, NULL);
        json_t *frame = json_pack("{s:n, s:o, s:s}", "discover", "environment",
                                  call_env_of(list, config->env_strip), "working_dir", image->working_dir);
        char *text = json_dumps(frame, JSON_COMPACT);
        json_decref(frame);
        json_decref(list);
        return text;
}

/* ---- what an import says */

static json_t *short_text(const json_t *value) {
        const char *text = json_string_value(value);
        return text ? json_string_lossy(text, strnlen(text, PROGRESS_TEXT_MAX)) : json_null();
}

static json_t *count_of(const json_t *value) {
        return json_is_integer(value) && json_integer_value(value) >= 0 ? json_incref((json_t *)value) : json_null();
}

json_t *deploy_progress(const char *bytes, size_t length) {
        json_t *said, *step;
        struct err e;
        if (json_parse_object(bytes, length, &said, &e) < 0)
                return NULL;
        step = json_object_get(said, "step");
        json_t *shown = json_is_string(step)
                                ? json_pack("{s:o, s:o, s:o, s:o}", "step", short_text(step), "done",
                                            count_of(json_object_get(said, "done")), "total",
                                            count_of(json_object_get(said, "total")), "message",
                                            short_text(json_object_get(said, "message")))
                                : NULL;
        json_decref(said);
        return shown;
}

/* Of the connections that it tried, the last that came to nothing. Names of hosts are the import's own words. */
void deploy_network_reason(const struct rendered_list *records, char ret[DEPLOY_REASON_BYTES]) {
        ret[0] = '\0';
        for (size_t i = 0; i < records->count; i++) {
                const char *address = NULL, *decision = "", *rule = "";
                int port = 0;
                json_t *record = json_loadb(records->items[i].json, records->items[i].length, 0, NULL);
                json_unpack(record, "{s?s, s?i, s?s, s?s}", "address", &address, "port", &port, "decision", &decision,
                            "rule", &rule);
                if (strcmp(decision, "refused") == 0)
                        snprintf(ret, DEPLOY_REASON_BYTES,
                                 "The service's rules refused it a connection to %s, port %d (%s); the operator can "
                                 "allow one with SANDBOX_EGRESS_ALLOW.",
                                 address ? address : "a host", port, rule);
                else if (strcmp(decision, "failed") == 0)
                        snprintf(ret, DEPLOY_REASON_BYTES, "Nobody answered at %s, port %d.",
                                 address ? address : "the host", port);
                json_decref(record);
        }
}

static int refuse(struct err *e, const char *what) {
        return err_set(e, -EINVAL, "The import of the image does not make sense: %s.", what);
}

static bool is_digest(const char *text) {
        static const char prefix[] = "sha256:";
        return text && strncmp(text, prefix, strlen(prefix)) == 0 && strspn(text + strlen(prefix), HEX) == 64 &&
               strlen(text) == strlen(prefix) + 64;
}

/* The environment, as a list again: what is left out is not even kept. */
static char *kept_environment(const json_t *list, const struct config *config) {
        json_t *environment = call_env_of(list, config->env_strip), *kept = json_array(), *value;
        const char *name;
        json_object_foreach(environment, name, value)
                json_array_append_new(kept, json_sprintf("%s=%s", name, json_string_value(value)));
        char *text = environment ? json_dumps(kept, JSON_COMPACT) : NULL;
        json_decref(environment);
        json_decref(kept);
        return text;
}

static int take_description(const json_t *said, const struct config *config, struct store_image *ret, struct err *e) {
        const char *folder = json_string_value(json_object_get(said, "working_dir"));
        const json_t *environment = json_object_get(said, "env");
        if (!folder || folder[0] != '/' || strlen(folder) > WORKING_DIR_MAX)
                return refuse(e, "its working folder is no absolute path");
        if (environment && !json_is_array(environment))
                return refuse(e, "its environment is no list");
        ret->working_dir = strdup(folder);
        ret->env = kept_environment(environment, config);
        if (!ret->working_dir || !ret->env)
                return -ENOMEM;
        return 0;
}

int deploy_take_image(const struct json_span *span, const struct config *config, struct store_image *ret,
                      bool *ret_known, struct err *e) {
        json_t *said;
        *ret = (struct store_image){.env = NULL};
        if (span->length > DESCRIPTION_BYTES_MAX)
                return refuse(e, "its description is larger than 1 MiB");
        int r = json_parse_object(span->bytes, span->length, &said, e);
        if (r < 0)
                return r;
        const char *digest = json_string_value(json_object_get(said, "digest"));
        *ret_known = json_is_true(json_object_get(said, "known"));
        if (!is_digest(digest))
                r = refuse(e, "its digest is none");
        else
                snprintf(ret->digest, sizeof(ret->digest), "%s", digest);
        if (r == 0 && !*ret_known)
                r = take_description(said, config, ret, e);
        json_decref(said);
        return r;
}

/* ---- what a discovery says */

static int check_python(const char *version, const char *implementation, char ret[STORE_PYTHON_MAX + 1],
                        struct err *e) {
        unsigned major = 0, minor = 0;
        if (!implementation || strcmp(implementation, "cpython") != 0)
                return err_set(e, -EINVAL, "The image's Python is no CPython, which tools need.");
        if (!version || strlen(version) > STORE_PYTHON_MAX || sscanf(version, "%2u.%3u", &major, &minor) != 2)
                return err_set(e, -EINVAL, "The image's Python does not say its version.");
        if (major != 3 || minor < PYTHON_MINOR_MIN)
                return err_set(e, -EINVAL, "The image's Python is %u.%u; tools need 3.%d or newer.", major, minor,
                               PYTHON_MINOR_MIN);
        snprintf(ret, STORE_PYTHON_MAX + 1, "%s", version);
        return 0;
}

int deploy_take_tools(const struct call_end *end, char **ret_tools, char ret_python[STORE_PYTHON_MAX + 1],
                      struct err *e) {
        json_t *said;
        if (end->tools.length > TOOLS_BYTES_MAX)
                return err_set(e, -EINVAL, "The descriptions of the tools in the image are larger than 4 MiB.");
        /* The whole of it: what was checked as to its shape is then a tree. */
        int r = json_parse_object(end->bytes, strlen(end->bytes), &said, e);
        if (r < 0)
                return r;
        json_t *tools = json_object_get(said, "tools");
        r = check_python(json_string_value(json_object_get(said, "python")),
                         json_string_value(json_object_get(said, "implementation")), ret_python, e);
        if (r == 0 && (!json_is_array(tools) || json_array_size(tools) > AGENT_TOOLS_MAX))
                r = err_set(e, -EINVAL, "The image has more than %d tools, or something else than a list of them.",
                            AGENT_TOOLS_MAX);
        if (r == 0)
                r = agent_tools_take(tools, ret_tools, e);
        json_decref(said);
        return r;
}
