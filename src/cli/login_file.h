/*
 * What `platformctl login` keeps: the address of a service and a key for it.
 *
 * The file is $XDG_CONFIG_HOME/code-sandbox/login.json (~/.config where the variable is not set), and only its owner
 * may read it.
 */
#pragma once

#include "base/err.h"

struct login {
        char *url, *key; /* on the heap */
};

/* The path of the file, on the heap, or NULL and a message. */
char *login_file_path(struct err *e);

/* 0; -ENOENT if nobody is logged in; another negative errno and a message if the file is no good. */
int login_file_load(struct login *ret, struct err *e);
int login_file_save(const char *url, const char *key, struct err *e);
/* 0; -ENOENT if there was none; another negative errno and a message. */
int login_file_remove(struct err *e);
void login_deinit(struct login *login);
