/* How much lies below a folder; see meter.h. */
#include "import/meter.h"

#include <errno.h>
#include <fts.h>
#include <stddef.h>
#include <sys/stat.h>

static void count(struct meter *meter, const FTSENT *entry) {
        const struct stat *st = entry->fts_statp;
        uint64_t size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
        uint64_t stored = (uint64_t)st->st_blocks * 512;
        /* A file with several names counts once. */
        meter->bytes += (size > stored ? size : stored) / (S_ISREG(st->st_mode) && st->st_nlink ? st->st_nlink : 1);
        meter->files++;
}

int meter_tree(const char *folder, uint64_t max_files, struct meter *ret) {
        char *const paths[] = {(char *)folder, NULL};
        *ret = (struct meter){0};
        FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV, NULL);
        if (!walk)
                return -errno;
        for (FTSENT *entry; ret->files <= max_files && (entry = fts_read(walk));)
                if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS && entry->fts_info != FTS_ERR &&
                    entry->fts_level > 0)
                        count(ret, entry);
        fts_close(walk);
        return 0;
}
