/* The request of `platformctl run`; see run_request.h. */
#include "cli/run_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/base64.h"
#include "cli/paths.h"
#include "cli/utf8.h"

#define INPUT_MAX ((size_t)256 << 20) /* a guard for ourselves; the service has a lower one of its own */

static void decref(json_t **value) {
        json_decref(*value);
}

static size_t line_of(const char *text, size_t offset) {
        size_t line = 1;
        for (size_t i = 0; i < offset; i++)
                line += text[i] == '\n';
        return line;
}

/* Reads a text that has to be UTF-8, because JSON is. */
static json_t *read_text(const char *path, int *exit_code, struct err *e) {
        CLEANUP_FREE char *text = NULL;
        size_t length;
        *exit_code = EX_NOINPUT;
        if (paths_read(path, INPUT_MAX, &text, &length, e) < 0)
                return NULL;
        size_t valid = utf8_valid_prefix(text, length);
        if (valid < length) {
                *exit_code = EX_DATAERR;
                err_set(e, -EILSEQ,
                        "%s is not UTF-8: byte 0x%02x in line %zu. Convert it first, for example with "
                        "`iconv -f latin1 -t utf-8`",
                        path, (unsigned char)text[valid], line_of(text, valid));
                return NULL;
        }
        /* A byte order mark is no part of a program: Python skips it in a file, but not in a string. */
        size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        return json_stringn(text + mark, length - mark);
}

/* FILE, -c CODE, - or what is piped in: exactly one of them. */
static json_t *read_code(const struct run_options *options, const char *source, int *exit_code, struct err *e) {
        *exit_code = EX_USAGE;
        if (options->code && source) {
                err_set(e, -EINVAL, "give either a FILE or -c CODE, not both");
                return NULL;
        }
        if (options->code) {
                json_t *code = json_string(options->code);
                if (!code)
                        err_set(e, -EILSEQ, "the code given with -c is not UTF-8");
                return code;
        }
        if (!source && isatty(STDIN_FILENO)) {
                err_set(e, -EINVAL, "no code given: name a FILE, use -c CODE, or pipe the code in");
                return NULL;
        }
        return read_text(source ? source : "-", exit_code, e);
}

/* "NAME=PATH" or "PATH"; a file that really is called so comes first. */
static const char *split_input(const char *argument, const char **ret_name, size_t *ret_length) {
        const char *equals = strchr(argument, '='), *slash;
        if (equals && equals > argument && equals[1] && access(argument, F_OK) < 0) {
                *ret_name = argument;
                *ret_length = (size_t)(equals - argument);
                return equals + 1;
        }
        slash = strrchr(argument, '/');
        *ret_name = slash ? slash + 1 : argument;
        *ret_length = strlen(*ret_name);
        return argument;
}

static json_t *read_input(const char *argument, int *exit_code, struct err *e) {
        CLEANUP_FREE char *bytes = NULL, *encoded = NULL;
        const char *name;
        size_t name_length, length;
        const char *path = split_input(argument, &name, &name_length);
        *exit_code = EX_NOINPUT;
        if (paths_read(path, INPUT_MAX, &bytes, &length, e) < 0)
                return NULL;
        encoded = base64_encode(bytes, length);
        if (!encoded) {
                err_set(e, -ENOMEM, "%s does not fit into memory", path);
                return NULL;
        }
        json_t *file = json_pack("{s:s%, s:s}", "name", name, name_length, "content_base64", encoded);
        if (!file) {
                *exit_code = EX_USAGE;
                err_set(e, -EINVAL, "the name of the input %s is not UTF-8; give it another with --file NAME=PATH",
                        argument);
        }
        return file;
}

static int add_inputs(json_t *request, const struct run_options *options, int *exit_code, struct err *e) {
        json_t *files = json_array();
        int r = json_object_set_new(request, "files", files);
        for (size_t i = 0; r == 0 && i < options->files.count; i++) {
                json_t *file = read_input(options->files.items[i], exit_code, e);
                r = file ? json_array_append_new(files, file) : -1;
        }
        return r;
}

static int add_string(json_t *request, const char *name, const char *value, int *exit_code, struct err *e) {
        if (!value)
                return 0;
        if (json_object_set_new(request, name, json_string(value)) == 0)
                return 0;
        *exit_code = EX_USAGE;
        err_set(e, -EILSEQ, "the value given for %s is not UTF-8", name);
        return -1;
}

static bool reads_standard_input_twice(const struct run_options *options, const char *source) {
        bool code = !options->code && (!source || strcmp(source, "-") == 0);
        return code && options->input && strcmp(options->input, "-") == 0;
}

json_t *run_request(const struct run_options *options, const char *source, int *exit_code, struct err *e) {
        CLEANUP(decref) json_t *request = json_object();
        if (reads_standard_input_twice(options, source)) {
                *exit_code = EX_USAGE;
                err_set(e, -EINVAL, "standard input cannot be both the code and the input of the snippet");
                return NULL;
        }
        json_t *code = read_code(options, source, exit_code, e);
        if (!code || json_object_set_new(request, "code", code) < 0)
                return NULL;
        if (add_string(request, "agent", options->agent, exit_code, e) < 0 ||
            add_string(request, "conversation_id", options->conversation, exit_code, e) < 0)
                return NULL;
        if (options->files.count > 0 && add_inputs(request, options, exit_code, e) < 0)
                return NULL;
        if (options->input) {
                json_t *input = read_text(options->input, exit_code, e);
                if (!input || json_object_set_new(request, "stdin", input) < 0)
                        return NULL;
        }
        /* In a conversation the service would only say where the files are kept. */
        bool ok = (options->timeout_s <= 0 ||
                   json_object_set_new(request, "timeout_s", json_real(options->timeout_s)) == 0) &&
                  (!options->out || json_object_set_new(request, "inline_files", json_true()) == 0) &&
                  (options->json || json_object_set_new(request, "stream", json_true()) == 0);
        if (!ok) {
                *exit_code = EX_SOFTWARE;
                err_set(e, -ENOMEM, "out of memory");
                return NULL;
        }
        return TAKE_PTR(request);
}
