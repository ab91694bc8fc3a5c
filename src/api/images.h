/*
 * The images of agents that are on the disk, as the spawner named them, and which of them calls still need.
 *
 * Runs in the api process. The spawner keeps the files and knows them by number; which agent's each is, the store
 * remembers (store/images.h). What only one of the two knows is of no use: a file that no agent refers to is dropped, and
 * an agent whose file is gone has to be deployed again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spawn/proto.h"

struct api;
struct images;
struct store_retired;

#define IMAGE_TEXT_BYTES 33 /* 32 hexadecimal digits and a NUL: as the store names a file */

void image_text(struct sandbox_id image, char text[IMAGE_TEXT_BYTES]);
/* False: it is none. */
bool image_parse(const char *text, struct sandbox_id *ret);

/* Reads the store. 0 or a negative errno. */
int images_new(struct api *api, struct images **ret);
void images_free(struct images *images);

/* The spawner names one that it has. Nobody's is dropped. */
void images_on_disk(struct images *images, struct sandbox_id image, uint64_t bytes);
/* An import has made one, which is held once for whoever asked for that. 0, or -ENOMEM, and it is dropped. */
int images_made(struct images *images, struct sandbox_id image, uint64_t bytes);
/* The store has it now. */
void images_keep(struct images *images, struct sandbox_id image);

bool images_has(const struct images *images, struct sandbox_id image);
/* It is not on the disk, and the spawner has named all that are. */
bool images_is_lost(const struct images *images, struct sandbox_id image);

/* While it is held it is not dropped. */
void images_hold(struct images *images, struct sandbox_id image);
void images_release(struct images *images, struct sandbox_id image);
/* No agent refers to these any more: each is dropped now, or when nothing holds it. Frees the list. */
void images_retire_all(struct images *images, struct store_retired *retired);

/* How many there are, and their size together. */
unsigned images_count(const struct images *images, uint64_t *ret_bytes);
