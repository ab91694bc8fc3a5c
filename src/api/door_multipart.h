/*
 * The file in a body of multipart/form-data.
 *
 * Runs in the api process. Pure. The bytes come from the network. The first part that has a file name is taken; the
 * others, and all of its headers but that name, are passed over.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct multipart_file {
        char name[1025];
        const char *bytes; /* in the body */
        size_t length;
};

/* 0 or -EINVAL. */
int multipart_find_file(const char *content_type, const char *body, size_t length, struct multipart_file *ret,
                        struct err *e);
