/*
 * Settings: one table, read from the environment (and a file), checked before anything starts.
 *
 * Used by the spawner (which starts everything), the api process and platformctl. The values come from the operator,
 * never from the network. Links nothing but libc, because root-side code uses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

struct config {
        char *listen;            /* SANDBOX_LISTEN, "address:port" */
        char *data_dir;          /* SANDBOX_DATA_DIR, absolute */
        char *image;             /* SANDBOX_IMAGE: a folder, .erofs or .squashfs; found beside the program if unset */
        char *admin_key;         /* SANDBOX_ADMIN_KEY, or empty: generated on the first start */
        char *user;              /* SANDBOX_USER: user of the api process; empty: a number from the range below */
        char *log_level;         /* SANDBOX_LOG_LEVEL: debug, info, warning, error */
        char *database;          /* SANDBOX_DATABASE; empty: SQLite in the data folder */
        int64_t uid_base;        /* SANDBOX_UID_BASE: first of the 65538 host UIDs that sandboxes use */
        int64_t warm_pool;       /* SANDBOX_WARM_POOL */
        int64_t max_concurrent;  /* SANDBOX_MAX_CONCURRENT: runs at a time */
        int64_t queue_max;       /* SANDBOX_QUEUE_MAX: requests that may wait for a sandbox */
        int64_t queue_timeout_s; /* SANDBOX_QUEUE_TIMEOUT_SECONDS: how long one may wait */
        int64_t body_max_bytes;  /* SANDBOX_BODY_MAX_BYTES */
        int64_t connections_per_address; /* SANDBOX_CONNECTIONS_PER_ADDRESS */
        int64_t request_timeout_s;       /* SANDBOX_REQUEST_TIMEOUT_SECONDS: header and body as a whole */
        int64_t execute_timeout_s;       /* of a run that asks for none: 20, or the maximum if that is lower */
        int64_t execute_max_timeout_s;   /* SANDBOX_EXECUTE_MAX_TIMEOUT_S */
        int64_t rate_limit;              /* SANDBOX_RATE_LIMIT: requests a minute and key; 0: off */
        char *env_strip;                 /* SANDBOX_ENV_STRIP: names that calls do not get, besides the built-in ones */
        char *registries;                /* SANDBOX_REGISTRIES: that images of agents may come from */
        int64_t image_max_bytes;         /* SANDBOX_IMAGE_MAX_BYTES: of an agent's image */
        int64_t image_max_files;         /* SANDBOX_IMAGE_MAX_FILES */
        int64_t image_timeout_s;         /* SANDBOX_IMAGE_TIMEOUT_SECONDS: of sending one, and of unpacking it */
        int64_t template_max_forks;      /* SANDBOX_TEMPLATE_MAX_FORKS: a template is renewed after so many */
        int64_t template_max_age_s;      /* SANDBOX_TEMPLATE_MAX_AGE_SECONDS */
        int64_t output_keep_bytes;       /* SANDBOX_OUTPUT_KEEP_BYTES: kept of each stream */
        int64_t output_max_bytes;        /* SANDBOX_OUTPUT_MAX_BYTES: more ends the run */
        int64_t conversation_ttl_s;      /* SANDBOX_CONVERSATION_TTL_SECONDS: after its last run */
        int64_t session_idle_s;          /* SANDBOX_SESSION_IDLE_SECONDS */
        int64_t sessions_per_project;    /* SANDBOX_SESSIONS_PER_PROJECT */
        int64_t max_sessions;            /* SANDBOX_MAX_SESSIONS */
        int64_t quota_bytes;             /* SANDBOX_QUOTA_BYTES: of one project's kept files; 0: none */
        int64_t quota_files;             /* SANDBOX_QUOTA_FILES: the same */
        int64_t idempotency_keys;        /* SANDBOX_IDEMPOTENCY_KEYS: of one project, in 24 hours */
        int64_t idempotency_bytes;       /* SANDBOX_IDEMPOTENCY_BYTES: of their replies */
        int64_t audit_max_bytes;         /* SANDBOX_AUDIT_MAX_BYTES: of the audit log; 0: no limit */
        char *console;                   /* SANDBOX_CONSOLE: on, off, https */
        int64_t console_session_s;       /* SANDBOX_CONSOLE_SESSION_SECONDS: how long a sign-in lasts */
        char *front_doors;               /* SANDBOX_FRONT_DOORS: names with commas between them, no spaces */
        char *egress;                    /* SANDBOX_EGRESS: on, off */
        char *egress_allow;              /* SANDBOX_EGRESS_ALLOW: base/prefix.h */
        char *egress_deny;               /* SANDBOX_EGRESS_DENY: the same */
        char *egress_resolver;           /* SANDBOX_EGRESS_RESOLVER: the same; empty: the host's */
};

/* The file of the data folder that holds a generated admin key: one line, mode 0600. */
#define CONFIG_ADMIN_KEY_FILE "admin-key"

/*
 * Fills every setting: from `environ`, else from the file that SANDBOX_CONFIG_FILE names, else with its default.
 * Refuses unknown SANDBOX_* names, values of the wrong type and values out of range; the error names the variable, the
 * value, what is allowed. 0 or a negative errno; after an error nothing is left to free.
 */
int config_load(struct config *config, struct err *e);
/* Frees everything and overwrites the secrets; harmless on a zeroed struct, and twice. */
void config_deinit(struct config *config);

/* What follows from other settings; config_load does it. */
void config_derive(struct config *config);

/* The setting log_level as log_init() takes it. */
enum log_level config_log_level(const struct config *config);

/*
 * The ports that SANDBOX_EGRESS_ALLOW names besides 80 and 443. 0; -E2BIG if there are more than the maximum, or
 * -EADDRINUSE if one is 53: config_load() has refused both.
 */
#define CONFIG_EGRESS_PORTS_MAX 4
int config_egress_ports(const struct config *config, uint16_t ports[CONFIG_EGRESS_PORTS_MAX], size_t *ret_count);

/* The setting console. */
enum config_console { CONSOLE_OFF, CONSOLE_ON, CONSOLE_HTTPS /* on, and its cookie is sent over TLS only */ };
enum config_console config_console(const struct config *config);

/* Whether the setting front_doors names this one. */
bool config_front_door(const struct config *config, const char *name);

/*
 * What `--help-config` prints: every setting with its default, range and meaning, from the same table. It is Markdown
 * and does not depend on the machine: docs/configuration.md is this text.
 */
void config_print_help(FILE *out);
/* What `--sample-config` prints: a configuration file in which every setting stands as a comment, with its default. */
void config_print_sample(FILE *out);
