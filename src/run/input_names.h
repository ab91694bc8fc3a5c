/*
 * Names of input files: what a client may call a file that it puts into the working directory.
 *
 * Runs in the api process. Pure. The names come from the network; a name that passes is a plain relative path that can
 * be created below the working directory and stays there.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct input_name {
        const char *bytes;
        size_t length;
        size_t index; /* among the files of the request */
};

/* 0, or -EINVAL with what is wrong and the field "files[index].name". */
int input_name_check(const struct input_name *name, struct err *e);

/* How many bytes of a name a message shows: all of a short one, whole characters of a long one. */
size_t input_name_shown(const char *name);

/*
 * Checks the names against each other: none twice, none both a file and the folder of another. Sorts the array. 0, or
 * -EINVAL with the field of the second of the two.
 */
int input_names_check_together(struct input_name *names, size_t count, struct err *e);
