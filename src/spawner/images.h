/*
 * Agents' images: one file each, mounted while rooms are made from it.
 *
 * Runs in the spawner. An import made the file, in a room of its own, and its name is a number that the spawner chose;
 * nothing of a client is in it. The kernel's erofs code reads what the import wrote.
 *
 * They lie in the folder "images" of the data folder, "the store", which is shown a second time where every room's maker
 * can walk to it. Imports have their folders there while they work.
 */
#pragma once

#include "spawner/spawner.h"

#define IMAGE_NAME_BYTES 40 /* "0123…cdef.erofs" */
void image_file_name(struct sandbox_id id, char name[IMAGE_NAME_BYTES]);

/* Makes and mounts the store, if that was not done yet. 0 or negative errno. */
int images_open_store(struct spawner *spawner);

/* Tells the api process of those that are there, and clears away what a killed service has left beside them. */
void images_announce(struct spawner *spawner);

/* Removes one: at once, or when its last user is gone. Passes over one that is not there. */
void images_drop(struct spawner *spawner, struct sandbox_id id);

/*
 * Mounts it, unless it is, and counts one user more. -ENOENT if there is no such image; else 0 or another negative
 * errno.
 */
int images_use(struct spawner *spawner, struct sandbox_id id, struct image **ret);

/* Where it is mounted, as long as it has a user. */
const char *images_dir(const struct image *image);

/* One user less; sets the caller's pointer to NULL, and takes NULL. Without users it stays mounted for a while. */
void images_release(struct image **image);
