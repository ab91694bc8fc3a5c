/* References to images in registries; see reference.h. */
#include "import/reference.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SCHEME "docker://"
#define PLAIN "http://"
#define DEFAULT_REGISTRY "docker.io"

static bool is_plain_text(const char *text) {
        for (; *text; text++)
                if (!isascii((unsigned char)*text) || (!isalnum((unsigned char)*text) && !strchr("._-/:@", *text)))
                        return false;
        return true;
}

/* The same rule as everywhere: the first part is a host if it has a dot or a port, or is "localhost". */
static bool names_host(const char *name, size_t length) {
        if (length == strlen("localhost") && strncmp(name, "localhost", length) == 0)
                return true;
        return memchr(name, '.', length) || memchr(name, ':', length);
}

int reference_registry(const char *reference, char ret_registry[REGISTRY_MAX], struct err *e) {
        if (strncmp(reference, SCHEME, strlen(SCHEME)) != 0)
                return err_set_field(e, -EINVAL, "image",
                                     "An image in a registry is named as " SCHEME "REGISTRY/NAME:TAG. One that is on your "
                                     "machine is sent as an archive: platformctl agents deploy NAME --image oci:FOLDER.");
        const char *name = reference + strlen(SCHEME);
        if (strlen(reference) > REFERENCE_MAX)
                return err_set_field(e, -EINVAL, "image", "The reference to the image is longer than %d bytes.",
                                     REFERENCE_MAX);
        if (!isalnum((unsigned char)*name) || !is_plain_text(name) || strstr(name, "//"))
                return err_set_field(e, -EINVAL, "image",
                                     "What follows " SCHEME " in image is no name of an image: it begins with a letter "
                                     "or a digit, and letters, digits and . _ - / : @ may stand in it, as in "
                                     SCHEME "ghcr.io/acme/agent:1.2.");
        const char *slash = strchr(name, '/');
        size_t length = slash ? (size_t)(slash - name) : 0;
        if (!slash || !names_host(name, length)) {
                snprintf(ret_registry, REGISTRY_MAX, "%s", DEFAULT_REGISTRY);
                return 0;
        }
        if (length >= REGISTRY_MAX)
                return err_set_field(e, -EINVAL, "image", "The name of the registry in image is longer than %d bytes.",
                                     REGISTRY_MAX - 1);
        snprintf(ret_registry, REGISTRY_MAX, "%.*s", (int)length, name);
        return 0;
}

bool reference_allowed(const char *list, const char *registry, bool *ret_plain) {
        size_t wanted = strlen(registry);
        for (const char *at = list; *at;) {
                at += strspn(at, ", ");
                size_t length = strcspn(at, ", ");
                bool plain = length > strlen(PLAIN) && strncasecmp(at, PLAIN, strlen(PLAIN)) == 0;
                size_t skipped = plain ? strlen(PLAIN) : 0;
                if (length - skipped == wanted && wanted && strncasecmp(at + skipped, registry, wanted) == 0) {
                        *ret_plain = plain;
                        return true;
                }
                at += length;
        }
        return false;
}
