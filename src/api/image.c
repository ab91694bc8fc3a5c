/* What the image says about itself; see image.h. */
#include "api/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

int image_read_environment(const char *image, json_t **ret, struct err *e) {
        CLEANUP_FREE char *path = NULL;
        json_error_t error;
        const char *slash = strrchr(image, '/');
        int folder = slash ? (int)(slash - image) : 1;

        if (asprintf(&path, "%.*s/environment.json", folder, slash ? image : ".") < 0)
                return err_set(e, -ENOMEM, "out of memory");
        CLEANUP_FCLOSE FILE *file = fopen(path, "re");
        if (!file) {
                log_warning("the image has no description", "file", path, "error", log_errno(-errno));
                *ret = json_object();
                return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
        }
        json_t *environment = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
        if (!json_is_object(environment)) {
                json_decref(environment);
                return err_set(e, -EINVAL, "%s is not a JSON object: %s (line %d); build the image again", path,
                               error.text, error.line);
        }
        *ret = environment;
        return 0;
}
