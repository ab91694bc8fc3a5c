/*
 * What a person who started the service by hand sees: where it listens, where the key is, a line to try.
 *
 * Runs in the api process. Goes to standard output; logs go to standard error.
 */
#pragma once

#include <stdbool.h>

struct config;

/* `key_given`: the admin key is SANDBOX_ADMIN_KEY; else it is in the data folder. */
void banner_print(const struct config *config, const char *address, bool key_given);
