/* A file in a form; see door_multipart.h. */
#include "api/door_multipart.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70 /* RFC 2046 */

/* A parameter of a header, "NAME=VALUE" or "NAME=\"VALUE\"". False: there is none, or none that fits. */
static bool parameter(const char *header, size_t length, const char *name, char *to, size_t size) {
        const char *end = header + length;
        size_t name_length = strlen(name);
        for (const char *at = header; (at = memchr(at, ';', (size_t)(end - at)));) {
                at++;
                while (at < end && *at == ' ')
                        at++;
                if ((size_t)(end - at) <= name_length || strncasecmp(at, name, name_length) != 0 ||
                    at[name_length] != '=')
                        continue;
                at += name_length + 1;
                bool quoted = at < end && *at == '"';
                at += quoted;
                size_t used = 0;
                while (at < end && (quoted ? *at != '"' : *at != ';' && *at != ' ') && used + 1 < size) {
                        if ((unsigned char)*at < ' ')
                                return false; /* no name that anybody means, and a NUL would cut it */
                        to[used++] = *at++;
                }
                to[used] = '\0';
                bool whole = quoted ? at < end && *at == '"' : at == end || *at == ';' || *at == ' ';
                return used > 0 && whole;
        }
        return false;
}

/* The file name among the headers of a part, each of which ends with a line end. */
static bool file_name(const char *headers, size_t length, struct multipart_file *ret) {
        static const char wanted[] = "Content-Disposition:";
        const char *end = headers + length;
        while (headers < end) {
                const char *stop = memmem(headers, (size_t)(end - headers), "\r\n", 2);
                stop = stop ? stop : end;
                if ((size_t)(stop - headers) > strlen(wanted) && strncasecmp(headers, wanted, strlen(wanted)) == 0)
                        return parameter(headers, (size_t)(stop - headers), "filename", ret->name, sizeof(ret->name));
                headers = stop < end ? stop + 2 : end;
        }
        return false;
}

static int refuse(struct err *e) {
        return err_set(
                e, -EINVAL,
                "The body must be a form (multipart/form-data) with a file in it, whose name has at most 1024 bytes.");
}

/* Parts stand between lines of "--BOUNDARY"; each has its headers, an empty line, and its bytes. */
int multipart_find_file(const char *content_type, const char *body, size_t length, struct multipart_file *ret,
                        struct err *e) {
        static const char type[] = "multipart/form-data";
        char boundary[BOUNDARY_MAX + 1], line[BOUNDARY_MAX + 5];
        const char *end = body + length;
        if (!content_type || strncasecmp(content_type, type, sizeof(type) - 1) != 0 ||
            !parameter(content_type, strlen(content_type), "boundary", boundary, sizeof(boundary)))
                return refuse(e);
        snprintf(line, sizeof(line), "\r\n--%s", boundary);
        size_t line_length = strlen(line);
        /* The first has no line end before it if the body begins with it. */
        bool first = length >= line_length - 2 && memcmp(body, line + 2, line_length - 2) == 0;
        const char *part = first ? body + line_length - 2 : memmem(body, length, line, line_length);
        part += !first && part ? line_length : 0;
        while (part && end - part > 2 && memcmp(part, "\r\n", 2) == 0) {
                const char *headers = part + 2;
                const char *stop = memmem(headers, (size_t)(end - headers), line, line_length);
                const char *empty = stop ? memmem(headers, (size_t)(stop - headers), "\r\n\r\n", 4) : NULL;
                if (empty && file_name(headers, (size_t)(empty - headers), ret)) {
                        ret->bytes = empty + 4;
                        ret->length = (size_t)(stop - ret->bytes);
                        return 0;
                }
                part = stop ? stop + line_length : NULL;
        }
        return refuse(e);
}
