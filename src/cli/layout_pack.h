/*
 * Packs an image of an OCI layout (a folder with index.json and blobs) as an OCI archive.
 *
 * Runs in platformctl, as the person who calls it. The folder is trusted as far as that person may read it; only
 * regular files whose names are digests go into the archive, and only those that the image consists of.
 */
#pragma once

#include "base/err.h"

/*
 * `tag` names one of several images; NULL if there is only one. Writes to `archive_fd`. 0, or a negative errno with a
 * sentence.
 */
int layout_pack(const char *folder, const char *tag, int archive_fd, struct err *e);
