/*
 * Modules that are not installed: what to use in their place.
 *
 * Runs in the api process. Pure. The name comes from a snippet; what is said of it is from a table.
 */
#pragma once

#include <stddef.h>

/* What does the same and is there: "matplotlib, or the plot methods of pandas"; NULL: nothing that is known. */
const char *module_alternative(const char *module);

/*
 * The name of an installed module that may have been meant: spelt nearly the same ("panda"), or as its package instead
 * of its module ("pillow"). `libraries`: names of the installed packages, "numpy, pandas". NULL: none.
 */
const char *module_meant(const char *module, const char *libraries);

/* Whether the first part of a dotted name is an installed library's module. */
const char *module_installed_top(const char *module, const char *libraries);
