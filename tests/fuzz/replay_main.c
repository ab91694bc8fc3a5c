/*
 * Runs a fuzz target without a fuzzer: on every file of the folders named, and on a few thousand changes to each.
 *
 * So the targets are built and tried by every compiler and in every test run; the search for new inputs is libFuzzer's.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 65536
#define CHANGES 300

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static unsigned seed = 1;

static unsigned draw(unsigned below) {
        seed = seed * 1103515245 + 12345;
        return (seed >> 16) % below;
}

static size_t change(uint8_t *bytes, size_t length) {
        size_t at = length > 0 ? draw((unsigned)length) : 0;
        switch (draw(4)) {
        case 0:
                if (length > 0)
                        bytes[at] = (uint8_t)draw(256);
                return length;
        case 1:
                if (length > 0)
                        bytes[at] ^= (uint8_t)(1u << draw(8));
                return length;
        case 2: /* leave one out */
                if (length > 0)
                        memmove(bytes + at, bytes + at + 1, length - at - 1);
                return length > 0 ? length - 1 : 0;
        default: /* put one in */
                if (length == INPUT_MAX)
                        return length;
                memmove(bytes + at + 1, bytes + at, length - at);
                bytes[at] = (uint8_t)draw(256);
                return length + 1;
        }
}

/* From a block of exactly that size, so that a sanitizer sees a read past the end. */
static void try_one(const uint8_t *bytes, size_t length) {
        uint8_t *copy = malloc(length > 0 ? length : 1);
        if (!copy)
                abort();
        memcpy(copy, bytes, length);
        LLVMFuzzerTestOneInput(copy, length);
        free(copy);
}

static void replay(const char *path) {
        static uint8_t bytes[INPUT_MAX], changed[INPUT_MAX];
        FILE *file = fopen(path, "rb");
        if (!file)
                return;
        size_t length = fread(bytes, 1, sizeof(bytes), file);
        fclose(file);
        try_one(bytes, length);
        for (int i = 0; i < CHANGES; i++) {
                size_t changed_length = length;
                memcpy(changed, bytes, length);
                for (unsigned times = 1 + draw(4); times > 0; times--)
                        changed_length = change(changed, changed_length);
                try_one(changed, changed_length);
        }
}

int main(int argc, char **argv) {
        unsigned count = 0;
        for (int i = 1; i < argc; i++) {
                DIR *dir = opendir(argv[i]);
                if (!dir) {
                        fprintf(stderr, "cannot open %s\n", argv[i]);
                        return 1;
                }
                for (struct dirent *entry; (entry = readdir(dir));) {
                        char path[4096];
                        if (entry->d_name[0] == '.')
                                continue;
                        snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
                        replay(path);
                        count++;
                }
                closedir(dir);
        }
        printf("%u inputs and %u changes to each\n", count, CHANGES);
        return count > 0 ? 0 : 1;
}
