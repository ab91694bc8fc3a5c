/* Errors that a person reads; see err.h. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void vset(struct err *e, int code, const char *field, const char *format, va_list args)
        __attribute__((format(printf, 4, 0)));

static void vset(struct err *e, int code, const char *field, const char *format, va_list args) {
        e->code = code;
        snprintf(e->field, sizeof(e->field), "%s", field ? field : "");
        vsnprintf(e->message, sizeof(e->message), format, args);
}

int err_set(struct err *e, int code, const char *format, ...) {
        if (e) {
                va_list args;
                va_start(args, format);
                vset(e, code, NULL, format, args);
                va_end(args);
        }
        return code;
}

int err_set_field(struct err *e, int code, const char *field, const char *format, ...) {
        if (e) {
                va_list args;
                va_start(args, format);
                vset(e, code, field, format, args);
                va_end(args);
        }
        return code;
}

int err_wrap(struct err *e, const char *format, ...) {
        char context[sizeof(e->message)], whole[2 * sizeof(e->message) + 4];
        if (!e)
                return 0;

        va_list args;
        va_start(args, format);
        vsnprintf(context, sizeof(context), format, args);
        va_end(args);
        snprintf(whole, sizeof(whole), "%s: %s", context, e->message);
        memcpy(e->message, whole, sizeof(e->message) - 1);
        e->message[sizeof(e->message) - 1] = '\0';
        return e->code;
}
