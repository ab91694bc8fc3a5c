/* Agents' images; see images.h. */
#include "spawner/images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

/* The kernel forgets what it has read and unpacked of an image when it is unmounted, and calls come in bursts. */
#define IDLE_NS (300 * NS_PER_S)

struct image {
        struct image *next;
        struct spawner *spawner;
        struct sandbox_id id;
        uint32_t users;
        struct loop_source *timer; /* runs while there are no users */
        char dir[256];
};

static void unmount(struct image *image) {
        struct image **place = &image->spawner->images;
        while (*place != image)
                place = &(*place)->next;
        *place = image->next;
        loop_remove(image->spawner->loop, &image->timer);
        /* Rooms hold copies of the mount; detached, it lasts as long as they do. */
        if (umount2(image->dir, MNT_DETACH) < 0 || rmdir(image->dir) < 0)
                log_warning("could not unmount an image", "error", strerror(errno));
        free(image);
}

static void on_idle(void *data) {
        struct image *image = data;
        image->timer = NULL;
        unmount(image);
}

static int mount_new(struct spawner *spawner, struct sandbox_id id, struct image **ret) {
        char file[4200], name[40];
        struct image *image = calloc(1, sizeof(*image));
        if (!image)
                return -ENOMEM;
        *image = (struct image){.spawner = spawner, .id = id};
        snprintf(name, sizeof(name), "%016llx%016llx", (unsigned long long)id.high, (unsigned long long)id.low);
        snprintf(image->dir, sizeof(image->dir), "%s/%s", spawner->images_dir, name);
        snprintf(file, sizeof(file), "%s/images/%s.erofs", spawner->config.data_dir, name);
        int r = access(file, R_OK) < 0 || mkdir(image->dir, 0755) < 0 ? -errno : 0;
        if (r == 0) {
                r = image_mount_file(file, image->dir);
                if (r < 0)
                        rmdir(image->dir);
        }
        if (r < 0) {
                free(image);
                return r;
        }
        image->next = spawner->images;
        spawner->images = image;
        *ret = image;
        return 0;
}

int images_use(struct spawner *spawner, struct sandbox_id id, struct image **ret) {
        struct image *image = spawner->images;
        while (image && (image->id.high != id.high || image->id.low != id.low))
                image = image->next;
        int r = image ? 0 : mount_new(spawner, id, &image);
        if (r < 0)
                return r;
        loop_remove(spawner->loop, &image->timer);
        image->users++;
        *ret = image;
        return 0;
}

const char *images_dir(const struct image *image) {
        return image->dir;
}

void images_release(struct image **owned) {
        struct image *image = TAKE_PTR(*owned);
        if (!image || --image->users > 0)
                return;
        if (loop_add_timer(image->spawner->loop, IDLE_NS, on_idle, image, &image->timer) < 0)
                unmount(image);
}
