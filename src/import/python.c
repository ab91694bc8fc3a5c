/*
 * Which CPython an image has, as far as that can be seen without running it; see import.h.
 *
 * Everything is opened below the image's root, links resolved as if it were "/" (openat2(2), RESOLVE_IN_ROOT). Only the
 * head of each program is read. Whether it works shows when the agent's tools are looked for, in a sandbox.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "import/import.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MINOR_MIN 10
#define MINOR_LAST 40 /* of the names that are tried */
#define INTERPRETER_MAX 256
#define PROGRAM_HEADERS_MAX 64

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

/* What is known of a candidate that was no good: the best reason is told if none is. */
struct search {
        int root;
        bool found_other, found_script;
        char old_version[16];
        char missing[INTERPRETER_MAX];
};

static int open_in_root(int root, const char *path, uint64_t flags) {
        struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
        int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

static bool exists(int root, const char *path) {
        CLEANUP_CLOSE int fd = open_in_root(root, path, O_PATH);
        return fd >= 0;
}

/* The program's loader, "/lib64/ld-linux-x86-64.so.2"; empty if it needs none. 0, or -ENOEXEC: not of this machine. */
static int read_elf(int fd, char interpreter[INTERPRETER_MAX]) {
        Elf64_Ehdr head;
        *interpreter = '\0';
        if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
            head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != OWN_MACHINE ||
            head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > PROGRAM_HEADERS_MAX)
                return -ENOEXEC;
        for (unsigned i = 0; i < head.e_phnum; i++) {
                Elf64_Phdr part;
                if (pread(fd, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) != (ssize_t)sizeof(part))
                        return -ENOEXEC;
                if (part.p_type != PT_INTERP)
                        continue;
                if (part.p_filesz == 0 || part.p_filesz >= INTERPRETER_MAX ||
                    pread(fd, interpreter, part.p_filesz, (off_t)part.p_offset) != (ssize_t)part.p_filesz)
                        return -ENOEXEC;
                interpreter[part.p_filesz] = '\0';
                return 0;
        }
        return 0;
}

/* The minor number in "python3.12" or "python3.12d"; 0 if there is none. */
static int minor_of(const char *name) {
        static const char prefix[] = "python3.";
        if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
                return 0;
        long minor = strtol(name + sizeof(prefix) - 1, NULL, 10);
        return minor > 0 && minor < 1000 ? (int)minor : 0;
}

/* True of python2.7 and python3.9, however it is called. */
static bool is_too_old(const char *name, int minor, char ret_version[16]) {
        static const char prefix[] = "python2";
        bool old = strncmp(name, prefix, sizeof(prefix) - 1) == 0;
        if (old)
                snprintf(ret_version, 16, "%s", name + sizeof("python") - 1);
        else if (minor && minor < MINOR_MIN)
                snprintf(ret_version, 16, "3.%d", minor);
        return old || (minor && minor < MINOR_MIN);
}

/* "bin/python3" does not say which it is; the library beside it does: "lib/python3.12/os.py". */
static int minor_of_library(int root, const char *program) {
        char folder[PATH_MAX], file[PATH_MAX + 300];
        const char *slash = strrchr(program, '/');
        snprintf(folder, sizeof(folder), "%.*s/../lib", slash ? (int)(slash - program) : 0, program);
        int fd = open_in_root(root, folder, O_RDONLY | O_DIRECTORY);
        CLEANUP_CLOSEDIR DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!dir)
                return 0;
        for (const struct dirent *entry; (entry = readdir(dir));) {
                snprintf(file, sizeof(file), "%s/%s/os.py", folder, entry->d_name);
                if (minor_of(entry->d_name) && exists(root, file))
                        return minor_of(entry->d_name);
        }
        return 0;
}

/* Where the links end, as a path in the image. */
static int real_path(int root, int fd, char *ret, size_t size) {
        char link[64], root_path[PATH_MAX], path[PATH_MAX];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
        ssize_t root_length = readlink(link, root_path, sizeof(root_path) - 1);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, sizeof(path) - 1);
        if (root_length < 0 || length < root_length)
                return -ENOENT;
        path[length] = '\0';
        snprintf(ret, size, "%s", path + root_length);
        return 0;
}

/* True if this is the one. */
static bool try_program(struct import *import, struct search *search, const char *path) {
        char interpreter[INTERPRETER_MAX], real[PATH_MAX] = "";
        struct stat st;
        CLEANUP_CLOSE int fd = open_in_root(search->root, path, O_RDONLY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111) ||
            strlen(path) >= sizeof(import->python) || real_path(search->root, fd, real, sizeof(real)) < 0)
                return false;
        if (read_elf(fd, interpreter) < 0) {
                search->found_script = true;
                return false;
        }
        if (*interpreter && !exists(search->root, interpreter)) {
                snprintf(search->missing, sizeof(search->missing), "%s", interpreter);
                return false;
        }
        const char *name = strrchr(real, '/') + 1;
        if (strncmp(name, "pypy", strlen("pypy")) == 0) {
                search->found_other = true;
                return false;
        }
        int minor = minor_of(name) ? minor_of(name) : minor_of_library(search->root, real);
        if (is_too_old(name, minor, search->old_version))
                return false;
        snprintf(import->python, sizeof(import->python), "%s", path);
        if (minor)
                snprintf(import->version, sizeof(import->version), "3.%d", minor);
        return true;
}

/* Each folder of the image's PATH, in its order, as a shell would. */
static bool try_name(struct import *import, struct search *search, const char *search_path, const char *name) {
        char path[PATH_MAX];
        for (const char *at = search_path; *at;) {
                size_t length = strcspn(at, ":");
                if (*at == '/' && length < PATH_MAX / 2) {
                        snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, name);
                        if (try_program(import, search, path))
                                return true;
                }
                at += length + (at[length] == ':');
        }
        return false;
}

static const char *search_path_of(const struct import *import) {
        size_t i;
        const json_t *entry;
        json_array_foreach(import->env, i, entry)
                if (strncmp(json_string_value(entry), "PATH=", 5) == 0)
                        return json_string_value(entry) + 5;
        return PATH_DEFAULT;
}

static int explain(const struct search *search, struct err *e) {
        if (search->old_version[0])
                return err_set_field(e, IMPORT_FAILED, "python_version",
                                     "the image's Python is %s; CPython 3.%d or newer is needed", search->old_version,
                                     MINOR_MIN);
        if (search->missing[0])
                return err_set_field(e, IMPORT_FAILED, "python",
                                     "the image's Python cannot start: it needs %s, which the image does not have",
                                     search->missing);
        if (search->found_other)
                return err_set_field(e, IMPORT_FAILED, "python",
                                     "the image's Python is PyPy; CPython 3.%d or newer is needed", MINOR_MIN);
        if (search->found_script)
                return err_set_field(e, IMPORT_FAILED, "python",
                                     "what the image calls python3 is no program for this machine; CPython 3.%d or "
                                     "newer is needed",
                                     MINOR_MIN);
        return err_set_field(e, IMPORT_FAILED, "python",
                             "the image has no Python: there is no python3 in any folder of its PATH; CPython 3.%d or "
                             "newer is needed",
                             MINOR_MIN);
}

int python_find(struct import *import, int root, struct err *e) {
        struct search search = {.root = root};
        const char *path = search_path_of(import);
        if (try_name(import, &search, path, "python3") || try_name(import, &search, path, "python"))
                return 0;
        for (int minor = MINOR_LAST; minor >= 1; minor--) {
                char name[32];
                snprintf(name, sizeof(name), "python3.%d", minor);
                if (try_name(import, &search, path, name))
                        return 0;
        }
        return explain(&search, e);
}
