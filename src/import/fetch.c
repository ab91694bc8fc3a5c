/*
 * First step: the image as an OCI layout in the work folder; see import.h.
 *
 * skopeo reads what archives and registries hold, converts it, and compares every blob with its digest.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "import/channel.h"
#include "import/import.h"
#include "import/meter.h"
#include "import/reference.h"
#include "import/tool.h"

#define UNPACKED "unpacked" /* the layout of an OCI archive */
#define COPY_BYTES ((size_t)16 << 20) /* at a time: progress is told in between */

static bool is_remote(const struct import *import) {
        return strncmp(import->source, "docker://", strlen("docker://")) == 0;
}

static bool is_layout(const struct import *import) {
        return strcmp(import->source, "oci-archive") == 0;
}

/* The archive's file belongs to the api process; a tool of this user can only open one of its own. */
static int copy_archive(struct import *import, struct err *e) {
        struct stat st;
        if (fstat(import->archive, &st) < 0 || !S_ISREG(st.st_mode))
                return err_set_field(e, IMPORT_FAILED, "request", "the archive is no file");
        if ((uint64_t)st.st_size > import->max_bytes)
                return fail_too_large(import, e);
        CLEANUP_CLOSE int copy = open(IMPORT_ARCHIVE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (copy < 0)
                return err_set_field(e, IMPORT_FAILED, "internal", "cannot make a file: %s", strerror(errno));
        for (off_t at = 0; at < st.st_size;) {
                ssize_t got = copy_file_range(import->archive, &at, copy, NULL, COPY_BYTES, 0);
                if (got <= 0)
                        return err_set_field(e, IMPORT_FAILED, errno == ENOSPC ? "no_space" : "internal",
                                             "cannot copy the archive: %s", got < 0 ? strerror(errno) : "it was cut");
                channel_progress(import->channel, "fetch", (uint64_t)at, (uint64_t)st.st_size, "reading the archive");
        }
        close_fd(&import->archive);
        return 0;
}

/* What a registry sends grows on the disk. One that goes quiet may never say another word, and skopeo would wait. */
static bool has_stalled(const struct import *import, uint64_t fetched) {
        static uint64_t before = UINT64_MAX;
        static struct timespec since;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (fetched != before)
                since = now;
        before = fetched;
        return (uint64_t)(now.tv_sec - since.tv_sec) > import->patience_s;
}

/* While blobs arrive, beside what skopeo unpacks for itself. */
static int watch(void *data, struct err *e) {
        struct import *import = data;
        struct meter meter;
        if (meter_tree(".", import->max_files, &meter) < 0)
                return 0;
        struct stat st;
        uint64_t archive = stat(IMPORT_ARCHIVE, &st) == 0 ? (uint64_t)st.st_size : 0;
        uint64_t fetched = meter.bytes > archive ? meter.bytes - archive : 0;
        channel_progress(import->channel, "fetch", fetched, 0, "copying layers");
        /* Twice: an archive is unpacked before it is copied. */
        if (fetched > 2 * import->max_bytes)
                return fail_too_large(import, e);
        if (is_remote(import) && has_stalled(import, fetched))
                return err_set_field(e, IMPORT_FAILED, "fetch",
                                     "the image could not be read: the registry has sent nothing for %llu seconds",
                                     (unsigned long long)import->patience_s);
        return meter.files > import->max_files ? fail_too_many(import, e) : 0;
}

/* What registries and skopeo say, and what a person makes of it. */
static const struct {
        const char *said, *reason;
} registry_words[] = {
        {"manifest unknown", "the registry has no such tag; check what follows the colon"},
        {"name unknown", "the registry has no image of that name"},
        {"unauthorized", "the registry wants a login, and the service has none: make the image public, or send it as an "
                         "archive"},
        {"authentication required", "the registry wants a login, and the service has none: make the image public, or send "
                                    "it as an archive"},
        {"Digest did not match", "the registry sent something else than the digest says"},
        {"blob unknown", "the registry has nothing with that digest"},
        {"certificate", "the registry's certificate is not one that this host trusts"},
        {"no such host", "the registry's name is not known"},
};

static int explain_registry(const char *said, struct err *e) {
        for (size_t i = 0; i < ARRAY_SIZE(registry_words); i++)
                if (strstr(said, registry_words[i].said))
                        return err_set_field(e, IMPORT_FAILED, "fetch", "%s (%s)", registry_words[i].reason, said);
        return err_set_field(e, IMPORT_FAILED, "fetch", "the image could not be read: %s", said);
}

static int explain(const struct import *import, const char *said, struct err *e) {
        if (strstr(said, "file too large"))
                return fail_too_large(import, e);
        if (strstr(said, "no space left"))
                return err_set_field(e, IMPORT_FAILED, "no_space", "the disk of the service is full");
        if (strstr(said, "choose an image") || strstr(said, "more than one image"))
                return err_set_field(e, IMPORT_FAILED, "ambiguous",
                                     "there is more than one image in the archive; make one that holds only the one "
                                     "that is meant");
        if (strstr(said, "no image found in manifest list") || strstr(said, "no image found in image index"))
                return err_set_field(e, IMPORT_FAILED, "architecture", "there is no image for linux/%s in it",
                                     import->arch);
        if (is_remote(import))
                return explain_registry(said, e);
        return err_set_field(e, IMPORT_FAILED, "fetch", "the image could not be read: %s", said);
}

/* By tar: skopeo would do it as well, but gives folders that have no entry of their own to root, and fails. */
static int open_archive(struct import *import, struct err *e) {
        static const char *const arguments[] = {"tar",  "-x", "--no-same-owner", "--no-same-permissions", "-f",
                                                IMPORT_ARCHIVE, "-C", UNPACKED, NULL};
        const struct tool tool = {.arguments = arguments, .watch = watch, .data = import};
        char said[TOOL_SAID_MAX];
        if (mkdir(UNPACKED, 0755) < 0)
                return err_set_field(e, IMPORT_FAILED, "internal", "cannot make a folder: %s", strerror(errno));
        int r = tool_run(&tool, said, e);
        unlink(IMPORT_ARCHIVE); /* its room on the disk is wanted */
        return r < 0 ? explain(import, said, e) : r;
}

/* What skopeo is to read. */
static int prepare(struct import *import, char *from, size_t size, bool *ret_plain, struct err *e) {
        char registry[REGISTRY_MAX];
        if (is_remote(import)) {
                snprintf(from, size, "%s", import->source);
                return reference_registry(import->source, registry, e) < 0 ||
                                       !reference_allowed(import->registries, registry, ret_plain)
                               ? IMPORT_FAILED
                               : 0;
        }
        int r = copy_archive(import, e);
        if (r == 0 && is_layout(import))
                r = open_archive(import, e);
        snprintf(from, size, "%s", is_layout(import) ? "oci:" UNPACKED : "docker-archive:" IMPORT_ARCHIVE);
        return r;
}

int fetch(struct import *import, struct err *e) {
        char from[REFERENCE_MAX + 64], said[TOOL_SAID_MAX], work[PATH_MAX];
        bool plain = false;
        channel_progress(import->channel, "fetch", 0, 0,
                         is_remote(import) ? "asking the registry" : "reading the archive");
        int r = prepare(import, from, sizeof(from), &plain, e);
        if (r != 0)
                return r;
        if (!getcwd(work, sizeof(work)))
                return err_set_field(e, IMPORT_FAILED, "internal", "the work folder is gone");
        /*
         * Layers of `docker save` come uncompressed and would be labelled as compressed: only those of an OCI archive
         * may stay as they are, and so does the digest.
         */
        const char *as_it_is = is_layout(import) ? "--dest-oci-accept-uncompressed-layers" : NULL;
        const char *arguments[] = {
                "skopeo", "--tmpdir", work, "--insecure-policy", "--override-os", "linux", "--override-arch",
                import->arch, "copy", "--src-no-creds", plain ? "--src-tls-verify=false" : "--src-tls-verify=true",
                from, "oci:" IMPORT_LAYOUT ":" IMPORT_TAG, as_it_is, NULL};
        const struct tool tool = {.arguments = arguments, .watch = watch, .data = import};
        r = tool_run(&tool, said, e);
        unlink(IMPORT_ARCHIVE);
        return r < 0 ? explain(import, said, e) : r;
}
