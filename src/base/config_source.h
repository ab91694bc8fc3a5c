/*
 * What the operator wrote about each setting, before it is understood. Private to the configuration.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* One way in which a setting was given. `where` is how messages call it. */
struct given {
        char *value; /* NULL: not given */
        char *where;
        char *base; /* relative paths count from here */
};

/* All that was given, before it is understood: for each row of the table its value, and its NAME_FILE. */
struct sources {
        struct given *plain;
        struct given *file;
        char *config_file;
};

/* Reads the environment, and the file that it names; refuses unknown names. Deinit also after an error. */
int config_sources_read(struct sources *sources, struct err *e);
void config_sources_deinit(struct sources *sources);

/* An empty value counts as not given: that is what `VAR=${OTHER:-}` in a script or compose file means. */
bool config_is_given(const struct given *given);

/* Follows NAME_FILE: the content of the file that `file` names becomes the value of `plain`. */
int config_follow_file(const struct given *file, struct given *plain, struct err *e);
/* Looks for a secret that was given in no other way among systemd's credentials. 0 also if it is not there. */
int config_find_credential(const char *name, struct given *plain, struct err *e);
void config_given_deinit(struct given *given);

#define CONFIG_SHOWN_BYTES 84
/* Makes a value fit for one line of a message: control characters become '?', and a long one is cut. */
const char *config_shown(const char *value, char buffer[CONFIG_SHOWN_BYTES]);

/* Overwrites and frees. */
void config_free_secret(char **text);
int config_out_of_memory(struct err *e);
