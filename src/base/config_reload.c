/* What can change while the service runs; see config_reload.h. */
#include "base/config_reload.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config_settings.h"

#define NAME_BYTES 64

static const char *const levels[] = {"debug", "info", "warning", "error"};

/* The one word that can change; a pointer into config, or NULL for a number. */
static char **word_of(const struct setting *setting, const struct config *config) {
        return setting->parse ? (char **)(uintptr_t)((const char *)config + setting->offset) : NULL;
}

static int64_t number_of(const struct setting *setting, const struct config *config) {
        char **word = word_of(setting, config);
        if (!word)
                return *(const int64_t *)(const void *)((const char *)config + setting->offset);
        for (size_t i = 0; setting->reload && i < ARRAY_SIZE(levels); i++)
                if (strcmp(*word, levels[i]) == 0)
                        return (int64_t)i;
        return 0;
}

void config_numbers_of(const struct config *config, struct config_numbers *ret) {
        *ret = (struct config_numbers){0};
        for (size_t i = 0; i < config_settings_count && i < CONFIG_NUMBERS; i++)
                ret->values[i] = number_of(&config_settings[i], config);
}

static bool is_allowed(const struct setting *setting, int64_t value) {
        return setting->parse ? value >= 0 && value < (int64_t)ARRAY_SIZE(levels)
                              : value >= setting->min && value <= setting->max;
}

static int set(struct config *config, const struct setting *setting, int64_t value) {
        char **word = word_of(setting, config);
        if (!word) {
                *(int64_t *)(void *)((char *)config + setting->offset) = value;
                return 0;
        }
        char *copy = strdup(levels[value]);
        if (!copy)
                return -ENOMEM;
        free(*word);
        *word = copy;
        return 0;
}

int config_numbers_take(struct config *config, const struct config_numbers *numbers, config_change_fn call,
                        void *data) {
        char name[NAME_BYTES];
        for (size_t i = 0; i < config_settings_count; i++)
                if (config_settings[i].reload && !is_allowed(&config_settings[i], numbers->values[i]))
                        return -EINVAL;
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                int64_t before = number_of(setting, config), after = numbers->values[i];
                if (!setting->reload || before == after)
                        continue;
                int r = set(config, setting, after);
                if (r < 0)
                        return r;
                snprintf(name, sizeof(name), SETTING_PREFIX "%s", setting->name);
                call(data, name, before, after);
        }
        config_derive(config);
        return 0;
}

void config_each_pending(const struct config *config, const struct config *fresh,
                         void (*call)(void *data, const char *name), void *data) {
        char name[NAME_BYTES];
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                char **word = word_of(setting, config);
                if (setting->reload || setting->egress || setting->secret)
                        continue;
                if (word ? strcmp(*word, *word_of(setting, fresh)) == 0
                         : number_of(setting, config) == number_of(setting, fresh))
                        continue;
                snprintf(name, sizeof(name), SETTING_PREFIX "%s", setting->name);
                call(data, name);
        }
}

bool config_take_egress(struct config *config, struct config *fresh, config_text_fn call, void *data) {
        char name[NAME_BYTES];
        bool changed = false;
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                if (!setting->egress)
                        continue;
                char **before = word_of(setting, config), **after = word_of(setting, fresh), *text = *before;
                if (strcmp(*before, *after) == 0)
                        continue;
                snprintf(name, sizeof(name), SETTING_PREFIX "%s", setting->name);
                call(data, name, *before, *after);
                *before = *after;
                *after = text; /* freed with the rest of them */
                changed = true;
        }
        return changed;
}
