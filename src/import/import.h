/*
 * The import of an image: what its steps share.
 *
 * Runs in a room of its own (profile IMPORT): an unprivileged user without capabilities, the host's tools read-only,
 * one folder on the disk to work in, no network but the egress process. Everything it reads was made by somebody else:
 * archives, layers and descriptions are hostile, and what the tools print about them as well. It trusts the tools
 * (skopeo, umoci, mkfs.erofs) to stay inside the folder, and the room if they do not.
 *
 *   fetch    archive or registry → `layout`, an OCI layout with one image; skopeo checks every digest
 *   unpack   its layers → `rootfs`; umoci applies them as nobody, whiteouts and hard links included
 *   check    is there a CPython that may run; places for mounts; no setuid, nothing but files, folders, symbolic links
 *   pack     → `image.erofs`, which the spawner keeps if the import ends with status 0
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Names in the work folder, which is the current folder. */
#define IMPORT_ARCHIVE "archive"
#define IMPORT_LAYOUT "layout"
#define IMPORT_TAG "image"
#define IMPORT_ROOTFS "rootfs"
#define IMPORT_IMAGE "image.erofs"

/* Every failure is a positive code of this module, and names its kind in err.field. */
#define IMPORT_FAILED 1

struct import {
        int channel; /* to the api process */
        json_t *request;
        int archive; /* the descriptor that came with the request, or -1 */

        /* Borrowed from `request`. */
        const char *source, *arch, *registries;
        json_t *known; /* list of digests that need no unpacking, or NULL */
        uint64_t max_bytes, max_files;
        uint64_t patience_s; /* a registry that sends nothing for so long is given up */

        /* What came of it. */
        char digest[80];
        char python[256];
        char version[16]; /* "3.12", or empty if it is not to be seen */
        json_t *env, *labels;
        char working_dir[1024];
        uint64_t bytes, files, image_bytes;
};

/* request.c: takes FRAME_CALL apart. 0 or IMPORT_FAILED. */
int request_read(struct import *import, struct err *e);

/* fetch.c, description.c, unpack.c, check.c, python.c, pack.c: 0 or IMPORT_FAILED. */
int fetch(struct import *import, struct err *e);
int describe(struct import *import, struct err *e);
bool is_known(const struct import *import);
int unpack(struct import *import, struct err *e);
int check(struct import *import, struct err *e);
int python_find(struct import *import, int root, struct err *e);
int pack(struct import *import, struct err *e);

/* Error texts that more than one step needs. */
int fail_too_large(const struct import *import, struct err *e);
int fail_too_many(const struct import *import, struct err *e);
