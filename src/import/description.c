/*
 * What an image says of itself: digest, architecture, environment, working directory, labels; see import.h.
 *
 * Reads the layout that skopeo has written, so that the digests are right; what stands in the blobs is the image's own
 * and hostile: sizes and counts are bounded, and what is handed on is checked again by the api process.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "import/import.h"

#define DESCRIPTION_BYTES_MAX (4 << 20)
#define ENV_MAX 1024
#define TEXT_BYTES_MAX (64 << 10) /* of the environment, and of the labels */

static int broken(struct err *e, const char *what) {
        return err_set_field(e, IMPORT_FAILED, "description", "the image's description is broken: %s", what);
}

static json_t *read_json(const char *path) {
        struct stat st;
        CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > DESCRIPTION_BYTES_MAX)
                return NULL;
        return json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
}

/* "sha256:" and 64 hexadecimal digits: fit to be part of a path. */
static bool is_digest(const char *text) {
        static const char prefix[] = "sha256:";
        if (!text || strncmp(text, prefix, sizeof(prefix) - 1) != 0 || strlen(text) != sizeof(prefix) - 1 + 64)
                return false;
        for (const char *c = text + sizeof(prefix) - 1; *c; c++)
                if (!isxdigit((unsigned char)*c))
                        return false;
        return true;
}

static json_t *read_blob(const char *digest) {
        char path[160];
        if (!is_digest(digest))
                return NULL;
        snprintf(path, sizeof(path), IMPORT_LAYOUT "/blobs/sha256/%s", strchr(digest, ':') + 1);
        return read_json(path);
}

static int take_environment(struct import *import, const json_t *list, struct err *e) {
        size_t bytes = 0, i;
        const json_t *entry;
        import->env = json_array();
        if (!list || json_is_null(list))
                return 0;
        if (!json_is_array(list) || json_array_size(list) > ENV_MAX)
                return broken(e, "Env is no list of at most 1024 variables");
        json_array_foreach(list, i, entry) {
                const char *text = json_string_value(entry);
                if (!text || !strchr(text, '=') || *text == '=')
                        return broken(e, "a variable in Env is no NAME=VALUE");
                bytes += strlen(text);
                json_array_append(import->env, (json_t *)entry);
        }
        return bytes > TEXT_BYTES_MAX ? broken(e, "Env is longer than 64 KiB") : 0;
}

/* Labels are for people and programs that list images: what is odd is left out. */
static void take_labels(struct import *import, json_t *labels) {
        size_t bytes = 0;
        const char *name;
        json_t *value;
        import->labels = json_object();
        json_object_foreach(labels, name, value) {
                bytes += strlen(name) + json_string_length(value);
                if (json_is_string(value) && bytes <= TEXT_BYTES_MAX)
                        json_object_set(import->labels, name, value);
        }
}

static int take_config(struct import *import, const json_t *config, struct err *e) {
        const char *arch = json_string_value(json_object_get(config, "architecture"));
        const char *os = json_string_value(json_object_get(config, "os"));
        if (!arch || !os)
                return broken(e, "it names no architecture and system");
        if (strcmp(arch, import->arch) != 0 || strcmp(os, "linux") != 0)
                return err_set_field(e, IMPORT_FAILED, "architecture",
                                     "the image is for %.32s/%.32s, and this host runs linux/%s; build it with "
                                     "--platform linux/%s",
                                     os, arch, import->arch, import->arch);
        json_t *settings = json_object_get(config, "config");
        const char *folder = json_string_value(json_object_get(settings, "WorkingDir"));
        if (!folder || !*folder)
                folder = "/";
        if (*folder != '/' || strlen(folder) >= sizeof(import->working_dir))
                return broken(e, "WorkingDir is no absolute path of less than 1024 bytes");
        snprintf(import->working_dir, sizeof(import->working_dir), "%s", folder);
        take_labels(import, json_object_get(settings, "Labels"));
        return take_environment(import, json_object_get(settings, "Env"), e);
}

int describe(struct import *import, struct err *e) {
        json_t *index = read_json(IMPORT_LAYOUT "/index.json"), *manifest = NULL, *config = NULL;
        json_t *first = json_array_get(json_object_get(index, "manifests"), 0);
        const char *digest = json_string_value(json_object_get(first, "digest"));
        int r = 0;
        if (is_digest(digest)) {
                snprintf(import->digest, sizeof(import->digest), "%s", digest);
                manifest = read_blob(digest);
                config = read_blob(json_string_value(json_object_get(json_object_get(manifest, "config"), "digest")));
        }
        r = json_is_object(config) ? take_config(import, config, e) : broken(e, "its configuration cannot be read");
        json_decref(index);
        json_decref(manifest);
        json_decref(config);
        return r;
}

bool is_known(const struct import *import) {
        size_t i;
        const json_t *entry;
        json_array_foreach(import->known, i, entry)
                if (json_is_string(entry) && strcmp(json_string_value(entry), import->digest) == 0)
                        return true;
        return false;
}
