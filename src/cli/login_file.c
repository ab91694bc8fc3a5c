/* What `platformctl login` keeps; see login_file.h. */
#include "cli/login_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/paths.h"

#define FOLDER "code-sandbox"
#define FILE_NAME "login.json"
#define LOGIN_MAX 65536

/* The XDG Base Directory Specification: a path that is not absolute is to be ignored. */
static char *folder_path(struct err *e) {
        const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
        char *path = NULL;
        int length = -1;
        if (base && base[0] == '/')
                length = asprintf(&path, "%s/" FOLDER, base);
        else if (home && home[0] == '/')
                length = asprintf(&path, "%s/.config/" FOLDER, home);
        else
                err_set(e, -ENOENT, "neither XDG_CONFIG_HOME nor HOME says where settings are kept");
        return length < 0 ? NULL : path;
}

char *login_file_path(struct err *e) {
        CLEANUP_FREE char *folder = folder_path(e);
        char *path = NULL;
        if (!folder)
                return NULL;
        return asprintf(&path, "%s/" FILE_NAME, folder) < 0 ? NULL : path;
}

void login_deinit(struct login *login) {
        if (login->key)
                explicit_bzero(login->key, strlen(login->key));
        free(login->url);
        free(login->key);
        *login = (struct login){0};
}

/* A key that others can read is no secret any more, and one that others can write may be a trap. */
static int check_mode(const char *path, struct err *e) {
        struct stat st;
        if (stat(path, &st) < 0)
                return err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
        if (st.st_mode & 077)
                return err_set(e, -EPERM,
                               "%s can be read or changed by others: use `chmod 600` on it, or `platformctl login` "
                               "again with a new key",
                               path);
        return 0;
}

static int parse(const char *path, const char *text, size_t length, struct login *ret, struct err *e) {
        json_t *whole = json_loadb(text, length, 0, NULL);
        const char *url = json_string_value(json_object_get(whole, "url"));
        const char *key = json_string_value(json_object_get(whole, "key"));
        int r = 0;
        if (url && key)
                *ret = (struct login){.url = strdup(url), .key = strdup(key)};
        else
                r = err_set(e, -EINVAL, "no sense in %s: `platformctl login` writes it anew", path);
        json_decref(whole);
        if (r == 0 && (!ret->url || !ret->key)) {
                login_deinit(ret);
                r = err_set(e, -ENOMEM, "out of memory");
        }
        return r;
}

int login_file_load(struct login *ret, struct err *e) {
        CLEANUP_FREE char *path = login_file_path(NULL);
        CLEANUP_FREE char *text = NULL;
        size_t length;
        if (!path || access(path, F_OK) < 0)
                return -ENOENT;
        int r = check_mode(path, e);
        if (r == 0)
                r = paths_read(path, LOGIN_MAX, &text, &length, e);
        if (r < 0)
                return r;
        r = parse(path, text, length, ret, e);
        explicit_bzero(text, length);
        return r;
}

int login_file_save(const char *url, const char *key, struct err *e) {
        CLEANUP_FREE char *folder_name = folder_path(e), *text = NULL;
        if (!folder_name)
                return -ENOENT;
        mode_t before = umask(077);
        CLEANUP_CLOSE int folder = paths_open_folder(folder_name, e);
        umask(before);
        if (folder < 0)
                return folder;
        json_t *whole = json_pack("{s:s, s:s}", "url", url, "key", key);
        text = whole ? json_dumps(whole, JSON_INDENT(2)) : NULL;
        json_decref(whole);
        if (!text)
                return err_set(e, -EINVAL, "the address or the key is not UTF-8");
        int r = paths_write(folder, FILE_NAME, text, strlen(text), 0600, true, e);
        explicit_bzero(text, strlen(text));
        return r < 0 ? err_wrap(e, "cannot write %s/" FILE_NAME, folder_name) : 0;
}

int login_file_remove(struct err *e) {
        CLEANUP_FREE char *path = login_file_path(e);
        if (!path)
                return -ENOENT;
        if (unlink(path) == 0)
                return 0;
        return errno == ENOENT ? -ENOENT : err_set(e, -errno, "cannot remove %s: %s", path, strerror(errno));
}
