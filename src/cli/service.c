/* The service as commands see it; see service.h. */
#include "cli/service.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "cli/interrupt.h"
#include "cli/login_file.h"
#include "cli/output.h"
#include "cli/paths.h"

#define DEFAULT_URL "http://127.0.0.1:8080"
#define KEY_FILE_MAX 4096
#define SHORT_CALL_S 30

static const char *variable(const char *name) {
        const char *value = getenv(name);
        return value && *value ? value : NULL;
}

/* Where a service with these settings is reached from this machine: 0.0.0.0 and [::] mean the loopback address too. */
static char *url_of_listen(const char *listen) {
        char *url = NULL;
        const char *port = strrchr(listen, ':');
        bool any4 = strncmp(listen, "0.0.0.0:", strlen("0.0.0.0:")) == 0;
        bool any6 = strncmp(listen, "[::]:", strlen("[::]:")) == 0;
        int length = any4 || any6 ? asprintf(&url, "http://%s%s", any4 ? "127.0.0.1" : "[::1]", port)
                                  : asprintf(&url, "http://%s", listen);
        return length < 0 ? NULL : url;
}

/* The key that the service of this machine keeps in its data folder, if the caller may read it. */
static char *read_key_file(const char *data_dir) {
        CLEANUP_FREE char *path = NULL;
        char *key = NULL;
        size_t length;
        if (asprintf(&path, "%s/" CONFIG_ADMIN_KEY_FILE, data_dir) < 0) {
                path = NULL;
                return NULL;
        }
        if (paths_read(path, KEY_FILE_MAX, &key, &length, NULL) < 0)
                return NULL;
        key[strcspn(key, " \t\r\n")] = '\0';
        return key;
}

/* What the settings of a service on this machine say about address and key; they may be absent or wrong. */
static void ask_settings(char **url, char **key) {
        struct config config;
        if (config_load(&config, NULL) < 0) {
                *url = strdup(DEFAULT_URL);
                return;
        }
        *url = url_of_listen(config.listen);
        *key = config.admin_key[0] ? strdup(config.admin_key) : read_key_file(config.data_dir);
        config_deinit(&config);
}

/* Where address and key may come from, apart from options and variables. */
struct sources {
        struct login login;
        char *local_url, *local_key;
};

static void sources_deinit(struct sources *sources) {
        login_deinit(&sources->login);
        free(sources->local_url);
        if (sources->local_key)
                explicit_bzero(sources->local_key, strlen(sources->local_key));
        free(sources->local_key);
}

static bool is_same_address(const char *a, const char *b) {
        size_t length_a = strlen(a), length_b = strlen(b);
        while (length_a > 0 && a[length_a - 1] == '/')
                length_a--;
        while (length_b > 0 && b[length_b - 1] == '/')
                length_b--;
        return length_a == length_b && memcmp(a, b, length_a) == 0;
}

/* What was put into the environment is meant for this call, so it goes before what was stored some day. */
static const char *choose_url(const struct sources *sources) {
        if (sources->login.url && !variable("SANDBOX_LISTEN"))
                return sources->login.url;
        return sources->local_url ? sources->local_url : DEFAULT_URL;
}

static const char *choose_key(const struct sources *sources, const char *url) {
        bool is_local = http_url_is_loopback(url);
        if (is_local && variable("SANDBOX_ADMIN_KEY") && sources->local_key)
                return sources->local_key;
        if (sources->login.key && is_same_address(sources->login.url, url))
                return sources->login.key;
        return is_local ? sources->local_key : NULL;
}

char *service_default_url(void) {
        CLEANUP(sources_deinit) struct sources sources = {0};
        login_file_load(&sources.login, NULL);
        ask_settings(&sources.local_url, &sources.local_key);
        return strdup(choose_url(&sources));
}

int service_open(struct cli *cli) {
        CLEANUP(sources_deinit) struct sources sources = {0};
        const char *url = cli->url_option ? cli->url_option : variable("SANDBOX_URL");
        const char *key = cli->key_option ? cli->key_option : variable("SANDBOX_KEY");
        struct err e = {0};
        int r = 0;
        if (cli->client)
                return 0;
        if (!url || !key) {
                r = login_file_load(&sources.login, &e);
                if (r < 0 && r != -ENOENT)
                        return say_error(cli, EX_NOINPUT, "%s", e.message);
                ask_settings(&sources.local_url, &sources.local_key);
        }
        if (!url)
                url = choose_url(&sources);
        if (!key)
                key = choose_key(&sources, url);
        r = http_client_new(url, key, &cli->client, &e);
        if (r == 0 && cli->project_option)
                r = http_client_set_project(cli->client, cli->project_option, &e);
        return r < 0 ? say_error(cli, EX_USAGE, "%s", e.message) : 0;
}

int service_explain_call(struct cli *cli, int result, const struct err *e) {
        switch (result) {
        case HTTP_CLIENT_E_CONNECT:
                return say_error(
                        cli, EX_UNAVAILABLE,
                        "%s. Is it running? Start it with `make run` or `sandboxd`, or say where it is with --url "
                        "or SANDBOX_URL",
                        e->message);
        case HTTP_CLIENT_E_BROKEN:
                return say_error(cli, EX_UNAVAILABLE, "%s. The service's log says why it went away", e->message);
        case HTTP_CLIENT_E_TIMEOUT:
                return say_error(cli, EX_UNAVAILABLE, "%s", e->message);
        case HTTP_CLIENT_E_PROTOCOL:
                return say_error(cli, EX_PROTOCOL, "%s. Is this the address of a Code Sandbox?", e->message);
        case HTTP_CLIENT_E_INTERRUPTED:
                return EXIT_SIGNAL_BASE + interrupt_caught();
        default:
                return say_error(cli, EX_SOFTWARE, "%s", e->message);
        }
}

/* What each answer means for the caller; the first row that fits counts. */
static const struct {
        long status;
        int exit_code;
        const char *advice;
} statuses[] = {
        {401, EX_NOPERM, "Give a key with --key or SANDBOX_KEY, or use platformctl login"},
        {403, EX_NOPERM, "An admin key is needed for this"},
        {404, EX_DATAERR, NULL},
        {408, EX_TEMPFAIL, NULL},
        {429, EX_TEMPFAIL, NULL},
        {503, EX_TEMPFAIL, NULL},
};

int service_explain_status(struct cli *cli, long status, const json_t *body) {
        const json_t *error = json_object_get(body, "error");
        const char *message = json_text(error, "message"), *type = json_text(error, "type");
        int exit_code = status >= 500 ? EX_SOFTWARE : EX_DATAERR;
        const char *advice = NULL;
        if (!json_is_object(error))
                return say_error(cli, EX_PROTOCOL,
                                 "%s answered HTTP %ld in a form that is not this service's. Is this the "
                                 "address of a Code Sandbox?",
                                 http_client_url(cli->client), status);
        for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
                if (statuses[i].status != status)
                        continue;
                exit_code = statuses[i].exit_code;
                advice = statuses[i].advice;
        }
        return say_error(cli, exit_code, "the service says: %s (%s, HTTP %ld)%s%s", message, type, status,
                         advice ? ". " : "", advice ? advice : "");
}

json_t *service_parse(const char *text, size_t length) {
        json_t *value = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
        if (json_is_object(value))
                return value;
        json_decref(value);
        return NULL;
}

const char *json_text(const json_t *object, const char *name) {
        const char *text = json_string_value(json_object_get(object, name));
        return text ? text : "";
}

static int send_json(struct cli *cli, const char *method, const char *path, const char *body,
                     struct http_reply *reply) {
        const struct http_call call = {
                .method = method,
                .path = path,
                .body = body,
                .body_length = body ? strlen(body) : 0,
                .timeout_s = SHORT_CALL_S,
        };
        struct err e = {0};
        int code = service_open(cli);
        if (code != 0)
                return code;
        int r = http_client_call(cli->client, &call, reply, &e);
        return r != 0 ? service_explain_call(cli, r, &e) : 0;
}

int service_call(struct cli *cli, const char *method, const char *path, json_t *body, long forgive, long *status,
                 json_t **ret) {
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        CLEANUP_FREE char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
        bool has_body = body != NULL;
        json_decref(body);
        *ret = NULL;
        if (has_body && !text)
                return say_error(cli, EX_SOFTWARE, "out of memory");
        int code = send_json(cli, method, path, text, &reply);
        if (code != 0)
                return code;
        json_t *answer = service_parse(reply.body, reply.body_length);
        bool is_understood = answer || reply.body_length == 0;
        *status = reply.status;
        if (is_understood && ((reply.status >= 200 && reply.status < 300) || reply.status == forgive)) {
                *ret = answer;
                return 0;
        }
        code = service_explain_status(cli, reply.status, answer);
        json_decref(answer);
        return code;
}

int service_get(struct cli *cli, const char *path, json_t **ret) {
        long status = 0;
        int code = service_call(cli, "GET", path, NULL, 0, &status, ret);
        if (code != 0 || *ret)
                return code;
        return service_explain_status(cli, status, NULL);
}
