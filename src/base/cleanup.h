/*
 * Scope-bound ownership: variables that free themselves, and moves out of them.
 *
 * Used by every process. Trusts nothing, does nothing by itself.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer) {
        free(*(void **)pointer);
}

static inline void cleanup_close(int *fd) {
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

static inline void cleanup_closedir(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

static inline void cleanup_fclose(FILE **file) {
        if (*file)
                fclose(*file);
}

#define CLEANUP_FREE CLEANUP(cleanup_free)
#define CLEANUP_CLOSE CLEANUP(cleanup_close)
#define CLEANUP_CLOSEDIR CLEANUP(cleanup_closedir)
#define CLEANUP_FCLOSE CLEANUP(cleanup_fclose)

/* Hands the descriptor on; the variable no longer owns it. */
static inline int take_fd(int *fd) {
        int taken = *fd;
        *fd = -1;
        return taken;
}

#define TAKE_PTR(variable)                                                                                             \
        __extension__({                                                                                                \
                __typeof__(variable) taken_ = (variable);                                                              \
                (variable) = NULL;                                                                                     \
                taken_;                                                                                                \
        })

/* Closes a descriptor that lives in a struct, and marks it closed. */
static inline int close_fd(int *fd) {
        cleanup_close(fd);
        return -1;
}

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
