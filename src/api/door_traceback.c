/* The exception that ended a program; see door_traceback.h. */
#include "api/door_traceback.h"

#include <string.h>

/* The last place where `text` has `line` at the beginning of a line. */
static const char *last_line_with(const char *text, const char *line) {
        const char *found = NULL;
        for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
                if (at == text || at[-1] == '\n')
                        found = at;
        return found;
}

static size_t name_length_of(const char *line) {
        return strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.<>");
}

/* Python prints frames with two spaces before them, then the exception, whose text may have more lines. */
bool traceback_find(const char *text, struct traceback *ret) {
        const char *start = last_line_with(text, "Traceback (most recent call last):\n");
        if (!start)
                start = last_line_with(text, "  File \"");
        const char *line = start ? strchr(start, '\n') : NULL;
        while (line && line[1] == ' ')
                line = strchr(line + 1, '\n');
        if (!line || name_length_of(line + 1) == 0)
                return false;
        ret->text = start;
        ret->name = line + 1;
        ret->name_length = name_length_of(ret->name);
        if (!strchr(":\n", ret->name[ret->name_length])) /* nor at the text's end */
                return false;
        ret->value = ret->name + ret->name_length;
        if (strncmp(ret->value, ": ", 2) == 0)
                ret->value += 2;
        ret->value_length = strlen(ret->value);
        while (ret->value_length > 0 && ret->value[ret->value_length - 1] == '\n')
                ret->value_length--;
        return true;
}
