/*
 * What can change while the service runs: numbers, handed from the process that can read the settings to the one that
 * cannot any more; and the egress process's rules, which a new process of that kind gets.
 *
 * Used by the spawner, which reads the settings again, and by the api process, which gets them from it.
 */
#pragma once

#include "base/config.h"

#define CONFIG_NUMBERS 64 /* places for the table's rows */

/* One number for each row of the table, in its order; words that can change count as their place in a list. */
struct config_numbers {
        int64_t values[CONFIG_NUMBERS];
};

typedef void (*config_change_fn)(void *data, const char *name, int64_t from, int64_t to);

typedef void (*config_text_fn)(void *data, const char *name, const char *from, const char *to);

void config_numbers_of(const struct config *config, struct config_numbers *ret);

/* Takes over those that can change; calls for each that did, with its full name. 0, or -EINVAL: out of range. */
int config_numbers_take(struct config *config, const struct config_numbers *numbers, config_change_fn call, void *data);

/*
 * Takes over the settings of the egress process; `fresh` has the old ones then. Calls for each that did change. Whether
 * any did.
 */
bool config_take_egress(struct config *config, struct config *fresh, config_text_fn call, void *data);

/* Calls for each setting that differs in `fresh` but counts only after a restart; of secrets none is told. */
void config_each_pending(const struct config *config, const struct config *fresh,
                         void (*call)(void *data, const char *name), void *data);
