/*
 * What the service remembers of agents and their settings.
 *
 * Runs in the api process. Part of the store; the rules of store.h hold: 0, STORE_E_* or a negative errno, and what was
 * written is on the disk when a call returns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define STORE_ENV_NAME_MAX 128
#define STORE_ENV_VALUE_MAX 32768
#define STORE_ENV_PER_AGENT_MAX 200
#define STORE_AGENTS_PER_PROJECT_MAX 1000
#define STORE_IMAGE_MAX 512

struct store_retired; /* images.h */

/* Texts are malloc()ed and belong to the holder of the record: store_agent_deinit. */
struct store_agent {
        int64_t id;
        char name[STORE_NAME_MAX + 1];
        char *image; /* a reference such as "docker://…"; NULL: none */
        char *tools; /* JSON, a list; NULL in lists, as it may be long */
        int64_t created_ms, updated_ms;
};

struct store_env {
        char name[STORE_ENV_NAME_MAX + 1];
        char *value;
};

void store_agent_deinit(struct store_agent *agent);
void store_env_free(struct store_env *env, size_t count);

/* Makes it or replaces image and tools of the one that is there (NULL: stays as it is); `ret_created` says which.
 * STORE_E_FULL: the project has STORE_AGENTS_PER_PROJECT_MAX agents already. */
int store_agent_put(struct store *store, int64_t project_id, const char *name, const char *image, const char *tools,
                    bool *ret_created);
int store_agent_find(struct store *store, int64_t project_id, const char *name, struct store_agent *ret);
/* Sorted by name, after `after` ("": from the start). Returns the count, or a negative errno. */
int store_agent_list(struct store *store, int64_t project_id, const char *after, struct store_agent *ret, size_t max);
/* With its env, and its image if that was the last agent of it; its conversations stay, without it. */
int store_agent_delete(struct store *store, int64_t project_id, const char *name, struct store_retired *ret_retired);

/* STORE_E_NOT_FOUND: no such agent; STORE_E_FULL: it has STORE_ENV_PER_AGENT_MAX settings already. */
int store_env_set(struct store *store, int64_t project_id, const char *agent, const char *name, const char *value);
/* STORE_E_NOT_FOUND: no such agent or setting. */
int store_env_unset(struct store *store, int64_t project_id, const char *agent, const char *name);
/* All of them, sorted by name; free with store_env_free. */
int store_env_list(struct store *store, int64_t project_id, const char *agent, struct store_env **ret,
                   size_t *ret_count);
/* One value into `value`, which is cut if it is longer. STORE_E_NOT_FOUND: no such agent or setting. */
int store_env_get(struct store *store, int64_t project_id, const char *agent, const char *name, char *value,
                  size_t size);
