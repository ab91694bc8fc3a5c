/*
 * Second step: the layers become one tree; see import.h.
 *
 * umoci applies them without any privilege ("rootless"): owners are not set, and a device node becomes an empty file.
 * Names are resolved as if the tree were the root folder, so that `..` and links lead nowhere else.
 */
#include <errno.h>
#include <string.h>

#include "import/channel.h"
#include "import/import.h"
#include "import/meter.h"
#include "import/tool.h"

static int watch(void *data, struct err *e) {
        struct import *import = data;
        struct meter meter;
        if (meter_tree(IMPORT_ROOTFS, import->max_files, &meter) < 0)
                return 0;
        channel_progress(import->channel, "unpack", meter.bytes, 0, "unpacking layers");
        if (meter.bytes > import->max_bytes)
                return fail_too_large(import, e);
        return meter.files > import->max_files ? fail_too_many(import, e) : 0;
}

static int explain(const struct import *import, const char *said, struct err *e) {
        if (strstr(said, "file too large"))
                return fail_too_large(import, e);
        if (strstr(said, "no space left"))
                return err_set_field(e, IMPORT_FAILED, "no_space", "the disk of the service is full");
        return err_set_field(e, IMPORT_FAILED, "unpack", "the image's layers could not be unpacked: %s", said);
}

int unpack(struct import *import, struct err *e) {
        static const char *const arguments[] = {
                "umoci", "raw", "unpack", "--rootless", "--image", IMPORT_LAYOUT ":" IMPORT_TAG, IMPORT_ROOTFS, NULL};
        const struct tool tool = {.arguments = arguments, .watch = watch, .data = import};
        char said[TOOL_SAID_MAX];
        channel_progress(import->channel, "unpack", 0, 0, "unpacking layers");
        int r = tool_run(&tool, said, e);
        if (r < 0)
                return explain(import, said, e);
        return r != 0 ? r : watch(import, e); /* it may have ended between two looks */
}
