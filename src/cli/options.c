/* Options of the command line; see options.h. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define OPTIONS_MAX 48
#define HELP_COLUMN 30

/* The rows of all groups in one list: getopt's answer for a long option is FIRST_LONG plus the place in it. */
#define FIRST_LONG 256

struct flat {
        const struct option_row *row;
        void *values;
};

struct parser {
        struct flat flat[OPTIONS_MAX];
        size_t count;
        struct option longs[OPTIONS_MAX + 1];
        char shorts[2 * OPTIONS_MAX + 3];
};

static void prepare(struct parser *parser, const struct option_group *groups, size_t count, bool stop_at_word) {
        char *shorts = parser->shorts;
        if (stop_at_word)
                *shorts++ = '+';
        *shorts++ = ':'; /* a missing value is told apart from an unknown option */
        for (size_t g = 0; g < count; g++) {
                for (size_t i = 0; i < groups[g].count && parser->count < OPTIONS_MAX; i++) {
                        const struct option_row *row = &groups[g].rows[i];
                        bool has_value = row->kind != OPTION_FLAG;
                        parser->longs[parser->count] = (struct option){
                                .name = row->name,
                                .has_arg = has_value ? required_argument : no_argument,
                                .val = FIRST_LONG + (int)parser->count,
                        };
                        parser->flat[parser->count++] = (struct flat){.row = row, .values = groups[g].values};
                        if (row->letter) {
                                *shorts++ = row->letter;
                                if (has_value)
                                        *shorts++ = ':';
                        }
                }
        }
        *shorts = '\0';
}

static const struct flat *find(const struct parser *parser, int answer) {
        if (answer >= FIRST_LONG)
                return &parser->flat[answer - FIRST_LONG];
        for (size_t i = 0; i < parser->count; i++)
                if (parser->flat[i].row->letter == answer)
                        return &parser->flat[i];
        return NULL;
}

static int set_seconds(const struct option_row *row, double *target, const char *text, struct err *e) {
        char *end;
        errno = 0;
        double seconds = strtod(text, &end);
        if (end == text || *end || errno || !isfinite(seconds) || seconds <= 0)
                return err_set_field(e, -EINVAL, row->name, "--%s takes a number of seconds greater than 0, not \"%s\"",
                                     row->name, text);
        *target = seconds;
        return 0;
}

static int set_count(const struct option_row *row, size_t *target, const char *text, struct err *e) {
        char *end;
        errno = 0;
        unsigned long long count = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end || errno || count == 0 || count > SIZE_MAX)
                return err_set_field(e, -EINVAL, row->name, "--%s takes a whole number greater than 0, not \"%s\"",
                                     row->name, text);
        *target = (size_t)count;
        return 0;
}

static int add_to_list(struct option_list *list, const char *text) {
        const char **grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        grown[list->count++] = text;
        list->items = grown;
        return 0;
}

static int set_secret(char **target, char *text) {
        char *copy = strdup(text);
        if (!copy)
                return -ENOMEM;
        memset(text, 'x', strlen(text));
        free(*target);
        *target = copy;
        return 0;
}

static int set(const struct flat *flat, char *text, struct err *e) {
        void *target = (char *)flat->values + flat->row->offset;
        switch (flat->row->kind) {
        case OPTION_FLAG:
                *(bool *)target = true;
                return 0;
        case OPTION_TEXT:
                *(const char **)target = text;
                return 0;
        case OPTION_SECRET:
                return set_secret(target, text);
        case OPTION_LIST:
                return add_to_list(target, text);
        case OPTION_SECONDS:
                return set_seconds(flat->row, target, text, e);
        case OPTION_COUNT:
                return set_count(flat->row, target, text, e);
        }
        return -EINVAL;
}

static int refuse(int answer, const char *word, struct err *e) {
        bool is_long = optopt == 0 || optopt >= FIRST_LONG;
        if (answer == ':' && is_long)
                return err_set(e, -EINVAL, "%s needs a value", word);
        if (answer == ':')
                return err_set(e, -EINVAL, "-%c needs a value", optopt);
        if (optopt >= FIRST_LONG)
                return err_set(e, -EINVAL, "%s takes no value", word);
        if (optopt == 0)
                return err_set(e, -EINVAL, "%s is not an option here, or could mean more than one", word);
        return err_set(e, -EINVAL, "-%c is not an option here", optopt);
}

int options_parse(const struct option_group *groups, size_t count, bool stop_at_word, int argc, char **argv,
                  struct err *e) {
        struct parser parser = {.count = 0};
        int answer;
        prepare(&parser, groups, count, stop_at_word);
        optind = 0; /* glibc: start anew, also after another argv */
        opterr = 0;
        while ((answer = getopt_long(argc, argv, parser.shorts, parser.longs, NULL)) != -1) {
                if (answer == '?' || answer == ':')
                        return refuse(answer, argv[optind - 1], e);
                const struct flat *flat = find(&parser, answer);
                int r = flat ? set(flat, optarg, e) : -EINVAL;
                if (r < 0)
                        return r;
        }
        return optind;
}

void options_deinit(const struct option_group *group) {
        for (size_t i = 0; i < group->count; i++) {
                void *target = (char *)group->values + group->rows[i].offset;
                if (group->rows[i].kind == OPTION_LIST)
                        free(((struct option_list *)target)->items);
                if (group->rows[i].kind == OPTION_SECRET && *(char **)target) {
                        explicit_bzero(*(char **)target, strlen(*(char **)target));
                        free(*(char **)target);
                }
        }
}

void options_print(const struct option_row *rows, size_t count, FILE *out) {
        for (size_t i = 0; i < count; i++) {
                char left[64], letter[8] = "    ";
                if (rows[i].letter)
                        snprintf(letter, sizeof(letter), "-%c, ", rows[i].letter);
                snprintf(left, sizeof(left), "  %s--%s%s%s", letter, rows[i].name, rows[i].argument ? " " : "",
                         rows[i].argument ? rows[i].argument : "");
                fprintf(out, "%-*s ", HELP_COLUMN, left);
                for (const char *line = rows[i].help;;) { /* further lines begin in the same column */
                        size_t length = strcspn(line, "\n");
                        fprintf(out, "%.*s\n", (int)length, line);
                        if (!line[length])
                                break;
                        line += length + 1;
                        fprintf(out, "%-*s ", HELP_COLUMN, "");
                }
        }
}
