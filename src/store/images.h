/*
 * What the service remembers of the images that agents' tools run in.
 *
 * Runs in the api process. Part of the store; the rules of store.h hold. An image is known by the digest of its manifest,
 * once in a project, and shared by the agents of that project. Across projects nothing is shared: the digest is what the
 * import said, which read bytes of a client, and one project's client must never choose what runs for another. The row
 * goes with the last agent that refers to it, in the same transaction.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define STORE_IMAGE_FILE_MAX 32 /* hexadecimal digits: the spawner's number of it */
#define STORE_DIGEST_MAX 80     /* "sha256:…" */
#define STORE_PYTHON_MAX 32     /* "3.12.7" */

/* Texts are malloc()ed and belong to the holder of the record: store_image_deinit. */
struct store_image {
        char file[STORE_IMAGE_FILE_MAX + 1];
        char digest[STORE_DIGEST_MAX + 1];
        char python[STORE_PYTHON_MAX + 1]; /* version of the image's interpreter */
        char *env;                         /* JSON, a list of "NAME=value" */
        char *working_dir;
        int64_t bytes;
        int64_t created_ms;
};

void store_image_deinit(struct store_image *image);

/* Files that are of no use any more, once a change is on the disk; free() it. */
struct store_retired {
        char (*files)[STORE_IMAGE_FILE_MAX + 1];
        size_t count;
};

/*
 * Gives an agent, which is made if it is not there, another image: `reference` is what it was deployed from, `tools` the
 * JSON of what was found in it. An image of the same digest that is there already gives way to the new file. STORE_E_FULL
 * as with store_agent_put.
 */
int store_agent_deploy(struct store *store, int64_t project_id, const char *agent, const char *reference,
                       const char *tools, const struct store_image *image, bool *ret_created,
                       struct store_retired *ret_retired);

/* The image of an agent. STORE_E_NOT_FOUND: no such agent, or one without. */
int store_image_of_agent(struct store *store, int64_t project_id, const char *agent, struct store_image *ret);

/* The image of this digest. STORE_E_NOT_FOUND. */
int store_image_find(struct store *store, int64_t project_id, const char *digest, struct store_image *ret);
/* Those of a project. Returns the count, or a negative errno. */
struct store_image_name {
        char digest[STORE_DIGEST_MAX + 1];
        char file[STORE_IMAGE_FILE_MAX + 1];
};
int store_image_list(struct store *store, int64_t project_id, struct store_image_name *ret, size_t max);

/* The files of all images; free() it. */
int store_image_files(struct store *store, char (**ret)[STORE_IMAGE_FILE_MAX + 1], size_t *ret_count);
