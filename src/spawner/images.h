/*
 * Agents' images: one file each, mounted while rooms are made from it.
 *
 * Runs in the spawner. An import made the file, in a room of its own, and its name is a number that the spawner chose;
 * nothing of a client is in it. The kernel's erofs code reads what the import wrote.
 */
#pragma once

#include "spawner/spawner.h"

/*
 * Mounts it, unless it is, and counts one user more. -ENOENT if there is no such image; else 0 or another negative
 * errno.
 */
int images_use(struct spawner *spawner, struct sandbox_id id, struct image **ret);

/* Where it is mounted, as long as it has a user. */
const char *images_dir(const struct image *image);

/* One user less; sets the caller's pointer to NULL, and takes NULL. Without users it stays mounted for a while. */
void images_release(struct image **image);
