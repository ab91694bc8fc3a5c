/* Saves files that came back from a sandbox; see paths.h. */
#include "cli/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/terminal.h"
#include "cli/utf8.h"

#define COMPONENT_MAX 255
#define NAME_MAX_BYTES 4096
#define READ_STEP (64 * 1024)

/*
 * A name that begins with a dot is refused as well: such files are read by shells, editors and git without being asked
 * for (.bashrc, .git/hooks), so a snippet has no business placing them on somebody's machine.
 */
static const char *refuse_component(const char *start, size_t length) {
        if (length == 0)
                return "it is absolute or has an empty part";
        if (length > COMPONENT_MAX)
                return "a part of it is too long";
        if (start[0] == '.')
                return "a part of it begins with a dot";
        return NULL;
}

const char *paths_refuse_name(const char *name, size_t length) {
        if (length == 0 || length >= NAME_MAX_BYTES)
                return length == 0 ? "it is empty" : "it is too long";
        if (utf8_valid_prefix(name, length) != length)
                return "it is not UTF-8";
        CLEANUP_FREE char *line = terminal_line(name, length);
        if (!line || strlen(line) != length || memcmp(line, name, length) != 0)
                return "it has control characters";
        for (size_t start = 0; start <= length;) {
                const char *slash = memchr(name + start, '/', length - start);
                size_t end = slash ? (size_t)(slash - name) : length;
                const char *reason = refuse_component(name + start, end - start);
                if (reason)
                        return reason;
                start = end + 1;
        }
        return NULL;
}

int paths_open_folder(const char *path, struct err *e) {
        CLEANUP_FREE char *whole = strdup(path);
        if (!whole)
                return err_set(e, -ENOMEM, "out of memory");
        for (char *slash = whole;;) {
                slash = slash[0] ? strchr(slash + 1, '/') : NULL;
                if (slash)
                        *slash = '\0';
                if (whole[0] && mkdir(whole, 0777) < 0 && errno != EEXIST)
                        return err_set(e, -errno, "cannot make the folder %s: %s", whole, strerror(errno));
                if (!slash)
                        break;
                *slash = '/';
        }
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 ? fd : err_set(e, -errno, "cannot open the folder %s: %s", path, strerror(errno));
}

/* Goes down to the folder that the file belongs in, one part at a time and never through a link. */
static int open_parent(int folder, char *name, const char **ret_base, struct err *e) {
        CLEANUP_CLOSE int current = fcntl(folder, F_DUPFD_CLOEXEC, 0);
        if (current < 0)
                return err_set(e, -errno, "cannot duplicate a descriptor: %s", strerror(errno));
        char *part = name;
        for (char *slash; (slash = strchr(part, '/')); part = slash + 1) {
                *slash = '\0';
                if (mkdirat(current, part, 0777) < 0 && errno != EEXIST)
                        return err_set(e, -errno, "cannot make the folder %s: %s", name, strerror(errno));
                int next = openat(current, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return err_set(e, -errno, "%s is no folder of its own: %s", part, strerror(errno));
                close(current);
                current = next;
        }
        *ret_base = part;
        return take_fd(&current);
}

static int write_all(int fd, const char *bytes, size_t length) {
        while (length > 0) {
                ssize_t written = write(fd, bytes, length);
                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return -errno;
                bytes += written;
                length -= (size_t)written;
        }
        return 0;
}

/* linkat(2) refuses if the name is taken, rename(2) takes its place; neither follows a link that lies there. */
static int publish(int parent, const char *temporary, const char *base, bool force) {
        if (force)
                return renameat(parent, temporary, parent, base) < 0 ? -errno : 0;
        int r = linkat(parent, temporary, parent, base, 0) < 0 ? -errno : 0;
        unlinkat(parent, temporary, 0);
        return r;
}

int paths_write(int folder, const char *base, const void *bytes, size_t length, unsigned mode, bool force,
                struct err *e) {
        char temporary[48];
        unsigned long long random = 0;
        if (getrandom(&random, sizeof(random), 0) < 0)
                return err_set(e, -errno, "no random number: %s", strerror(errno));
        snprintf(temporary, sizeof(temporary), ".platformctl-%016llx", random);
        CLEANUP_CLOSE int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0)
                return err_set(e, -errno, "%s", strerror(errno));
        int r = write_all(fd, bytes, length);
        if (close(take_fd(&fd)) < 0 && r == 0)
                r = -errno;
        if (r < 0)
                unlinkat(folder, temporary, 0);
        else
                r = publish(folder, temporary, base, force);
        if (r == -EEXIST)
                return err_set(e, r, "it exists already; --force overwrites");
        if (r < 0) {
                unlinkat(folder, temporary, 0);
                return err_set(e, r, "%s", strerror(-r));
        }
        return 0;
}

int paths_save(int folder, const char *name, size_t name_length, const void *bytes, size_t length, bool force,
               struct err *e) {
        const char *base = NULL, *reason = paths_refuse_name(name, name_length);
        if (reason)
                return err_set(e, -EINVAL, "%s", reason);
        CLEANUP_FREE char *copy = strndup(name, name_length);
        if (!copy)
                return err_set(e, -ENOMEM, "out of memory");
        CLEANUP_CLOSE int parent = open_parent(folder, copy, &base, e);
        return parent < 0 ? parent : paths_write(parent, base, bytes, length, 0666, force, e);
}

/* A folder, or a device such as /dev/null, must not be replaced by a file. */
static int check_target(const char *path, struct err *e) {
        struct stat st;
        if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
                return err_set(e, -EEXIST, "it is there and is no ordinary file");
        return 0;
}

int paths_write_path(const char *path, const void *bytes, size_t length, bool force, struct err *e) {
        CLEANUP_FREE char *folder_name = strdup(path);
        char *slash = folder_name ? strrchr(folder_name, '/') : NULL;
        const char *base = slash ? path + (slash - folder_name) + 1 : path;
        if (!folder_name)
                return err_set(e, -ENOMEM, "out of memory");
        if (!base[0])
                return err_set(e, -EISDIR, "it is the name of a folder");
        int r = check_target(path, e);
        if (r < 0)
                return r;
        if (slash)
                slash[slash == folder_name] = '\0';
        CLEANUP_CLOSE int folder = open(slash ? folder_name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0)
                return err_set(e, -errno, "cannot open its folder: %s", strerror(errno));
        return paths_write(folder, base, bytes, length, 0666, force, e);
}

int paths_read(const char *path, size_t max, char **ret, size_t *ret_length, struct err *e) {
        bool standard_input = strcmp(path, "-") == 0;
        CLEANUP_CLOSE int opened = standard_input ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        CLEANUP_FREE char *bytes = NULL;
        int fd = standard_input ? STDIN_FILENO : opened;
        size_t used = 0, size = 0;
        ssize_t got;
        if (fd < 0)
                return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
        do {
                if (used + READ_STEP > size) {
                        size = 2 * size + READ_STEP;
                        char *grown = realloc(bytes, size + 1);
                        if (!grown)
                                return err_set(e, -ENOMEM, "%s does not fit into memory", path);
                        bytes = grown;
                }
                got = read(fd, bytes + used, READ_STEP);
                if (got < 0 && errno != EINTR)
                        return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
                used += got > 0 ? (size_t)got : 0;
                if (used > max)
                        return err_set(e, -EFBIG, "%s is larger than %zu MiB", path, max >> 20);
        } while (got != 0);
        bytes[used] = '\0';
        *ret = TAKE_PTR(bytes);
        *ret_length = used;
        return 0;
}
