/* Agents' images; see images.h. */
#include "spawner/images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "spawner/imports.h"

#define ANNOUNCED_BYTES (32 << 20) /* of messages about images that the api process has yet to read: some 30,000 */

/* The kernel forgets what it has read and unpacked of an image when it is unmounted, and calls come in bursts. */
#define IDLE_NS (300 * NS_PER_S)

struct image {
        struct image *next;
        struct spawner *spawner;
        struct sandbox_id id;
        uint32_t users;
        struct loop_source *timer; /* runs while there are no users */
        bool dropped;              /* its file has no name any more */
        char dir[256];
};

void image_file_name(struct sandbox_id id, char name[IMAGE_NAME_BYTES]) {
        snprintf(name, IMAGE_NAME_BYTES, "%016llx%016llx.erofs", (unsigned long long)id.high,
                 (unsigned long long)id.low);
}

/* The data folder is made by the api process, and may be root's alone; nobody but root writes here. */
int images_open_store(struct spawner *spawner) {
        char path[4200];
        if (spawner->store_fd >= 0)
                return 0;
        snprintf(path, sizeof(path), "%s/images", spawner->config.data_dir);
        if (mkdir(path, 0711) < 0 && errno != EEXIST)
                return -errno;
        if (mount(path, spawner->store_dir, NULL, MS_BIND, NULL) < 0 ||
            mount(NULL, spawner->store_dir, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                return -errno;
        CLEANUP_CLOSE int fd = open(spawner->store_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || fchmod(fd, 0711) < 0)
                return -errno;
        spawner->store_fd = take_fd(&fd);
        return 0;
}

static bool parse_name(const char *name, struct sandbox_id *id) {
        char high[17] = "", again[IMAGE_NAME_BYTES];
        if (strlen(name) < 32)
                return false;
        memcpy(high, name, 16);
        *id = (struct sandbox_id){.high = strtoull(high, NULL, 16), .low = strtoull(name + 16, NULL, 16)};
        image_file_name(*id, again);
        return strcmp(name, again) == 0; /* and nothing that only reads like a number */
}

static void announce_one(struct spawner *spawner, const char *name) {
        struct spawn_message message = {.type = SPAWN_IMAGE};
        struct stat st;
        if (parse_name(name, &message.image) && fstatat(spawner->store_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
                message.image_bytes = (uint64_t)st.st_size;
                service_send(spawner, &message, NULL, 0);
        }
}

void images_announce(struct spawner *spawner) {
        const int room = ANNOUNCED_BYTES;
        char path[4200];
        snprintf(path, sizeof(path), "%s/images", spawner->config.data_dir);
        if (access(path, F_OK) < 0)
                return; /* no image has ever been made */
        int r = images_open_store(spawner);
        CLEANUP_CLOSE int fd = r < 0 ? -1 : openat(spawner->store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                log_error("cannot open the folder of images", "error", strerror(r < 0 ? -r : errno));
                return;
        }
        take_fd(&fd);
        imports_clean_up(spawner);
        /* The api process reads them only when it has opened its database. */
        setsockopt(spawner->api_fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
        for (const struct dirent *entry; (entry = readdir(dir));)
                announce_one(spawner, entry->d_name);
}

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

static struct image *find(const struct spawner *spawner, struct sandbox_id id) {
        struct image *image = spawner->images;
        while (image && (image->id.high != id.high || image->id.low != id.low))
                image = image->next;
        return image;
}

static int mount_new(struct spawner *spawner, struct sandbox_id id, struct image **ret) {
        char file[256], name[IMAGE_NAME_BYTES];
        int r = images_open_store(spawner);
        if (r < 0)
                return r;
        struct image *image = calloc(1, sizeof(*image));
        if (!image)
                return -ENOMEM;
        *image = (struct image){.spawner = spawner, .id = id};
        image_file_name(id, name);
        snprintf(image->dir, sizeof(image->dir), "%s/%.32s", spawner->images_dir, name);
        snprintf(file, sizeof(file), "%s/%s", spawner->store_dir, name);
        r = access(file, R_OK) < 0 || mkdir(image->dir, 0755) < 0 ? -errno : 0;
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
        struct image *image = find(spawner, id);
        int r = image ? image->dropped ? -ENOENT : 0 : mount_new(spawner, id, &image);
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
        if (image->dropped || loop_add_timer(image->spawner->loop, IDLE_NS, on_idle, image, &image->timer) < 0)
                unmount(image);
}

void images_drop(struct spawner *spawner, struct sandbox_id id) {
        char name[IMAGE_NAME_BYTES];
        struct image *image = find(spawner, id);
        image_file_name(id, name);
        if (spawner->store_fd >= 0 && unlinkat(spawner->store_fd, name, 0) < 0 && errno != ENOENT)
                log_error("cannot remove an image", "error", strerror(errno));
        if (!image)
                return;
        image->dropped = true;
        if (image->users == 0)
                unmount(image);
}
