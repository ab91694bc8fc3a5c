/*
 * Errors that a person reads.
 *
 * Functions return 0, or a negative errno that is passed on unchanged, or a positive code of their module that the
 * caller must handle. Where somebody will read the text, the last parameter is a `struct err`: one sentence that says
 * what was wrong, and the name of the field that was at fault. Used by every process; allocates nothing.
 */
#pragma once

#include <stdbool.h>

struct err {
        int code;          /* 0: no error; else a negative errno, or a positive code of the module */
        char field[64];    /* name of the request or configuration field at fault; empty if none */
        char message[512]; /* one sentence for a person; never ends in a newline */
};

/* Sets the error and returns `code`, so that a function can `return err_set(...)`. `e` may be NULL. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, and names the field at fault. */
int err_set_field(struct err *e, int code, const char *field, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Puts "context: " before the message, for a caller that knows what was being done. Returns the error's code. */
int err_wrap(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
