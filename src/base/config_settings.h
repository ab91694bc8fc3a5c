/*
 * The table of settings, and what one row looks like. Private to config.c, config_settings.c and their tests.
 *
 * A new setting is one member of struct config and one row here; reading, checking, the refusals and the documentation
 * follow from the row.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SETTING_PREFIX "SANDBOX_"

/*
 * Turns the text of a setting into its value (heap). Relative paths count from `base`. Where it fails, it sets only the
 * reason ("has no port"); the caller adds the name, the value and what is allowed. 0 or a negative errno.
 */
typedef int (*setting_parse_fn)(const char *text, const char *base, char **ret, struct err *e);

struct setting {
        const char *group; /* heading that starts here in the documentation, or NULL */
        const char *name;  /* without the prefix */
        size_t offset;     /* in struct config: a char * if `parse` is set, else an int64_t */
        setting_parse_fn parse;
        int64_t initial, min, max;       /* of a number */
        int64_t (*compute_number)(void); /* takes the place of `initial` where the machine decides */
        const char *initial_text;        /* of a text */
        int (*compute_text)(char **ret); /* takes the place of `initial_text` */
        bool reload;                     /* can change while the service runs (SIGHUP) */
        bool egress;                     /* the egress process's: that is started anew for it (SIGHUP) */
        bool secret;                     /* never shown in a message, and NAME_FILE may name a file that holds it */
        const char *unit;                /* of a number, plural */
        const char *allowed;             /* of a text: completes "allowed is ..." */
        const char *default_doc;         /* how the default is described where the value alone does not say it */
        const char *doc;
};

extern const struct setting config_settings[];
extern const size_t config_settings_count;

/* Names with the prefix that belong to client programs; a service started from the same shell passes over them. */
extern const char *const config_client_names[];
extern const size_t config_client_names_count;

/* "0 to 64 sandboxes", or the row's own words. */
const char *setting_allowed(const struct setting *setting, char *buffer, size_t size);
