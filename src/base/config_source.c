/*
 * Collects what the operator wrote about each setting, before it is understood; see config_source.h.
 */
#include "base/config_source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config_settings.h"
#include "base/config_values.h"

#define FILE_MAX (1 << 20)
#define SECRET_FILE_MAX 4096
#define SUGGESTION_DISTANCE 4
#define NAME_MAX_BYTES 64

extern char **environ;

void config_free_secret(char **text) {
        if (*text)
                explicit_bzero(*text, strlen(*text));
        free(*text);
        *text = NULL;
}

void config_given_deinit(struct given *given) {
        config_free_secret(&given->value);
        free(given->where);
        free(given->base);
        *given = (struct given){0};
}

void config_sources_deinit(struct sources *sources) {
        for (size_t i = 0; i < config_settings_count; i++) {
                if (sources->plain)
                        config_given_deinit(&sources->plain[i]);
                if (sources->file)
                        config_given_deinit(&sources->file[i]);
        }
        free(sources->plain);
        free(sources->file);
        free(sources->config_file);
}

int config_out_of_memory(struct err *e) {
        return err_set(e, -ENOMEM, "out of memory while reading the settings");
}

const char *config_shown(const char *value, char buffer[CONFIG_SHOWN_BYTES]) {
        size_t i = 0;
        for (; value[i] && i < CONFIG_SHOWN_BYTES - 4; i++)
                buffer[i] = iscntrl((unsigned char)value[i]) ? '?' : value[i];
        strcpy(buffer + i, value[i] ? "..." : "");
        return buffer;
}

/*
 * Names
 */

/* Finds the place for `name` (no prefix, upper case): a setting, or a secret's NAME_FILE. NULL if it is neither. */
static struct given *place_of(const struct sources *sources, const char *name) {
        size_t length = strlen(name);
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                size_t own = strlen(setting->name);
                if (strcmp(name, setting->name) == 0)
                        return &sources->plain[i];
                if (setting->secret && length == own + 5 && strncmp(name, setting->name, own) == 0 &&
                    strcmp(name + own, "_FILE") == 0)
                        return &sources->file[i];
        }
        return NULL;
}

static bool is_client_name(const char *name) {
        for (size_t i = 0; i < config_client_names_count; i++)
                if (strcmp(name, config_client_names[i]) == 0)
                        return true;
        return false;
}

static const char *nearest_name(const char *name) {
        const char *nearest = NULL;
        size_t best = SUGGESTION_DISTANCE + 1;
        for (size_t i = 0; i < config_settings_count; i++) {
                size_t distance = value_distance(name, config_settings[i].name, SUGGESTION_DISTANCE);
                if (distance < best) {
                        best = distance;
                        nearest = config_settings[i].name;
                }
        }
        return nearest;
}

/* `spelled` is the name as the operator wrote it, `name` the form that the table has. */
static int refuse_name(const char *spelled, const char *name, bool in_file, struct err *e) {
        char buffer[CONFIG_SHOWN_BYTES], suggestion[NAME_MAX_BYTES + 32] = "";
        const char *nearest = nearest_name(name);
        if (nearest) {
                snprintf(suggestion, sizeof(suggestion), "; did you mean %s%s?", in_file ? "" : SETTING_PREFIX,
                         nearest);
                for (char *c = suggestion + strlen("; did you mean "); in_file && *c; c++)
                        *c = (char)tolower((unsigned char)*c);
        }
        return err_set_field(e, -EINVAL, config_shown(spelled, buffer),
                             "%s is not a setting%s (sandboxd --help-config lists them all)", buffer, suggestion);
}

/*
 * The environment
 */

static int give(struct given *given, char *value, const char *base, struct err *e, const char *where_format, ...)
        __attribute__((format(printf, 5, 6)));

static int give(struct given *given, char *value, const char *base, struct err *e, const char *where_format, ...) {
        va_list args;
        va_start(args, where_format);
        int length = vasprintf(&given->where, where_format, args);
        va_end(args);
        if (length < 0)
                given->where = NULL;
        given->value = value;
        given->base = base ? strdup(base) : NULL;
        return given->value && given->where && given->base ? 0 : config_out_of_memory(e);
}

static int read_variable(struct sources *sources, const char *variable, const char *value, const char *cwd,
                         struct err *e) {
        const char *name = variable + strlen(SETTING_PREFIX);
        if (strcmp(name, "CONFIG_FILE") == 0) {
                free(sources->config_file);
                sources->config_file = strdup(value);
                return sources->config_file ? 0 : config_out_of_memory(e);
        }
        if (is_client_name(name))
                return 0;
        struct given *given = place_of(sources, name);
        if (!given)
                return refuse_name(variable, name, false, e);
        if (given->where)
                return err_set_field(e, -EINVAL, variable, "%s is in the environment twice; remove one", variable);
        return give(given, strdup(value), cwd, e, "%s", variable);
}

static int read_environment(struct sources *sources, const char *cwd, struct err *e) {
        for (char **entry = environ; entry && *entry; entry++) {
                const char *equals = strchr(*entry, '=');
                if (!equals || strncmp(*entry, SETTING_PREFIX, strlen(SETTING_PREFIX)) != 0)
                        continue;
                CLEANUP_FREE char *variable = strndup(*entry, (size_t)(equals - *entry));
                if (!variable)
                        return config_out_of_memory(e);
                int r = read_variable(sources, variable, equals + 1, cwd, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/*
 * Files
 */

/* Reads a whole file of at most `max` bytes; the text ends in NUL and holds no other. */
static int read_file(const char *path, size_t max, char **ret, struct err *e) {
        CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
        char *text = malloc(max + 2);
        size_t used = 0;
        ssize_t got = 1;
        if (!text)
                return config_out_of_memory(e);
        while (used <= max && (got = read(fd, text + used, max + 1 - used)) > 0)
                used += (size_t)got;
        text[used] = '\0';

        int r = 0;
        if (got < 0)
                r = err_set(e, -errno, "cannot read %s: %s", path, strerror(errno));
        else if (used > max)
                r = err_set(e, -EFBIG, "%s is longer than %zu bytes", path, max);
        else if (strlen(text) != used)
                r = err_set(e, -EINVAL, "%s holds a NUL byte, so it is not a text", path);
        if (r < 0) {
                config_free_secret(&text);
                return r;
        }
        *ret = text;
        return 0;
}

static char *trim(char *text) {
        while (isspace((unsigned char)*text))
                text++;
        for (char *end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
                *--end = '\0';
        return text;
}

/* Key to the table's spelling. The name of the variable is taken as well, because people paste it. */
static void name_of_key(const char *key, char name[NAME_MAX_BYTES]) {
        size_t i = 0;
        if (strncasecmp(key, SETTING_PREFIX, strlen(SETTING_PREFIX)) == 0)
                key += strlen(SETTING_PREFIX);
        for (; key[i] && i < NAME_MAX_BYTES - 1; i++)
                name[i] = (char)toupper((unsigned char)key[i]);
        name[i] = '\0';
}

struct file_reader {
        const char *path, *folder;
        struct sources *seen;
};

static int read_line(struct file_reader *reader, char *text, int number, struct err *e) {
        char name[NAME_MAX_BYTES];
        char *line = trim(text);
        if (line[0] == '\0' || line[0] == '#')
                return 0;
        char *equals = strchr(line, '=');
        if (!equals)
                return err_set(e, -EINVAL, "%s, line %d: this line is not of the form name = value", reader->path,
                               number);
        *equals = '\0';
        char *key = trim(line), *value = trim(equals + 1);
        name_of_key(key, name);

        struct given *given = place_of(reader->seen, name);
        if (!given) {
                int r = refuse_name(key, name, true, e);
                err_wrap(e, "%s, line %d", reader->path, number);
                return r;
        }
        if (given->where)
                return err_set_field(e, -EINVAL, key, "%s, line %d: %s is given twice in this file; remove one",
                                     reader->path, number, key);
        return give(given, strdup(value), reader->folder, e, "%s (%s, line %d)", key, reader->path, number);
}

bool config_is_given(const struct given *given) {
        return given->value && given->value[0];
}

static void move_given(struct given *into, struct given *from) {
        config_given_deinit(into);
        *into = *from;
        *from = (struct given){0};
}

/* What the environment says about a setting, in either form, hides all that the file says about it. */
static void merge(struct sources *into, struct sources *from) {
        for (size_t i = 0; i < config_settings_count; i++) {
                if (config_is_given(&into->plain[i]) || config_is_given(&into->file[i]))
                        continue;
                move_given(&into->plain[i], &from->plain[i]);
                move_given(&into->file[i], &from->file[i]);
        }
}

static int sources_init(struct sources *sources, struct err *e) {
        *sources = (struct sources){
                .plain = calloc(config_settings_count, sizeof(struct given)),
                .file = calloc(config_settings_count, sizeof(struct given)),
        };
        return sources->plain && sources->file ? 0 : config_out_of_memory(e);
}

static int read_config_file(struct sources *sources, const char *cwd, struct err *e) {
        CLEANUP_FREE char *path = NULL, *folder = NULL;
        CLEANUP(config_free_secret) char *text = NULL;
        CLEANUP(config_sources_deinit) struct sources seen = {0};
        int r = value_parse_path(sources->config_file, cwd, &path, e);
        if (r == 0)
                r = read_file(path, FILE_MAX, &text, e);
        if (r < 0) {
                err_wrap(e, SETTING_PREFIX "CONFIG_FILE");
                return r;
        }
        r = sources_init(&seen, e);
        if (r < 0)
                return r;
        folder = value_folder_of(path);
        struct file_reader reader = {.path = path, .folder = folder, .seen = &seen};
        int number = 0;
        for (char *rest = text, *line; r == 0 && (line = strsep(&rest, "\n"));)
                r = read_line(&reader, line, ++number, e);
        if (r == 0)
                merge(sources, &seen);
        return r;
}

int config_sources_read(struct sources *sources, struct err *e) {
        CLEANUP_FREE char *cwd = getcwd(NULL, 0);
        int r = sources_init(sources, e);
        if (r == 0)
                r = read_environment(sources, cwd ? cwd : "", e);
        if (r == 0 && sources->config_file && sources->config_file[0])
                r = read_config_file(sources, cwd ? cwd : "", e);
        return r;
}

/* The line break at the end of the file is not part of the secret. */
int config_follow_file(const struct given *file, struct given *plain, struct err *e) {
        CLEANUP_FREE char *path = NULL;
        CLEANUP(config_free_secret) char *text = NULL;
        int r = value_parse_path(file->value, file->base, &path, e);
        if (r == 0)
                r = read_file(path, SECRET_FILE_MAX, &text, e);
        if (r < 0) {
                err_wrap(e, "%s", file->where);
                return r;
        }
        char *content = trim(text);
        if (!*content)
                return err_set(e, -EINVAL, "%s names %s, which is empty", file->where, path);
        config_given_deinit(plain);
        return give(plain, strdup(content), file->base, e, "%s", file->where);
}

/* systemd.exec(5): CREDENTIALS_DIRECTORY holds a file for each, which is named as LoadCredential= has it. */
int config_find_credential(const char *name, struct given *plain, struct err *e) {
        const char *folder = getenv("CREDENTIALS_DIRECTORY");
        char path[4096];
        if (!folder || folder[0] != '/')
                return 0;
        int used = snprintf(path, sizeof(path), "%s/", folder);
        for (; *name && used < (int)sizeof(path) - 1; name++)
                path[used++] = (char)tolower((unsigned char)*name);
        path[used] = '\0';
        if (access(path, F_OK) < 0)
                return 0;
        struct given file = {.value = path, .where = path, .base = (char *)(uintptr_t)folder};
        return config_follow_file(&file, plain, e);
}
