/* What an import needs beside its room; see imports.h. */
#include "spawner/imports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "spawner/images.h"

#define RESULT "image.erofs" /* what src/import calls its file */

/* ---- the host's tools */

/* Nothing of /etc but certificates, nothing of /var, /root, /home: what skopeo, umoci and mkfs.erofs are made of. */
int imports_prepare_tools(struct spawner *spawner, struct err *e) {
        static const char *const folders[] = {"usr", "etc", "etc/ssl", "etc/ssl/certs", "proc", "dev", "tmp", "mnt",
                                              "mnt/data", "home", "home/nonroot", "opt", "opt/sandbox"};
        static const char *const shown[] = {"usr", "etc/ssl/certs"};
        static const char *const links[] = {"bin", "sbin", "lib", "lib32", "lib64"};
        char path[PATH_MAX], target[64], program[4200];
        CLEANUP_CLOSE int root = open(spawner->import_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (mkdirat(root, folders[i], 0755) < 0)
                        return err_set(e, -errno, "cannot make a folder in %s: %s", spawner->import_dir, strerror(errno));
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                snprintf(target, sizeof(target), "usr/%s", links[i]);
                if (symlinkat(target, root, links[i]) < 0)
                        return err_set(e, -errno, "cannot make a link in %s: %s", spawner->import_dir, strerror(errno));
        }
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
                snprintf(target, sizeof(target), "/%s", shown[i]);
                snprintf(path, sizeof(path), "%s/%s", spawner->import_dir, shown[i]);
                if (mount(target, path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
                        return err_set(e, -errno, "cannot mount %s: %s", target, strerror(errno));
        }
        int r = paths_open_part(spawner, "sandbox-import", program, sizeof(program));
        if (r < 0)
                return err_set(e, r, "the program sandbox-import is missing beside sandboxd; build or install all of it");
        snprintf(path, sizeof(path), "%s/opt/sandbox/sandbox-import", spawner->import_dir);
        if (mknod(path, S_IFREG | 0755, 0) < 0 || mount(program, path, NULL, MS_BIND, NULL) < 0)
                return err_set(e, -errno, "cannot mount %s: %s", program, strerror(errno));
        return 0;
}

/* ---- removing what somebody else has made */

/*
 * By the room's init under another name (src/init/scratch.c), as the user whom it all belongs to: whatever goes wrong,
 * nothing of anybody else's can be removed. It takes its time, and the spawner has none.
 */
static pid_t start_sweeper(const struct spawner *spawner, const char *name, uid_t uid) {
        static char *const arguments[] = {(char *)"sweeper", NULL}, *const environment[] = {NULL};
        pid_t pid = fork();
        if (pid != 0)
                return pid;
        CLEANUP_CLOSE int folder = openat(spawner->store_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0 && fchdir(folder) == 0 && setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
            setresuid(uid, uid, uid) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
                fexecve(spawner->init_fd, arguments, environment);
        _exit(1);
}

/* Before there is a loop, so it is waited for. */
void imports_clean_up(struct spawner *spawner) {
        CLEANUP_CLOSE int fd = openat(spawner->store_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct stat st;
        if (dir)
                take_fd(&fd);
        for (const struct dirent *entry; dir && (entry = readdir(dir));) {
                if (strncmp(entry->d_name, IMPORT_WORK_PREFIX, strlen(IMPORT_WORK_PREFIX)) != 0 ||
                    fstatat(spawner->store_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                pid_t pid = start_sweeper(spawner, entry->d_name, st.st_uid);
                if (pid > 0)
                        waitpid(pid, NULL, 0);
                unlinkat(spawner->store_fd, entry->d_name, AT_REMOVEDIR);
        }
}

/* ---- one import */

static uid_t host_uid(const struct sandbox *s) {
        return (uid_t)(s->spawner->config.uid_base + s->uid);
}

int import_begin(struct sandbox *s) {
        uint64_t chance;
        char name[sizeof(s->work)];
        int r = images_open_store(s->spawner);
        if (r < 0)
                return r;
        if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
                return -EIO;
        snprintf(name, sizeof(name), IMPORT_WORK_PREFIX "%016llx", (unsigned long long)chance);
        if (mkdirat(s->spawner->store_fd, name, 0700) < 0)
                return -errno;
        memcpy(s->work, name, sizeof(name));
        if (fchownat(s->spawner->store_fd, name, host_uid(s), host_uid(s), AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return 0;
}

/*
 * All that could write to the file is dead, and its blocks are on the disk: the import has waited for that. It must be
 * the import's own and have no other name, or a link would make an image of something else.
 */
int import_keep(const struct sandbox *s, uint64_t *ret_bytes) {
        int store = s->spawner->store_fd;
        char name[IMAGE_NAME_BYTES];
        struct stat st, kept;
        CLEANUP_CLOSE int work = openat(store, s->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        CLEANUP_CLOSE int file = openat(work, RESULT, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0 || fstat(file, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_uid != host_uid(s) || st.st_nlink != 1 || st.st_size == 0)
                return -EINVAL;
        image_file_name(s->id, name);
        if (fchown(file, 0, 0) < 0 || fchmod(file, 0400) < 0 || renameat(work, RESULT, store, name) < 0)
                return -errno;
        if (fstatat(store, name, &kept, AT_SYMLINK_NOFOLLOW) < 0 || kept.st_ino != st.st_ino ||
            kept.st_dev != st.st_dev || fsync(store) < 0) {
                unlinkat(store, name, 0);
                return -EIO;
        }
        *ret_bytes = (uint64_t)st.st_size;
        return 0;
}

pid_t import_discard(const struct sandbox *s) {
        pid_t pid = start_sweeper(s->spawner, s->work, host_uid(s));
        if (pid < 0)
                log_error("cannot remove what an import has left; the next start does", "folder", s->work);
        return pid > 0 ? pid : 0;
}

void import_end(struct sandbox *s) {
        if (s->work[0] && unlinkat(s->spawner->store_fd, s->work, AT_REMOVEDIR) < 0)
                log_error("could not remove all that an import has left; the next start tries again", "folder", s->work);
        s->work[0] = '\0';
}
