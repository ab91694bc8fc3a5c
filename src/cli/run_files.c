/* Files and figures that came back from a run; see run_files.h. */
#include "cli/run_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base64.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/service.h"

/* Forms of a figure, the best first. SVG is text, the others are base64. */
static const struct {
        const char *media_type, *suffix;
        bool is_text;
} forms[] = {
        {"image/png", "png", false},
        {"image/svg+xml", "svg", true},
        {"image/jpeg", "jpg", false},
        {"application/pdf", "pdf", false},
};

static const json_t *figure_of(const json_t *result, size_t *form) {
        for (*form = 0; *form < ARRAY_SIZE(forms); (*form)++) {
                const json_t *data = json_object_get(result, forms[*form].media_type);
                if (json_is_string(data))
                        return data;
        }
        return NULL;
}

bool run_files_is_figure(const json_t *result) {
        size_t form;
        return figure_of(result, &form) != NULL;
}

/* Where files go, and what became of them. */
struct saver {
        struct cli *cli;
        const struct run_options *options;
        int folder;
        int exit_code;
};

static void save(struct saver *saver, const char *what, const char *name, size_t name_length, const void *bytes,
                 size_t length) {
        struct err e = {0};
        int r = paths_save(saver->folder, name, name_length, bytes, length, saver->options->force, &e);
        if (r < 0)
                saver->exit_code = say_error(saver->cli, EX_CANTCREAT, "%s %.*s was not saved: %s", what,
                                             (int)name_length, name, e.message);
        else
                say_note(saver->cli, "saved %s/%.*s (%s)", saver->options->out, (int)name_length, name,
                         human_bytes((double)length));
}

static void save_encoded(struct saver *saver, const char *what, const char *name, size_t name_length,
                         const json_t *encoded) {
        CLEANUP_FREE void *bytes = NULL;
        size_t length;
        if (!json_is_string(encoded) ||
            base64_decode(json_string_value(encoded), json_string_length(encoded), &bytes, &length) < 0) {
                saver->exit_code =
                        say_error(saver->cli, EX_CANTCREAT, "%s %.*s was not saved: the service sent no content", what,
                                  (int)name_length, name);
                return;
        }
        save(saver, what, name, name_length, bytes, length);
}

static void save_files(struct saver *saver, const json_t *files) {
        size_t i;
        json_t *file;
        json_array_foreach(files, i, file) {
                const json_t *name = json_object_get(file, "name");
                if (json_is_string(name))
                        save_encoded(saver, "the file", json_string_value(name), json_string_length(name),
                                     json_object_get(file, "content_base64"));
        }
}

static bool is_taken(const json_t *files, const char *name) {
        size_t i;
        json_t *file;
        json_array_foreach(files, i, file) if (strcmp(json_text(file, "name"), name) == 0) return true;
        return false;
}

/* figure-1.png, figure-2.png ...; a number that a file of the snippet's own has is passed over. */
static void save_figures(struct saver *saver, const json_t *results, const json_t *files) {
        size_t i, form;
        unsigned number = 0;
        json_t *result;
        json_array_foreach(results, i, result) {
                char name[32];
                const json_t *data = figure_of(result, &form);
                if (!data)
                        continue;
                do
                        snprintf(name, sizeof(name), "figure-%u.%s", ++number, forms[form].suffix);
                while (is_taken(files, name));
                if (forms[form].is_text)
                        save(saver, "the figure", name, strlen(name), json_string_value(data),
                             json_string_length(data));
                else
                        save_encoded(saver, "the figure", name, strlen(name), data);
        }
}

static int save_all(struct cli *cli, const struct run_options *options, const json_t *files, const json_t *results) {
        struct err e = {0};
        CLEANUP_CLOSE int folder = paths_open_folder(options->out, &e);
        if (folder < 0)
                return say_error(cli, EX_CANTCREAT, "%s", e.message);
        struct saver saver = {.cli = cli, .options = options, .folder = folder};
        save_files(&saver, files);
        save_figures(&saver, results, files);
        return saver.exit_code;
}

static void list_all(struct cli *cli, const json_t *files, const json_t *results) {
        size_t i, figures = 0, passing = 0;
        json_t *file, *result;
        json_array_foreach(files, i, file) {
                const char *size = human_bytes(json_number_value(json_object_get(file, "size")));
                bool is_kept = json_is_string(json_object_get(file, "url"));
                passing += !is_kept;
                if (is_kept)
                        say_note(cli, "file %s (%s) is kept: platformctl files get %s", json_text(file, "name"), size,
                                 json_text(file, "file_id"));
                else
                        say_note(cli, "file %s (%s) came back", json_text(file, "name"), size);
        }
        json_array_foreach(results, i, result) figures += run_files_is_figure(result);
        if (figures > 0)
                say_note(cli, "%zu figure%s came back", figures, figures == 1 ? "" : "s");
        if (figures > 0 || passing > 0)
                say_note(cli, "use --out DIR to save what came back");
}

/* The service's reasons in words. */
static const struct {
        const char *reason, *text;
} reasons[] = {
        {"too_large", "it is larger than one file may be"},
        {"total_too_large", "the files of this run are too large together"},
        {"too_many", "there are too many files"},
        {"quota", "the quota of the project is used up"},
        {"not_a_regular_file", "it is no regular file"},
        {"unreadable", "it could not be read"},
        {"name", "its name is not fit for a file that is handed over"},
};

static void name_skipped(struct cli *cli, const json_t *reply) {
        json_int_t unnamed = json_integer_value(json_object_get(reply, "files_skipped_unnamed"));
        size_t i;
        json_t *file;
        json_array_foreach(json_object_get(reply, "files_skipped"), i, file) {
                const char *reason = json_text(file, "reason");
                for (size_t j = 0; j < ARRAY_SIZE(reasons); j++)
                        if (strcmp(reasons[j].reason, reason) == 0)
                                reason = reasons[j].text;
                say_note(cli, "file %s (%s) was left out: %s", json_text(file, "name"),
                         human_bytes(json_number_value(json_object_get(file, "size"))), reason);
        }
        if (unnamed > 0)
                say_note(cli, "%" JSON_INTEGER_FORMAT " more files were left out: there are too many to name", unnamed);
        if (json_is_false(json_object_get(reply, "files_complete")))
                say_note(cli, "collecting the files broke off: some may be missing");
}

int run_files_handle(struct cli *cli, const struct run_options *options, const json_t *reply) {
        const json_t *files = json_object_get(reply, "files"), *results = json_object_get(reply, "results");
        int exit_code = 0;
        if (options->out)
                exit_code = save_all(cli, options, files, results);
        else if (!options->json)
                list_all(cli, files, results);
        name_skipped(cli, reply);
        return exit_code;
}
