/* Results of snippets; see mime_map.h. */
#include "run/mime_map.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

struct scanner {
        const char *at, *end;
};

static void skip_space(struct scanner *scanner) {
        while (scanner->at < scanner->end && strchr(" \t\r\n", *scanner->at) && *scanner->at)
                scanner->at++;
}

static bool skip_token(struct scanner *scanner, char token) {
        skip_space(scanner);
        if (scanner->at == scanner->end || *scanner->at != token)
                return false;
        scanner->at++;
        return true;
}

/* The bounds of a string only; what stands in it is the JSON library's to judge. */
static bool skip_string(struct scanner *scanner) {
        if (!skip_token(scanner, '"'))
                return false;
        while (scanner->at < scanner->end && *scanner->at != '"')
                scanner->at += *scanner->at == '\\' && scanner->at + 1 < scanner->end ? 2 : 1;
        return skip_token(scanner, '"');
}

static bool has_shape(const char *bytes, size_t length) {
        struct scanner scanner = {.at = bytes, .end = bytes + length};
        int entries = 0;
        if (!skip_token(&scanner, '{'))
                return false;
        do {
                if (++entries > MIME_MAP_ENTRIES_MAX || !skip_string(&scanner) || !skip_token(&scanner, ':') ||
                    !skip_string(&scanner))
                        return false;
        } while (skip_token(&scanner, ','));
        if (!skip_token(&scanner, '}'))
                return false;
        skip_space(&scanner);
        return scanner.at == scanner.end;
}

/* "type/subtype", and parameters if they are made of the same few characters. */
static bool is_mime_type(const char *key) {
        size_t length = strlen(key), slashes = 0;
        if (length == 0 || length > MIME_TYPE_BYTES_MAX || key[0] == '/' || key[length - 1] == '/')
                return false;
        for (const char *c = key; *c; c++) {
                if (*c == '/')
                        slashes++;
                else if (!isalnum((unsigned char)*c) && !strchr("!#$&^_.+-;= ", *c))
                        return false;
        }
        return slashes == 1;
}

static bool keys_are_mime_types(json_t *map) {
        const char *key;
        json_t *value;
        json_object_foreach(map, key, value) {
                if (!is_mime_type(key))
                        return false;
        }
        return true;
}

char *mime_map_normalise(const char *bytes, size_t length, size_t *ret_length) {
        if (!has_shape(bytes, length))
                return NULL;
        json_t *map = json_loadb(bytes, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        if (!map)
                return NULL;
        char *text = keys_are_mime_types(map) ? json_dumps(map, JSON_COMPACT) : NULL;
        json_decref(map);
        if (text)
                *ret_length = strlen(text); /* NUL inside a string is written as \u0000 */
        return text;
}
