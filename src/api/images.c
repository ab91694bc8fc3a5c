/* Images of agents; see images.h. */
#include "api/images.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/engine.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "spawn/client.h"
#include "store/images.h"

struct image {
        struct sandbox_id id;
        uint64_t bytes;
        unsigned holds;
        bool known;   /* to the store: an agent refers to it */
        bool on_disk; /* the spawner has it */
        struct image *next;
};

struct images {
        struct api *api;
        struct image *first;
};

void image_text(struct sandbox_id image, char text[IMAGE_TEXT_BYTES]) {
        snprintf(text, IMAGE_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, image.high, image.low);
}

bool image_parse(const char *text, struct sandbox_id *ret) {
        char high[17];
        if (strspn(text, "0123456789abcdef") != IMAGE_TEXT_BYTES - 1 || text[IMAGE_TEXT_BYTES - 1])
                return false;
        memcpy(high, text, 16);
        high[16] = '\0';
        *ret = (struct sandbox_id){.high = strtoull(high, NULL, 16), .low = strtoull(text + 16, NULL, 16)};
        return true;
}

static struct image *find(const struct images *images, struct sandbox_id id) {
        struct image *image = images->first;
        while (image && !sandbox_id_equal(image->id, id))
                image = image->next;
        return image;
}

static struct image *find_or_add(struct images *images, struct sandbox_id id) {
        struct image *image = find(images, id);
        if (image || !(image = calloc(1, sizeof(*image))))
                return image;
        *image = (struct image){.id = id, .next = images->first};
        images->first = image;
        return image;
}

static void drop_if_unused(struct images *images, struct image *image) {
        struct image **place = &images->first;
        if (image->known || image->holds > 0)
                return;
        if (image->on_disk)
                engine_image_drop(images->api->engine, image->id);
        while (*place != image)
                place = &(*place)->next;
        *place = image->next;
        free(image);
}

int images_new(struct api *api, struct images **ret) {
        char (*files)[STORE_IMAGE_FILE_MAX + 1];
        size_t count;
        struct images *images = calloc(1, sizeof(*images));
        if (!images)
                return -ENOMEM;
        images->api = api;
        int r = store_image_files(api->store, &files, &count);
        for (size_t i = 0; r == 0 && i < count; i++) {
                struct sandbox_id id;
                struct image *image = image_parse(files[i], &id) ? find_or_add(images, id) : NULL;
                if (image)
                        image->known = true;
                else
                        log_error("the store names an image that cannot be one", "file", files[i]);
        }
        if (r < 0) {
                images_free(images);
                return r;
        }
        free(files);
        *ret = images;
        return 0;
}

void images_free(struct images *images) {
        while (images && images->first) {
                struct image *image = images->first;
                images->first = image->next;
                free(image);
        }
        free(images);
}

void images_on_disk(struct images *images, struct sandbox_id id, uint64_t bytes) {
        char text[IMAGE_TEXT_BYTES];
        struct image *image = find(images, id);
        if (image) {
                image->on_disk = true;
                image->bytes = bytes;
                return;
        }
        image_text(id, text);
        log_info("an image that no agent refers to is dropped", "file", text);
        engine_image_drop(images->api->engine, id);
}

/* Held once by whoever has it made. */
int images_made(struct images *images, struct sandbox_id id, uint64_t bytes) {
        struct image *image = find_or_add(images, id);
        if (!image) {
                engine_image_drop(images->api->engine, id);
                return -ENOMEM;
        }
        image->on_disk = true;
        image->bytes = bytes;
        image->holds++;
        return 0;
}

void images_keep(struct images *images, struct sandbox_id id) {
        struct image *image = find(images, id);
        if (image)
                image->known = true;
}

bool images_has(const struct images *images, struct sandbox_id id) {
        const struct image *image = find(images, id);
        return image && image->on_disk;
}

bool images_is_lost(const struct images *images, struct sandbox_id id) {
        return engine_knows_images(images->api->engine) && !images_has(images, id);
}

void images_hold(struct images *images, struct sandbox_id id) {
        struct image *image = find(images, id);
        if (image)
                image->holds++;
}

void images_release(struct images *images, struct sandbox_id id) {
        struct image *image = find(images, id);
        if (!image || image->holds == 0)
                return;
        image->holds--;
        drop_if_unused(images, image);
}

static void retire(struct images *images, const char *file) {
        struct sandbox_id id;
        struct image *image = image_parse(file, &id) ? find(images, id) : NULL;
        if (!image)
                return;
        image->known = false;
        drop_if_unused(images, image);
}

void images_retire_all(struct images *images, struct store_retired *retired) {
        for (size_t i = 0; i < retired->count; i++)
                retire(images, retired->files[i]);
        free(TAKE_PTR(retired->files));
        retired->count = 0;
}

unsigned images_count(const struct images *images, uint64_t *ret_bytes) {
        unsigned count = 0;
        *ret_bytes = 0;
        for (const struct image *image = images ? images->first : NULL; image; image = image->next) {
                count += image->on_disk;
                *ret_bytes += image->on_disk ? image->bytes : 0;
        }
        return count;
}
