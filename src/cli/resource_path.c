/* Words of the command line in paths and sentences; see resource.h. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "cli/resource.h"

/* RFC 3986: what needs no encoding in any part of an address. */
static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

static void put_encoded(FILE *out, const char *word) {
        for (; *word; word++) {
                if (strchr(unreserved, *word))
                        fputc(*word, out);
                else
                        fprintf(out, "%%%02X", (unsigned char)*word);
        }
}

/* "{0}" to "{9}" */
static bool is_place(const char *text) {
        return text[0] == '{' && text[1] >= '0' && text[1] <= '9' && text[2] == '}';
}

char *resource_expand(const char *pattern, char **words, bool encode) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        if (!out)
                return NULL;
        while (*pattern) {
                if (!is_place(pattern)) {
                        fputc(*pattern++, out);
                        continue;
                }
                const char *word = words[pattern[1] - '0'];
                if (encode)
                        put_encoded(out, word);
                else
                        fputs(word, out);
                pattern += strlen("{0}");
        }
        if (fclose(out) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

/* An empty word would make the address of something else: of the whole list, perhaps. */
static bool has_empty_word(const char *pattern, char **words) {
        for (; *pattern; pattern++)
                if (is_place(pattern) && !words[pattern[1] - '0'][0])
                        return true;
        return false;
}

char *resource_path(struct cli *cli, const char *pattern, char **words, int *code) {
        if (has_empty_word(pattern, words)) {
                *code = say_error(cli, EX_USAGE, "a name on the command line is empty");
                return NULL;
        }
        char *path = resource_expand(pattern, words, true);
        if (!path)
                *code = say_error(cli, EX_SOFTWARE, "out of memory");
        return path;
}
