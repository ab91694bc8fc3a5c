/* The environment of a tool call; see call_env.h. */
#include "api/call_env.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"

#define PATTERN_BYTES 128

/* Upper and lower case are the same. docs/tool-calls.md has this list as well. */
static const char *const patterns[] = {
        /* the platform's own */
        "SANDBOX_*",
        "CODE_SANDBOX_*",
        "CODE_INTERPRETER_*",
        "PLATFORMCTL_*",
        /* keys and their kin */
        "KEY",
        "*_KEY",
        "*_KEYS",
        "*_KEY_*",
        "*APIKEY*",
        "*ACCESSKEY*",
        "*PRIVATEKEY*",
        "TOKEN",
        "TOKENS",
        "TOKEN_*",
        "*_TOKEN",
        "*_TOKENS",
        "*_TOKEN_*",
        "*ACCESSTOKEN*",
        "*AUTHTOKEN*",
        "*SECRET*",
        "*PASSWORD*",
        "*PASSWD*",
        "*PASSPHRASE*",
        "PASS",
        "*_PASS",
        "*_PWD",
        "*_PW",
        "*CREDENTIAL*",
        "*_CREDS",
        "*_PAT",
        "*_AUTH",
        "*_AUTH_*",
        "*AUTHORIZATION*",
        "*COOKIE*",
        "*_CERT",
        "*_PEM",
        "*_SIGNATURE",
        "*_SALT",
        /* addresses that carry a password */
        "DATABASE_URL",
        "*_DATABASE_URL",
        "*_DSN",
        "*CONNECTION_STRING*",
        "*CONNECTIONSTRING*",
        "*_WEBHOOK*",
        /* ways to somebody's credentials */
        "SSH_*",
        "GPG_AGENT_INFO",
        "KUBECONFIG",
        "NETRC",
        "PGPASSFILE",
        "DOCKER_AUTH_CONFIG",
        "AWS_*",
        "AZURE_*",
        "GOOGLE_APPLICATION_*",
};

static bool matches(const char *pattern, const char *name) {
        return fnmatch(pattern, name, FNM_CASEFOLD | FNM_NOESCAPE) == 0;
}

static bool matches_any(const char *list, const char *name) {
        char pattern[PATTERN_BYTES];
        while (list && *list) {
                size_t length = strcspn(list, ",");
                snprintf(pattern, sizeof(pattern), "%.*s", (int)length, list);
                if (matches(pattern, name))
                        return true;
                list += length + (list[length] == ',');
        }
        return false;
}

/* "scheme://user:password@host", whatever the variable is called. */
static bool has_password(const char *value) {
        const char *from = strstr(value, "://");
        if (!from)
                return false;
        from += 3;
        size_t length = strcspn(from, "/?# ");
        const char *at = memchr(from, '@', length);
        return at && memchr(from, ':', (size_t)(at - from));
}

bool call_env_is_left_out(const char *name, const char *value, const char *extra) {
        for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
                if (matches(patterns[i], name))
                        return true;
        return has_password(value) || matches_any(extra, name);
}

/* -1: no memory. */
static int take(json_t *environment, const char *entry, const char *extra) {
        char name[VARIABLE_LENGTH_MAX + 1];
        const char *equals = strchr(entry, '=');
        if (!equals || equals - entry > VARIABLE_LENGTH_MAX)
                return 0;
        snprintf(name, sizeof(name), "%.*s", (int)(equals - entry), entry);
        if (!name_is_variable(name) || call_env_is_left_out(name, equals + 1, extra))
                return 0;
        return json_object_set_new(environment, name, json_string(equals + 1));
}

json_t *call_env_of(const json_t *list, const char *extra) {
        json_t *environment = json_object(), *entry;
        size_t i, bytes = 0;
        json_array_foreach(list, i, entry) {
                const char *text = json_string_value(entry);
                bytes += text ? strlen(text) : 0;
                if (i >= CALL_ENV_COUNT_MAX || bytes > CALL_ENV_BYTES_MAX)
                        break;
                if (text && take(environment, text, extra) < 0) {
                        json_decref(environment);
                        return NULL;
                }
        }
        return environment;
}
