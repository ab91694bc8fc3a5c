/* Packs an image of an OCI layout as an archive; see layout_pack.h. */
#include "cli/layout_pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAME_OF_TAG "org.opencontainers.image.ref.name"
#define NESTING_MAX 4 /* an index in an index */
#define DESCRIPTION_BYTES_MAX (16 << 20)

struct packer {
        int folder; /* the layout */
        struct archive *archive;
        json_t *packed; /* object: digests that are in it */
};

static void decref(json_t **value) {
        json_decref(*value);
}

/* "blobs/sha256/…" of a digest; false if it is none. */
static bool blob_path(const char *digest, char *path, size_t size) {
        static const char prefix[] = "sha256:";
        if (!digest || strncmp(digest, prefix, sizeof(prefix) - 1) != 0 ||
            strspn(digest + sizeof(prefix) - 1, "0123456789abcdef") != 64 || strlen(digest) != sizeof(prefix) - 1 + 64)
                return false;
        snprintf(path, size, "blobs/sha256/%s", digest + sizeof(prefix) - 1);
        return true;
}

static int read_json(const struct packer *packer, const char *path, json_t **ret, struct err *e) {
        struct stat st;
        CLEANUP_CLOSE int fd = openat(packer->folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return err_set(e, -errno, "cannot read %s in the layout: %s", path, strerror(errno));
        if (st.st_size > DESCRIPTION_BYTES_MAX || !(*ret = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL)))
                return err_set(e, -EINVAL, "%s in the layout is no JSON", path);
        return 0;
}

static int begin_entry(const struct packer *packer, const char *path, uint64_t size, struct err *e) {
        struct archive_entry *entry = archive_entry_new();
        if (!entry)
                return err_set(e, -ENOMEM, "out of memory");
        archive_entry_set_pathname(entry, path);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, (int64_t)size);
        int r = archive_write_header(packer->archive, entry);
        archive_entry_free(entry);
        if (r != ARCHIVE_OK)
                return err_set(e, -EIO, "cannot pack the image: %s", archive_error_string(packer->archive));
        return 0;
}

static int add_text(const struct packer *packer, const char *path, const char *text, struct err *e) {
        size_t length = strlen(text);
        int r = begin_entry(packer, path, length, e);
        if (r == 0 && archive_write_data(packer->archive, text, length) != (la_ssize_t)length)
                r = err_set(e, -EIO, "cannot pack the image: %s", archive_error_string(packer->archive));
        return r;
}

static int add_file(const struct packer *packer, const char *path, struct err *e) {
        static char piece[256 << 10];
        struct stat st;
        CLEANUP_CLOSE int fd = openat(packer->folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return err_set(e, -errno, "cannot read %s in the layout: %s", path, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return err_set(e, -EINVAL, "%s in the layout is no file", path);
        int r = begin_entry(packer, path, (uint64_t)st.st_size, e);
        for (off_t left = st.st_size; r == 0 && left > 0;) {
                ssize_t got = read(fd, piece, sizeof(piece));
                if (got <= 0)
                        return err_set(e, -EIO, "cannot read %s in the layout: %s", path,
                                       got < 0 ? strerror(errno) : "it has become shorter");
                if (archive_write_data(packer->archive, piece, (size_t)got) < 0)
                        r = err_set(e, -EIO, "cannot pack the image: %s", archive_error_string(packer->archive));
                left -= got;
        }
        return r;
}

static int add_blob(const struct packer *packer, const json_t *descriptor, struct err *e) {
        char path[128];
        const char *digest = json_string_value(json_object_get(descriptor, "digest"));
        if (!blob_path(digest, path, sizeof(path)))
                return err_set(e, -EINVAL, "the layout names a part by something that is no sha256 digest");
        if (json_object_get(packer->packed, digest))
                return 0;
        json_object_set_new(packer->packed, digest, json_true());
        return add_file(packer, path, e);
}

/* A manifest with its configuration and layers; or an index of several, for several platforms, with all of them. */
static int add_manifest(const struct packer *packer, const json_t *descriptor, int depth, struct err *e) {
        CLEANUP(decref) json_t *manifest = NULL;
        char path[128];
        size_t i;
        json_t *part;
        int r = add_blob(packer, descriptor, e);
        if (r < 0)
                return r;
        blob_path(json_string_value(json_object_get(descriptor, "digest")), path, sizeof(path));
        r = read_json(packer, path, &manifest, e);
        json_t *inner = json_object_get(manifest, "manifests"), *config = json_object_get(manifest, "config");
        if (r == 0 && inner && depth >= NESTING_MAX)
                return err_set(e, -EINVAL, "the layout has an index in an index, again and again");
        if (inner) {
                json_array_foreach(inner, i, part)
                        if (r == 0)
                                r = add_manifest(packer, part, depth + 1, e);
                return r;
        }
        if (r == 0)
                r = add_blob(packer, config, e);
        json_array_foreach(json_object_get(manifest, "layers"), i, part)
                if (r == 0)
                        r = add_blob(packer, part, e);
        return r;
}

static const char *tag_of(const json_t *descriptor) {
        const char *tag = json_string_value(json_object_get(json_object_get(descriptor, "annotations"), NAME_OF_TAG));
        return tag ? tag : "";
}

/* The one that is meant; borrowed. NULL, and a sentence, if that is not clear. */
static json_t *choose(const json_t *manifests, const char *tag, struct err *e) {
        char tags[256] = "";
        size_t i, used = 0;
        json_t *entry, *found = NULL;
        json_array_foreach(manifests, i, entry) {
                if (tag && strcmp(tag_of(entry), tag) == 0)
                        found = entry;
                if (used < sizeof(tags) - 1)
                        used += (size_t)snprintf(tags + used, sizeof(tags) - used, " %s",
                                                 *tag_of(entry) ? tag_of(entry) : "(one without a tag)");
        }
        if (!tag && json_array_size(manifests) == 1)
                found = json_array_get(manifests, 0);
        if (!found && json_array_size(manifests) == 0)
                err_set(e, -EINVAL, "there is no image in the layout");
        else if (!found && tag)
                err_set(e, -EINVAL, "the layout has no image with the tag \"%s\"; it has:%s", tag, tags);
        else if (!found)
                err_set(e, -EINVAL, "the layout has several images; name one, as oci:DIR:TAG. It has:%s", tags);
        return found;
}

static int add_all(const struct packer *packer, const char *tag, struct err *e) {
        CLEANUP(decref) json_t *index = NULL;
        CLEANUP_FREE char *text = NULL;
        int r = read_json(packer, "index.json", &index, e);
        json_t *chosen = r == 0 ? choose(json_object_get(index, "manifests"), tag, e) : NULL;
        if (!chosen)
                return e->code;
        CLEANUP(decref) json_t *alone = json_pack("{s:i, s:[O]}", "schemaVersion", 2, "manifests", chosen);
        if (!alone || !(text = json_dumps(alone, JSON_COMPACT)))
                return err_set(e, -ENOMEM, "out of memory");
        r = add_text(packer, "oci-layout", "{\"imageLayoutVersion\": \"1.0.0\"}", e);
        if (r == 0)
                r = add_text(packer, "index.json", text, e);
        return r == 0 ? add_manifest(packer, chosen, 0, e) : r;
}

static int open_archive(struct packer *packer, int archive_fd, struct err *e) {
        packer->archive = archive_write_new();
        packer->packed = json_object();
        if (!packer->archive || !packer->packed)
                return err_set(e, -ENOMEM, "out of memory");
        if (archive_write_set_format_pax_restricted(packer->archive) != ARCHIVE_OK ||
            archive_write_open_fd(packer->archive, archive_fd) != ARCHIVE_OK)
                return err_set(e, -EIO, "cannot pack the image: %s", archive_error_string(packer->archive));
        return 0;
}

int layout_pack(const char *folder, const char *tag, int archive_fd, struct err *e) {
        struct packer packer = {.folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
        if (packer.folder < 0)
                return err_set(e, -errno, "cannot open the folder %s: %s", folder, strerror(errno));
        int r = open_archive(&packer, archive_fd, e);
        if (r == 0)
                r = add_all(&packer, tag, e);
        if (r == 0 && archive_write_close(packer.archive) != ARCHIVE_OK)
                r = err_set(e, -EIO, "cannot pack the image: %s", archive_error_string(packer.archive));
        archive_write_free(packer.archive);
        json_decref(packer.packed);
        close_fd(&packer.folder);
        return r;
}
