/*
 * The spawner's own mount namespace, its run folder, and the image in it.
 *
 * Runs in the spawner at start. Everything is mounted in a private mount namespace: no other process of the host sees
 * it, and it is gone with the last process of the service, even after SIGKILL. The image is a file or folder that the
 * operator has named; the kernel's erofs or squashfs code reads it, so it must come from somebody trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawner/spawner.h"

#define IMAGE_FLAGS (MS_RDONLY | MS_NOSUID | MS_NODEV)

/* A name for this service that is the same at every start: two services need two data folders. */
static uint64_t instance_number(const char *data_dir) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
        for (const char *c = data_dir; *c; c++)
                hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        return hash;
}

static int make_run_dir(struct spawner *spawner, struct err *e) {
        if (mkdir(RUN_PARENT, 0755) < 0 && errno != EEXIST)
                return err_set(e, -errno, "cannot make " RUN_PARENT ": %s", strerror(errno));
        snprintf(spawner->run_dir, sizeof(spawner->run_dir), RUN_PARENT "/%016llx",
                 (unsigned long long)instance_number(spawner->config.data_dir));
        if (mkdir(spawner->run_dir, 0700) < 0 && errno != EEXIST)
                return err_set(e, -errno, "cannot make %s: %s", spawner->run_dir, strerror(errno));

        /* The lock goes with its holder, so a crash leaves none behind. */
        spawner->lock_fd = open(spawner->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (spawner->lock_fd < 0 || flock(spawner->lock_fd, LOCK_EX | LOCK_NB) < 0) {
                /*
                 * It is the other one's folder. Removing it at the end would even take its mounts away, although they
                 * are in another mount namespace: rmdir(2) of a mount point detaches what is mounted there
                 * (Linux 3.18).
                 */
                spawner->run_dir[0] = '\0';
                return err_set(e, -EBUSY,
                               "another sandboxd already uses the data folder %s; stop it, or set SANDBOX_DATA_DIR to "
                               "another folder",
                               spawner->config.data_dir);
        }

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return err_set(e, -errno, "cannot make a mount namespace: %s", strerror(errno));
        if (mount("tmpfs", spawner->run_dir, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=1m") < 0)
                return err_set(e, -errno, "cannot mount a tmpfs on %s: %s", spawner->run_dir, strerror(errno));
        snprintf(spawner->image_dir, sizeof(spawner->image_dir), "%s/image", spawner->run_dir);
        snprintf(spawner->dev_dir, sizeof(spawner->dev_dir), "%s/dev", spawner->run_dir);
        snprintf(spawner->tools_dir, sizeof(spawner->tools_dir), "%s/template", spawner->run_dir);
        snprintf(spawner->call_dir, sizeof(spawner->call_dir), "%s/call", spawner->run_dir);
        snprintf(spawner->images_dir, sizeof(spawner->images_dir), "%s/images", spawner->run_dir);
        snprintf(spawner->empty_dir, sizeof(spawner->empty_dir), "%s/empty", spawner->run_dir);
        snprintf(spawner->store_dir, sizeof(spawner->store_dir), "%s/store", spawner->run_dir);
        snprintf(spawner->import_dir, sizeof(spawner->import_dir), "%s/import", spawner->run_dir);
        const char *const folders[] = {spawner->image_dir, spawner->dev_dir, spawner->tools_dir, spawner->call_dir,
                                       spawner->images_dir, spawner->empty_dir, spawner->store_dir, spawner->import_dir};
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (mkdir(folders[i], 0755) < 0)
                        return err_set(e, -errno, "cannot make the folder %s: %s", folders[i], strerror(errno));
        return 0;
}

/* Rooms may not make device nodes, so they bind these; the host's own would show the size of its memory in mountinfo.
 */
static int make_devices(struct spawner *spawner, struct err *e) {
        static const struct {
                const char *name;
                unsigned minor;
        } devices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};
        CLEANUP_CLOSE int dir = -1;
        if (mount("tmpfs", spawner->dev_dir, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k") < 0 ||
            (dir = open(spawner->dev_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return err_set(e, -errno, "cannot mount a tmpfs on %s: %s", spawner->dev_dir, strerror(errno));
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
                if (mknodat(dir, devices[i].name, S_IFCHR, makedev(1, devices[i].minor)) < 0 ||
                    fchmodat(dir, devices[i].name, 0666, 0) < 0)
                        return err_set(e, -errno, "cannot make the device %s: %s", devices[i].name, strerror(errno));
        return 0;
}

/* Kernels before 6.12, and squashfs on all: through a loop device that frees itself with its mount. */
static int mount_by_loop(const char *file, const char *type, const char *target) {
        CLEANUP_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
        CLEANUP_CLOSE int backing = open(file, O_RDONLY | O_CLOEXEC);
        if (control < 0 || backing < 0)
                return -errno;
        for (int tries = 0; tries < 16; tries++) {
                char device[32];
                int number = ioctl(control, LOOP_CTL_GET_FREE);
                if (number < 0)
                        return -errno;
                snprintf(device, sizeof(device), "/dev/loop%d", number);
                CLEANUP_CLOSE int loop = open(device, O_RDONLY | O_CLOEXEC);
                if (loop < 0)
                        return -errno;
                struct loop_config config = {
                        .fd = (uint32_t)backing,
                        .info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR,
                };
                if (ioctl(loop, LOOP_CONFIGURE, &config) == 0)
                        return mount(device, target, type, IMAGE_FLAGS, NULL) < 0 ? -errno : 0;
                if (errno != EBUSY) /* else somebody else took it first */
                        return -errno;
        }
        return -EBUSY;
}

/* From the file itself, without a loop device (Linux 6.12). By its number: sandboxes can read the source's name. */
static int mount_erofs(const char *file, const char *target) {
        char source[64];
        CLEANUP_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
        if (mount(source, target, "erofs", IMAGE_FLAGS, NULL) == 0)
                return 0;
        return errno == ENOTBLK || errno == EINVAL ? mount_by_loop(file, "erofs", target) : -errno;
}

int image_mount_file(const char *file, const char *target) {
        size_t length = strlen(file);
        if (length > 6 && strcmp(file + length - 6, ".erofs") == 0)
                return mount_erofs(file, target);
        return mount_by_loop(file, "squashfs", target);
}

/* The template's user may not be able to walk to where the product lies, such as a checkout in root's home. */
static int mount_tools(struct spawner *spawner, struct err *e) {
        char path[4200];
        int r = paths_open_part(spawner, "template", path, sizeof(path));
        if (r < 0)
                return err_set(e, r, "the folder 'template' is missing beside sandboxd; build or install all of it");
        if (mount(path, spawner->tools_dir, NULL, MS_BIND, NULL) < 0)
                return err_set(e, -errno, "cannot mount %s: %s", path, strerror(errno));
        return 0;
}

/* 1: it is a folder, and was left out. */
static int copy_file(int from_dir, const char *name, int to_dir) {
        struct stat st;
        CLEANUP_CLOSE int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC);
        if (from < 0 || fstat(from, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return 1;
        CLEANUP_CLOSE int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (to < 0 || fchmod(to, 0644) < 0) /* whatever the umask */
                return -errno;
        for (off_t at = 0; at < st.st_size;)
                if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
                        return -EIO;
        return 0;
}

static int copy_files(const char *from, const char *to) {
        CLEANUP_CLOSE int to_dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSEDIR DIR *dir = opendir(from);
        if (to_dir < 0 || !dir)
                return -errno;
        for (struct dirent *entry; (entry = readdir(dir));) {
                int r = copy_file(dirfd(dir), entry->d_name, to_dir);
                if (r < 0)
                        return r;
        }
        return 0;
}

/*
 * Rooms for tool calls show this one, and a mount shows where in its file system it begins: so it is a file system of
 * its own, and not a folder of the host's.
 */
static int mount_call_tools(struct spawner *spawner, struct err *e) {
        static const char package[] = "sandbox_call";
        char from[4200], from_package[4300], to_package[192];
        int r = paths_open_part(spawner, "call", from, sizeof(from));
        if (r < 0)
                return err_set(e, r, "the folder 'call' is missing beside sandboxd; build or install all of it");
        snprintf(from_package, sizeof(from_package), "%s/%s", from, package);
        snprintf(to_package, sizeof(to_package), "%s/%s", spawner->call_dir, package);
        r = mount("tmpfs", spawner->call_dir, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=1m") < 0 ||
                            mkdir(to_package, 0755) < 0 || chmod(to_package, 0755) < 0
                    ? -errno
                    : 0;
        if (r == 0)
                r = copy_files(from, spawner->call_dir);
        if (r == 0)
                r = copy_files(from_package, to_package);
        return r < 0 ? err_set(e, r, "cannot copy %s: %s", from, strerror(-r)) : 0;
}

int image_mount(struct spawner *spawner, struct err *e) {
        const char *image = spawner->config.image;
        struct stat st;
        int r = make_run_dir(spawner, e);
        if (r < 0 || (r = make_devices(spawner, e)) < 0 || (r = mount_tools(spawner, e)) < 0 ||
            (r = mount_call_tools(spawner, e)) < 0)
                return r;
        if (stat(image, &st) < 0)
                return err_set_field(e, -errno, "SANDBOX_IMAGE",
                                     "there is no image at %s: %s; build it with 'make image'", image, strerror(errno));
        if (S_ISDIR(st.st_mode))
                r = mount(image, spawner->image_dir, NULL, MS_BIND, NULL) < 0 ||
                                    mount(NULL, spawner->image_dir, NULL, MS_BIND | MS_REMOUNT | IMAGE_FLAGS, NULL) < 0
                            ? -errno
                            : 0;
        else
                r = image_mount_file(image, spawner->image_dir);
        if (r < 0)
                return err_set_field(e, r, "SANDBOX_IMAGE", "cannot mount the image %s: %s", image, strerror(-r));
        return 0;
}

int init_load(struct spawner *spawner, struct err *e) {
        char path[4200];
        struct stat st;
        int r = paths_open_part(spawner, "sandbox-init", path, sizeof(path));
        if (r < 0)
                return err_set(e, r, "the program sandbox-init is missing beside sandboxd; build or install all of it");
        CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
        CLEANUP_CLOSE int memory = memfd_create("sandbox-init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (file < 0 || memory < 0 || fstat(file, &st) < 0)
                return err_set(e, -errno, "cannot load %s: %s", path, strerror(errno));
        for (off_t at = 0; at < st.st_size;)
                if (sendfile(memory, file, &at, (size_t)(st.st_size - at)) <= 0)
                        return err_set(e, -EIO, "cannot load %s", path);
        if (fchmod(memory, 0555) < 0 ||
            fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return err_set(e, -errno, "cannot seal the program of a room's init: %s", strerror(errno));
        spawner->init_fd = take_fd(&memory);
        return 0;
}
