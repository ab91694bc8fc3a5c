/*
 * Third step: the tree becomes one that a sandbox can have as its root; see import.h.
 *
 * Nothing but this process works in the tree any more. Paths are opened below it one part at a time, without following
 * links, or as if it were the root folder: whatever a link says, it leads nowhere else.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "import/channel.h"
#include "import/import.h"

/* What the room mounts there hides whatever the image has. */
static const char *const mount_points[] = {"proc", "dev", "tmp", "mnt/data", "home/nonroot", "opt/sandbox"};

/*
 * There is one user inside, who is not the owner of the files: what the image lets anybody read or execute, that user
 * may. No setuid, setgid or sticky bit, no writing: the file system is read-only anyway.
 */
static int set_mode(const FTSENT *entry) {
        mode_t mode = entry->fts_statp->st_mode & 07777, wanted = (mode & 0755) | 0444;
        if (S_ISDIR(entry->fts_statp->st_mode))
                wanted |= 0755; /* for this process, which has yet to make folders */
        else if (mode & 0111)
                wanted |= 0555;
        return mode != wanted && chmod(entry->fts_accpath, wanted) < 0 ? -errno : 0;
}

static int visit(struct import *import, const FTSENT *entry) {
        switch (entry->fts_info) {
        case FTS_D: /* before its contents are read: it may not be readable yet */
                import->files++;
                return set_mode(entry);
        case FTS_F:
                import->files++;
                import->bytes += (uint64_t)entry->fts_statp->st_size;
                return set_mode(entry);
        case FTS_SL:
        case FTS_SLNONE:
                import->files++;
                return 0;
        case FTS_DEFAULT: /* pipes and sockets have no business in an image, and device nodes none in a sandbox */
                return unlink(entry->fts_accpath) < 0 ? -errno : 0;
        case FTS_DP:
                return 0;
        default:
                return entry->fts_errno ? -entry->fts_errno : -EIO;
        }
}

static int walk(struct import *import, struct err *e) {
        static char root[] = IMPORT_ROOTFS;
        char *const paths[] = {root, NULL};
        FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_XDEV, NULL);
        int r = fts ? 0 : -errno;
        import->files = import->bytes = 0;
        for (FTSENT *entry; r == 0 && fts && (entry = fts_read(fts));)
                r = visit(import, entry);
        if (fts)
                fts_close(fts);
        return r < 0 ? err_set_field(e, IMPORT_FAILED, "unpack", "the unpacked image cannot be read: %s", strerror(-r))
                     : 0;
}

/* A folder below `parent` that is not a link to one; made if it is not there. A descriptor or negative errno. */
static int real_folder(int parent, const char *name, bool replace) {
        int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
                return fd;
        if (errno == ENOTDIR && replace && unlinkat(parent, name, 0) < 0)
                return -errno;
        else if (errno == ENOTDIR && !replace)
                return -ENOTDIR;
        if (mkdirat(parent, name, 0755) < 0)
                return -errno;
        fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Makes "mnt/data" and the like. A link on the way is not replaced: what it leads to may be part of the agent. */
static int make_mount_point(int root, const char *path, struct err *e) {
        char parent[64];
        const char *slash = strchr(path, '/'), *name = slash ? slash + 1 : path;
        CLEANUP_CLOSE int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
        snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 0, path);
        if (slash) {
                int folder = real_folder(root, parent, false);
                if (folder == -ENOTDIR)
                        return err_set_field(e, IMPORT_FAILED, "mount_point",
                                             "/%s is a link or a file in the image, and a sandbox needs a folder "
                                             "there, to mount /%s in it",
                                             parent, path);
                close_fd(&at);
                at = folder;
        }
        CLEANUP_CLOSE int made = at < 0 ? at : real_folder(at, name, true);
        return made < 0 ? err_set_field(e, IMPORT_FAILED, "mount_point", "cannot make the folder /%s in the image: %s",
                                        path, strerror(-made))
                        : 0;
}

/* Where the room shows which names the sandbox itself has; whatever runs images elsewhere makes this file, too. */
static int make_hosts(int root) {
        CLEANUP_CLOSE int etc = real_folder(root, "etc", false);
        if (etc < 0)
                return etc == -ENOTDIR ? 0 : etc; /* a link: it may lead to a folder that has the file */
        CLEANUP_CLOSE int hosts = openat(etc, "hosts", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        return hosts < 0 && errno != EEXIST ? -errno : 0;
}

/* /.sandbox/python → the interpreter: how the room learns what to start. Nothing of the image's own is followed. */
static int link_python(const struct import *import, int root) {
        CLEANUP_CLOSE int folder = real_folder(root, ".sandbox", true);
        if (folder < 0)
                return folder;
        if (unlinkat(folder, "python", 0) < 0 && errno != ENOENT)
                return -errno;
        return symlinkat(import->python, folder, "python") < 0 ? -errno : 0;
}

/* As `docker run` does: a working directory that no layer has made is made, part by part. */
static int make_working_dir(const struct import *import, int root) {
        char path[sizeof(import->working_dir)], *rest = path;
        snprintf(path, sizeof(path), "%s", import->working_dir);
        CLEANUP_CLOSE int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
        for (char *part; at >= 0 && (part = strtok_r(rest, "/", &rest));) {
                int next = strcmp(part, "..") == 0 ? -EINVAL : strcmp(part, ".") == 0 ? dup(at) : -ENOTDIR;
                if (next == -ENOTDIR)
                        next = real_folder(at, part, false);
                close_fd(&at);
                at = next;
        }
        return at < 0 ? at : 0;
}

int check(struct import *import, struct err *e) {
        channel_progress(import->channel, "check", 0, 0, "looking at the files");
        int r = walk(import, e);
        if (r != 0)
                return r;
        CLEANUP_CLOSE int root = open(IMPORT_ROOTFS, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (root < 0)
                return err_set_field(e, IMPORT_FAILED, "unpack", "the image has no files");
        if ((r = python_find(import, root, e)) != 0)
                return r;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(mount_points); i++)
                r = make_mount_point(root, mount_points[i], e);
        if (r != 0)
                return r;
        if ((r = make_hosts(root)) < 0)
                return err_set_field(e, IMPORT_FAILED, "mount_point", "cannot make /etc/hosts in the image: %s",
                                     strerror(-r));
        r = link_python(import, root);
        if (r < 0)
                return err_set_field(e, IMPORT_FAILED, "mount_point", "cannot make /.sandbox/python in the image: %s",
                                     strerror(-r));
        r = make_working_dir(import, root);
        return r == -ENOTDIR || r >= 0 /* a link: it may well lead to a folder, which is seen when it is used */
                       ? 0
                       : err_set_field(e, IMPORT_FAILED, "description",
                                       "its working directory %.200s cannot be made: %s", import->working_dir,
                                       strerror(-r));
}
