/* Names of input files; see input_names.h. */
#include "run/input_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/text.h"
#include "spawn/frames.h"

#define SHOWN_BYTES 100

size_t input_name_shown(const char *name) {
        size_t length = strnlen(name, SHOWN_BYTES);
        return length - text_cut_off(name, length);
}

static int refuse(const struct input_name *name, struct err *e, const char *why) {
        char field[32];
        snprintf(field, sizeof(field), "files[%zu].name", name->index);
        return err_set_field(e, -EINVAL, field,
                             "\"%.*s\" cannot be the name of an input file: %s. Names are relative paths below the "
                             "working directory, such as \"data.csv\" or \"in/data.csv\".",
                             (int)input_name_shown(name->bytes), name->bytes, why);
}

/* NULL if the part between two slashes is a good name, else why it is not. */
static const char *wrong_with_part(const char *part, size_t length) {
        if (length == 0)
                return "it has an empty part (a slash at the beginning or the end, or two in a row)";
        if ((length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.'))
                return "\".\" and \"..\" are not allowed in it";
        if (length > NAME_MAX)
                return "a part of it is longer than 255 bytes";
        return NULL;
}

int input_name_check(const struct input_name *name, struct err *e) {
        if (name->length == 0)
                return refuse(name, e, "it is empty");
        if (memchr(name->bytes, '\0', name->length))
                return refuse(name, e, "it has a NUL character in it");
        if (name->length > FILE_NAME_MAX)
                return refuse(name, e, "it is longer than 1024 bytes");
        for (size_t i = 0; i < name->length; i++)
                if ((unsigned char)name->bytes[i] < 0x20 || name->bytes[i] == 0x7f)
                        return refuse(name, e, "it has a control character in it");

        unsigned folders = 0;
        for (const char *part = name->bytes, *end = part + name->length; part <= end;) {
                const char *slash = memchr(part, '/', (size_t)(end - part));
                size_t length = (size_t)((slash ? slash : end) - part);
                const char *wrong = wrong_with_part(part, length);
                if (wrong)
                        return refuse(name, e, wrong);
                folders += slash ? 1 : 0;
                part += length + 1;
        }
        if (folders > DEPTH_MAX)
                return refuse(name, e, "it lies more than 16 folders deep");
        return 0;
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length) {
        size_t common = a_length < b_length ? a_length : b_length;
        int order = memcmp(a, b, common);
        return order ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int compare(const void *a, const void *b) {
        const struct input_name *left = a, *right = b;
        int order = compare_bytes(left->bytes, left->length, right->bytes, right->length);
        return order ? order : left->index < right->index ? -1 : 1;
}

static const struct input_name *find(const struct input_name *names, size_t count, const char *bytes, size_t length) {
        size_t low = 0, high = count;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = compare_bytes(names[middle].bytes, names[middle].length, bytes, length);
                if (order == 0)
                        return &names[middle];
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

int input_names_check_together(struct input_name *names, size_t count, struct err *e) {
        char field[32];
        qsort(names, count, sizeof(*names), compare);
        for (size_t i = 0; i < count; i++) {
                const struct input_name *name = &names[i];
                snprintf(field, sizeof(field), "files[%zu].name", name->index);
                if (i > 0 && compare_bytes(name->bytes, name->length, names[i - 1].bytes, names[i - 1].length) == 0)
                        return err_set_field(e, -EINVAL, field,
                                             "There are two input files of the name \"%.*s\": give each another name.",
                                             (int)input_name_shown(name->bytes), name->bytes);
                for (size_t j = 0; j < name->length; j++)
                        if (name->bytes[j] == '/' && find(names, count, name->bytes, j))
                                return err_set_field(
                                        e, -EINVAL, field,
                                        "\"%.*s\" cannot be put into a folder that is itself an input file of this "
                                        "request: rename one of the two.",
                                        (int)input_name_shown(name->bytes), name->bytes);
        }
        return 0;
}
