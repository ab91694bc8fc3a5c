/*
 * Settings: reads them from the environment and a file, and checks them; see config.h.
 *
 * Runs in the spawner (as root), the api process and platformctl, before any of them touches the network. Trusts the
 * operator's intentions but not his spelling: what is not understood is refused, never passed over.
 */
#include "base/config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config_settings.h"
#include "base/config_source.h"
#include "base/config_values.h"
#include "base/prefix.h"

#define NAME_MAX_BYTES 64
#define DEFAULT_TIMEOUT_S 20

static int refuse_value(const struct setting *setting, const struct given *given, const char *reason, struct err *e) {
        char name[NAME_MAX_BYTES], value[CONFIG_SHOWN_BYTES], allowed[128];
        snprintf(name, sizeof(name), SETTING_PREFIX "%s", setting->name);
        if (setting->secret)
                return err_set_field(e, -EINVAL, name, "%s (its value is not shown) %s; allowed is %s", given->where,
                                     reason, setting_allowed(setting, allowed, sizeof(allowed)));
        return err_set_field(e, -EINVAL, name, "%s is \"%s\", which %s; allowed is %s", given->where,
                             config_shown(given->value, value), reason,
                             setting_allowed(setting, allowed, sizeof(allowed)));
}

static int apply_number(const struct setting *setting, const struct given *given, int64_t *target, struct err *e) {
        int64_t value;
        int r = value_parse_number(given->value, &value);
        if (r == -EINVAL)
                return refuse_value(setting, given, "is not a whole number", e);
        if (r < 0 || value < setting->min || value > setting->max)
                return refuse_value(setting, given, "is out of range", e);
        *target = value;
        return 0;
}

static int apply_text(const struct setting *setting, const struct given *given, char **target, struct err *e) {
        struct err reason = {0};
        char *value;
        int r = setting->parse(given->value, given->base, &value, &reason);
        if (r == -ENOMEM)
                return config_out_of_memory(e);
        if (r < 0)
                return refuse_value(setting, given, reason.message, e);
        *target = value;
        return 0;
}

static int apply_default(const struct setting *setting, void *target, struct err *e) {
        if (!setting->parse) {
                *(int64_t *)target = setting->compute_number ? setting->compute_number() : setting->initial;
                return 0;
        }
        char **text = target;
        if (setting->compute_text)
                return setting->compute_text(text) < 0 ? config_out_of_memory(e) : 0;
        *text = strdup(setting->initial_text);
        return *text ? 0 : config_out_of_memory(e);
}

static int apply(struct config *config, struct sources *sources, size_t i, struct err *e) {
        const struct setting *setting = &config_settings[i];
        struct given *plain = &sources->plain[i], *file = &sources->file[i];
        void *target = (char *)config + setting->offset;
        if (config_is_given(plain) && config_is_given(file))
                return err_set(e, -EINVAL, "%s and %s are both given; remove one", plain->where, file->where);
        if (config_is_given(file)) {
                int r = config_follow_file(file, plain, e);
                if (r < 0)
                        return r;
        }
        if (setting->secret && !config_is_given(plain)) {
                int r = config_find_credential(setting->name, plain, e);
                if (r < 0)
                        return r;
        }
        if (!config_is_given(plain))
                return apply_default(setting, target, e);
        return setting->parse ? apply_text(setting, plain, target, e) : apply_number(setting, plain, target, e);
}

/* A listener is made in every room for each port, and the one for names is taken. */
static int check_egress_ports(const struct config *config, struct err *e) {
        uint16_t ports[CONFIG_EGRESS_PORTS_MAX];
        size_t count;
        int r = config_egress_ports(config, ports, &count);
        if (r == -E2BIG)
                return err_set_field(e, -EINVAL, "SANDBOX_EGRESS_ALLOW",
                                     "SANDBOX_EGRESS_ALLOW names %zu ports besides 80 and 443; at most %d may be named",
                                     count, CONFIG_EGRESS_PORTS_MAX);
        if (r < 0)
                return err_set_field(e, r, "SANDBOX_EGRESS_ALLOW",
                                     "SANDBOX_EGRESS_ALLOW names port 53, on which name lookups are answered; take "
                                     "another port");
        return 0;
}

/* What no single row can say. */
static int check_whole(struct config *config, struct err *e) {
        if (config->output_keep_bytes > config->output_max_bytes)
                return err_set_field(e, -EINVAL, "SANDBOX_OUTPUT_KEEP_BYTES",
                                     "SANDBOX_OUTPUT_KEEP_BYTES is %" PRId64
                                     ", more than SANDBOX_OUTPUT_MAX_BYTES (%" PRId64
                                     "); lower the first or raise the second",
                                     config->output_keep_bytes, config->output_max_bytes);
        config_derive(config);
        return check_egress_ports(config, e);
}

void config_derive(struct config *config) {
        config->execute_timeout_s =
                config->execute_max_timeout_s < DEFAULT_TIMEOUT_S ? config->execute_max_timeout_s : DEFAULT_TIMEOUT_S;
}

static int load(struct config *config, struct sources *sources, struct err *e) {
        int r = config_sources_read(sources, e);
        for (size_t i = 0; r == 0 && i < config_settings_count; i++)
                r = apply(config, sources, i, e);
        return r < 0 ? r : check_whole(config, e);
}

int config_load(struct config *config, struct err *e) {
        CLEANUP(config_sources_deinit) struct sources sources = {0};
        *config = (struct config){0};
        int r = load(config, &sources, e);
        if (r < 0)
                config_deinit(config);
        return r;
}

void config_deinit(struct config *config) {
        for (size_t i = 0; i < config_settings_count; i++)
                if (config_settings[i].parse)
                        config_free_secret((char **)((char *)config + config_settings[i].offset));
        *config = (struct config){0};
}

enum config_console config_console(const struct config *config) {
        if (strcmp(config->console, "off") == 0)
                return CONSOLE_OFF;
        return strcmp(config->console, "https") == 0 ? CONSOLE_HTTPS : CONSOLE_ON;
}

bool config_front_door(const struct config *config, const char *name) {
        size_t wanted = strlen(name);
        for (const char *given = config->front_doors; *given; given += *given == ',') {
                size_t length = strcspn(given, ",");
                if (length == wanted && memcmp(given, name, length) == 0)
                        return true;
                given += length;
        }
        return false;
}

int config_egress_ports(const struct config *config, uint16_t ports[CONFIG_EGRESS_PORTS_MAX], size_t *ret_count) {
        static const uint16_t always[] = {80, 443};
        struct prefix_list list;
        int r = prefix_list_parse(config->egress_allow, &list, NULL);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list.count; i++)
                if (list.items[i].port == 53)
                        return -EADDRINUSE;
        *ret_count = prefix_list_ports(&list, always, ARRAY_SIZE(always), ports, CONFIG_EGRESS_PORTS_MAX);
        return *ret_count > CONFIG_EGRESS_PORTS_MAX ? -E2BIG : 0;
}

enum log_level config_log_level(const struct config *config) {
        switch (config->log_level[0]) {
        case 'd':
                return LOG_LEVEL_DEBUG;
        case 'w':
                return LOG_LEVEL_WARNING;
        case 'e':
                return LOG_LEVEL_ERROR;
        default:
                return LOG_LEVEL_INFO;
        }
}
