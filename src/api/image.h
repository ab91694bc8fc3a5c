/*
 * What the image says about itself: environment.json, which its recipe writes beside it.
 *
 * Runs in the api process, before the jail. The file is the operator's, and read strictly all the same.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"

/*
 * Reads environment.json of the folder in which `image` lies. A missing file gives an empty object and a warning in the
 * log; a broken one is an error. 0 or a negative errno.
 */
int image_read_environment(const char *image, json_t **ret, struct err *e);
