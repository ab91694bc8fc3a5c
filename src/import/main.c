/*
 * sandbox-import: makes one read-only file of a container image; see import.h.
 *
 *   sandbox-import [FOLDER]
 *
 * Runs in a room of its own, started by the spawner; works in FOLDER (/tmp), which is on the disk. Descriptor 1024 is
 * the claim channel. Status 0: image.erofs is there and good, and the spawner keeps it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "import/channel.h"
#include "import/import.h"
#include "sandbox/walk_in.h"
#include "spawn/frames.h"

#define IMAGE_OVERHEAD (UINT64_C(64) << 20) /* of the packed file over what is in it */

/* The last word, whatever happens to the tools: no file of theirs is larger than the whole image may be. */
static void limit_files(const struct import *import) {
        const rlim_t most = (rlim_t)(import->max_bytes + import->max_bytes / 8 + IMAGE_OVERHEAD);
        const struct rlimit limit = {most, most};
        setrlimit(RLIMIT_FSIZE, &limit);
        signal(SIGXFSZ, SIG_IGN); /* the write fails instead, which the tools tell of */
}

static int run(struct import *import, struct err *e) {
        int r = request_read(import, e);
        if (r != 0)
                return r;
        limit_files(import);
        if ((r = fetch(import, e)) != 0 || (r = describe(import, e)) != 0 || is_known(import))
                return r;
        if ((r = unpack(import, e)) != 0 || (r = check(import, e)) != 0)
                return r;
        return pack(import, e);
}

static json_t *good_news(const struct import *import) {
        if (is_known(import))
                return json_pack("{s:{s:s, s:b}}", "image", "digest", import->digest, "known", 1);
        return json_pack("{s:{s:s, s:s, s:s?, s:O, s:s, s:O, s:I, s:I}}", "image", "digest", import->digest, "python",
                         import->python, "version", *import->version ? import->version : NULL, "env", import->env,
                         "working_dir", import->working_dir, "labels", import->labels, "bytes",
                         (json_int_t)import->bytes, "files", (json_int_t)import->files);
}

int main(int argc, char **argv) {
        struct import import = {.channel = WALK_IN_CLAIM_FD, .archive = -1};
        struct err e = {0};
        umask(022);
        signal(SIGPIPE, SIG_IGN);
        if (fcntl(import.channel, F_SETFD, FD_CLOEXEC) < 0 || chdir(argc > 1 ? argv[1] : "/tmp") < 0)
                return 1;
        if (channel_receive(import.channel, &import.request, &import.archive) < 0 ||
            channel_send(import.channel, FRAME_STARTED, NULL) < 0)
                return 1;
        int r = run(&import, &e);
        json_t *end = r == 0 ? good_news(&import)
                             : json_pack("{s:{s:s, s:s}}", "error", "type", e.field, "message", e.message);
        int sent = channel_send(import.channel, FRAME_CALL_END, end);
        bool kept = r == 0 && sent == 0 && !is_known(&import);
        json_decref(end);
        json_decref(import.env);
        json_decref(import.labels);
        json_decref(import.request);
        close_fd(&import.archive);
        return kept ? 0 : 1;
}
