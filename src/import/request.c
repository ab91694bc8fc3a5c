/* What the api process asks of an import; see import.h. */
#include <errno.h>
#include <string.h>

#include "import/import.h"
#include "import/reference.h"

#if defined(__x86_64__)
#define OWN_ARCH "amd64"
#elif defined(__aarch64__)
#define OWN_ARCH "arm64"
#else
#error "name this architecture as container images do"
#endif

#define MAX_BYTES_DEFAULT (UINT64_C(4) << 30)
#define MAX_FILES_DEFAULT UINT64_C(200000)
#define PATIENCE_S_DEFAULT 60

/* A registry is asked only if the operator allows it: the api process has looked already, and is not believed. */
static int check_source(const struct import *import, struct err *e) {
        char registry[REGISTRY_MAX];
        bool plain;
        if (strcmp(import->source, "oci-archive") == 0 || strcmp(import->source, "docker-archive") == 0)
                return import->archive >= 0 ? 0 : err_set_field(e, IMPORT_FAILED, "request", "there is no archive");
        if (reference_registry(import->source, registry, e) < 0) {
                e->code = IMPORT_FAILED;
                strcpy(e->field, "reference");
                return IMPORT_FAILED;
        }
        if (!reference_allowed(import->registries, registry, &plain))
                return err_set_field(e, IMPORT_FAILED, "registry",
                                     "images of the registry %s are not allowed here; the operator's setting "
                                     "SANDBOX_REGISTRIES allows: %s",
                                     registry, *import->registries ? import->registries : "none");
        return 0;
}

int request_read(struct import *import, struct err *e) {
        json_int_t max_bytes = MAX_BYTES_DEFAULT, max_files = MAX_FILES_DEFAULT, patience_s = PATIENCE_S_DEFAULT;
        import->arch = OWN_ARCH;
        import->registries = "";
        if (json_unpack(import->request, "{s:s, s?I, s?I, s?I, s?s, s?s, s?o}", "source", &import->source,
                        "max_bytes", &max_bytes, "max_files", &max_files, "patience_s", &patience_s, "arch",
                        &import->arch, "registries", &import->registries, "known", &import->known) < 0 ||
            max_bytes <= 0 || max_files <= 0 || patience_s <= 0)
                return err_set_field(e, IMPORT_FAILED, "request", "the import was asked for what it does not know");
        import->max_bytes = (uint64_t)max_bytes;
        import->max_files = (uint64_t)max_files;
        import->patience_s = (uint64_t)patience_s;
        return check_source(import, e);
}

/* Gibibytes with a place behind the point, for a person. */
int fail_too_large(const struct import *import, struct err *e) {
        return err_set_field(e, IMPORT_FAILED, "too_large",
                             "the image takes more than %.1f GiB unpacked, which is the limit "
                             "(SANDBOX_IMAGE_MAX_BYTES); leave out what its tools do not need",
                             (double)import->max_bytes / (double)(UINT64_C(1) << 30));
}

int fail_too_many(const struct import *import, struct err *e) {
        return err_set_field(e, IMPORT_FAILED, "too_many_files",
                             "the image has more than %llu files and folders, which is the limit "
                             "(SANDBOX_IMAGE_MAX_FILES); leave out what its tools do not need",
                             (unsigned long long)import->max_files);
}
