/* What an agent's settings mean; see agent_settings.h. A new one is a line in the table. */
#include "api/agent_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "store/agents.h"

#define MS_PER_S 1000
/* Longer values than any that is allowed are none. */
#define KNOWN_VALUE_BYTES 64

/* ---- values */

static bool parse_bool(const char *text, bool *ret) {
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
                return false;
        *ret = text[0] == 't';
        return true;
}

/* Digits and nothing else: no sign, no space, no fraction, no leading zero. */
static bool parse_seconds(const char *text, uint32_t *ret) {
        uint32_t seconds = 0;
        size_t length = strlen(text);
        if (length == 0 || length > 3 || text[0] == '0' || strspn(text, "0123456789") != length)
                return false;
        for (; *text; text++)
                seconds = seconds * 10 + (uint32_t)(*text - '0');
        *ret = seconds;
        return seconds >= AGENT_TIMEOUT_MIN_S && seconds <= AGENT_TIMEOUT_MAX_S;
}

/* ---- the table */

static bool take_session(const char *text, struct agent_settings *settings) {
        return parse_bool(text, &settings->stateful);
}

static bool take_timeout(const char *text, struct agent_settings *settings) {
        uint32_t seconds;
        if (!parse_seconds(text, &seconds))
                return false;
        settings->timeout_wanted_ms = seconds * MS_PER_S;
        return true;
}

static bool warn_of_timeout(const struct config *config, const char *text, char warning[AGENT_WARNING_BYTES]) {
        uint32_t seconds;
        if (!parse_seconds(text, &seconds) || seconds <= config->execute_max_timeout_s)
                return false;
        snprintf(warning, AGENT_WARNING_BYTES,
                 AGENT_SETTING_TIMEOUT " is stored as %u, but the platform allows at most %lld s a run "
                 "(SANDBOX_EXECUTE_MAX_TIMEOUT_S): %lld s is the effective limit.",
                 (unsigned)seconds, (long long)config->execute_max_timeout_s,
                 (long long)config->execute_max_timeout_s);
        return true;
}

static const struct {
        const char *name, *allowed;
        bool (*take)(const char *text, struct agent_settings *settings);
        bool (*warn)(const struct config *config, const char *text, char warning[AGENT_WARNING_BYTES]);
} known[] = {
        {AGENT_SETTING_SESSION, "\"true\" or \"false\"", take_session, NULL},
        {AGENT_SETTING_TIMEOUT, "a whole number of seconds, \"1\" to \"120\"", take_timeout, warn_of_timeout},
};

int agent_setting_check(const char *name, const char *value, struct err *e) {
        struct agent_settings scratch = {0};
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (strcmp(known[i].name, name) == 0 && !known[i].take(value, &scratch))
                        return err_set_field(e, -EINVAL, "value", "%s must be %s.", name, known[i].allowed);
        return 0;
}

bool agent_setting_warning(const struct config *config, const char *name, const char *value,
                           char warning[AGENT_WARNING_BYTES]) {
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (strcmp(known[i].name, name) == 0 && known[i].warn)
                        return known[i].warn(config, value, warning);
        return false;
}

/* ---- an agent's */

void agent_settings_init(const struct config *config, struct agent_settings *ret) {
        *ret = (struct agent_settings){
                .timeout_wanted_ms = (uint32_t)config->execute_timeout_s * MS_PER_S,
                .timeout_ms = (uint32_t)config->execute_timeout_s * MS_PER_S,
                .timeout_max_ms = (uint32_t)config->execute_max_timeout_s * MS_PER_S,
        };
        if (ret->timeout_ms > ret->timeout_max_ms)
                ret->timeout_ms = ret->timeout_max_ms;
}

int agent_settings_load(struct store *store, const struct config *config, int64_t project_id, const char *agent,
                        struct agent_settings *ret) {
        struct store_env *env = NULL;
        size_t count = 0;

        agent_settings_init(config, ret);
        int r = store_env_list(store, project_id, agent, &env, &count);
        if (r != 0)
                return r;
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < ARRAY_SIZE(known); j++)
                        if (strcmp(known[j].name, env[i].name) == 0)
                                known[j].take(env[i].value, ret);
        store_env_free(env, count);
        if (ret->timeout_wanted_ms < ret->timeout_max_ms)
                ret->timeout_max_ms = ret->timeout_wanted_ms;
        ret->timeout_ms = ret->timeout_max_ms;
        return 0;
}
