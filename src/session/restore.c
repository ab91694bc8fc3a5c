/* The files of a conversation on their way back; see restore.h. */
#include "session/restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/conversations.h"

#define PAGE_FILES 64
#define FILES_RESTORED_MAX 4096
#define PAGE_BYTES UINT64_C(4096)

static int add_file(struct restore *restore, struct store *store, const struct store_file *file) {
        CLEANUP_CLOSE int fd = store_file_open(store, file);
        if (fd < 0)
                return fd;
        struct work_input *inputs = reallocarray(restore->inputs, restore->count + 1, sizeof(*inputs));
        if (!inputs)
                return -ENOMEM;
        restore->inputs = inputs;
        char **names = reallocarray(restore->names, restore->count + 1, sizeof(*names));
        if (!names)
                return -ENOMEM;
        restore->names = names;

        char *name = strdup(file->name);
        if (!name)
                return -ENOMEM;
        void *bytes = "";
        if (file->size > 0) {
                bytes = mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, fd, 0);
                if (bytes == MAP_FAILED) {
                        free(name);
                        return -errno;
                }
        }
        names[restore->count] = name;
        inputs[restore->count++] = (struct work_input){
                .name = name,
                .name_length = strlen(name),
                .bytes = bytes,
                .size = (size_t)file->size,
        };
        return 0;
}

/* Newest first, so that of those which do not fit together the oldest stay behind. */
static int add_all(struct restore *restore, struct store *store, int64_t project_id, const char *conversation) {
        CLEANUP_FREE struct store_file *page = calloc(PAGE_FILES, sizeof(*page));
        char after[STORE_ID_MAX + 1] = "";
        uint64_t total = 0;
        size_t count = PAGE_FILES;
        if (!page)
                return -ENOMEM;
        while (count == PAGE_FILES) {
                int r = store_file_list(store, project_id, conversation, true, after, page, PAGE_FILES, &count);
                if (r != 0)
                        return r < 0 ? r : 0;
                for (size_t i = 0; i < count; i++) {
                        uint64_t size = ((uint64_t)page[i].size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
                        bool fits = total + size <= SANDBOX_WORKDIR_BYTES && restore->count < FILES_RESTORED_MAX;
                        if (!fits || !work_name_is_good(page[i].name, strlen(page[i].name)) ||
                            add_file(restore, store, &page[i]) < 0) {
                                restore->left_out++;
                                continue;
                        }
                        total += size;
                }
                if (count > 0)
                        memcpy(after, page[count - 1].id, sizeof(after));
        }
        return 0;
}

int restore_new(struct store *store, int64_t project_id, const char *conversation, struct restore **ret) {
        struct restore *restore = calloc(1, sizeof(*restore));
        *ret = NULL;
        if (!restore)
                return -ENOMEM;
        int r = add_all(restore, store, project_id, conversation);
        if (r < 0 || (restore->count == 0 && restore->left_out == 0)) {
                restore_free(restore);
                return r;
        }
        restore->batch = (struct work_batch){restore->inputs, restore->count, INPUTS_RESTORED};
        *ret = restore;
        return 0;
}

void restore_free(struct restore *restore) {
        if (!restore)
                return;
        for (size_t i = 0; i < restore->count; i++) {
                if (restore->inputs[i].size > 0)
                        munmap((char *)restore->inputs[i].bytes, restore->inputs[i].size);
                free(restore->names[i]);
        }
        free(restore->inputs);
        free(restore->names);
        free(restore);
}
