/*
 * Kinds of values that settings take, and defaults that depend on the machine. Private to the configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* setting_parse_fn: see config_settings.h. */
int value_parse_address(const char *text, const char *base, char **ret, struct err *e);
int value_parse_path(const char *text, const char *base, char **ret, struct err *e);
int value_parse_secret(const char *text, const char *base, char **ret, struct err *e);
int value_parse_user(const char *text, const char *base, char **ret, struct err *e);
int value_parse_log_level(const char *text, const char *base, char **ret, struct err *e);
int value_parse_console(const char *text, const char *base, char **ret, struct err *e);
int value_parse_names(const char *text, const char *base, char **ret, struct err *e);
int value_parse_registries(const char *text, const char *base, char **ret, struct err *e);
int value_parse_front_doors(const char *text, const char *base, char **ret, struct err *e);
int value_parse_database(const char *text, const char *base, char **ret, struct err *e);
int value_parse_egress(const char *text, const char *base, char **ret, struct err *e);
int value_parse_prefixes(const char *text, const char *base, char **ret, struct err *e);
int value_parse_resolvers(const char *text, const char *base, char **ret, struct err *e);

/* A whole decimal number: digits, a minus sign before them, nothing else. 0, -EINVAL or -ERANGE (more than 64 bits). */
int value_parse_number(const char *text, int64_t *ret);

int64_t value_default_max_concurrent(void);
int value_default_data_dir(char **ret);
int value_default_image(char **ret);

/* The folder that `path` lies in, on the heap: "/a/b" → "/a", "b" → "". */
char *value_folder_of(const char *path);

/* Edit distance without regard to case; for "did you mean". At most `limit` + 1. */
size_t value_distance(const char *a, const char *b, size_t limit);
