/*
 * Last step: the tree becomes one file, which the kernel mounts read-only; see import.h.
 *
 * Not compressed: the file is read on every call, and packing it takes a fraction of the time. No extended attributes
 * (a file's capabilities are one), everything root's: the sandbox's user owns nothing in it.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "import/channel.h"
#include "import/import.h"
#include "import/tool.h"

static int watch(void *data, struct err *e) {
        struct import *import = data;
        struct stat st;
        (void)e;
        uint64_t done = stat(IMPORT_IMAGE, &st) == 0 ? (uint64_t)st.st_size : 0;
        channel_progress(import->channel, "pack", done, import->bytes, "packing the image");
        return 0;
}

int pack(struct import *import, struct err *e) {
        static const char *const arguments[] = {"mkfs.erofs", "--quiet",    "--all-root",   "--preserve-mtime",
                                                "-x-1",       IMPORT_IMAGE, IMPORT_ROOTFS, NULL};
        const struct tool tool = {.arguments = arguments, .watch = watch, .data = import};
        char said[TOOL_SAID_MAX];
        struct stat st;
        channel_progress(import->channel, "pack", 0, import->bytes, "packing the image");
        int r = tool_run(&tool, said, e);
        if (r < 0)
                return err_set_field(e, IMPORT_FAILED, strstr(said, "No space") ? "no_space" : "pack",
                                     "the image could not be packed: %s", said);
        if (r > 0)
                return r;
        if (stat(IMPORT_IMAGE, &st) < 0)
                return err_set_field(e, IMPORT_FAILED, "pack", "the packed image is missing");
        import->image_bytes = (uint64_t)st.st_size;
        return 0;
}
