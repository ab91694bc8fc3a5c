/* Hints for known failures; see hints.h. New ones are a line in a table. */
#include "run/hints.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>

#include "base/cleanup.h"
#include "run/hint_modules.h"
#include "run/work_channel.h"
#include "spawn/proto.h"

#define INPUTS_SHOWN_BYTES 300

#define NOTHING_INSTALLS "nothing can be installed, as there is no network and no package manager: use "
#define NO_INSTALLS NOTHING_INSTALLS "the standard library or what is there"
#define NO_NETWORK                                                                                                     \
        "The sandbox has no network, name lookups included: put the data into `files` or into the code itself, and "   \
        "do without downloads."
#define REFUSED_CALL                                                                                                   \
        "The sandbox refuses this system call by design: do it another way, in plain Python and in this process."
#define NO_PROCESSES                                                                                                   \
        "The sandbox allows 128 processes and threads together: use fewer workers (there is one CPU, so more of "      \
        "them are no quicker)."

/* Rules on the exception that ended the snippet: the first that fits. */
static const struct {
        const char *type;   /* of the exception, without its module; NULL: any */
        const char *needle; /* in its message; NULL: any */
        const char *hint;
} exception_rules[] = {
        {NULL, "Temporary failure in name resolution", NO_NETWORK},
        {NULL, "Name or service not known", NO_NETWORK},
        {NULL, "Network is unreachable", NO_NETWORK},
        {NULL, "Address family not supported", NO_NETWORK},
        {NULL, "Max retries exceeded", NO_NETWORK},
        {NULL, "urlopen error", NO_NETWORK},
        {"gaierror", NULL, NO_NETWORK},
        {"ConnectionRefusedError", NULL,
         "Nothing listens there: the sandbox has no network and no servers but those that the code starts itself; "
         "use sqlite3 for a database, and `files` for data."},
        {"EOFError", "EOF when reading a line",
         "input() found standard input at its end: send the text that it is to read as `stdin`, or set the values "
         "in the code."},
        {"MemoryError", NULL,
         "The sandbox has 512 MiB of memory: read data in pieces, use smaller types (such as float32 or category), "
         "and delete what is no longer needed."},
        {"_ArrayMemoryError", NULL,
         "The array does not fit into the sandbox's 512 MiB of memory: use a smaller one, a smaller type such as "
         "float32, or work in pieces."},
        {NULL, "No space left on device",
         "The disk of the sandbox is full: the working directory holds 128 MiB, /tmp and the home directory 64 MiB "
         "each, all within 512 MiB of memory; write less, or delete files that are no longer needed."},
        {NULL, "Read-only file system",
         "Only the working directory /mnt/data, the home directory and /tmp can be written: use a relative path "
         "such as \"out.csv\"."},
        {"PermissionError", "Permission denied",
         "Only the working directory /mnt/data, the home directory and /tmp can be written: use a relative path "
         "such as \"out.csv\"."},
        {"PermissionError", "Operation not permitted", REFUSED_CALL},
        {"OSError", "Function not implemented", REFUSED_CALL},
        {"ImportError", "Unable to find a usable engine",
         "Parquet files cannot be read or written here, as neither pyarrow nor fastparquet is installed: use CSV files "
         "(read_csv, to_csv)."},
        {NULL, "Too many open files",
         "A process in the sandbox may have 1024 files open: close them as you go, with `with open(...)`."},
        {NULL, "can't start new thread", NO_PROCESSES},
        {NULL, "Resource temporarily unavailable", NO_PROCESSES},
        {"RecursionError", NULL,
         "The recursion is endless or too deep for Python: check the case that ends it, or rewrite it as a loop."},
        {"ValueError", "for integer string conversion",
         "Python refuses to turn integers of more than 4300 digits into text: call sys.set_int_max_str_digits(0) "
         "first, or print fewer digits."},
        {"OperationalError", "unable to open database file",
         "The database is not there or cannot be made there: only the working directory /mnt/data, the home directory "
         "and /tmp can be written, and folders have to be made first; use a relative path such as \"data.db\"."},
        {"TclError", NULL, "The sandbox has no display: draw with matplotlib and use plt.show() or plt.savefig()."},
        {"ImportError", "Cannot load backend",
         "The sandbox has no display: leave matplotlib's backend as it is and use plt.show() or plt.savefig()."},
        {"SyntaxError", "outside function",
         "`await`, `return` and `yield` stand only inside a function: put the code into `async def main()` and call "
         "asyncio.run(main())."},
        {"UnicodeDecodeError", NULL,
         "The file is not UTF-8: open it with the encoding that it has, for instance encoding=\"latin-1\" or "
         "encoding=\"utf-16\"."},
};

/* Rules on the text of standard error, for what is no exception of the snippet itself. */
static const struct {
        const char *needle, *hint;
} text_rules[] = {
        {"findfont: Font family",
         "That font is not installed: the text was drawn with DejaVu Sans; for Chinese, Japanese or Korean set "
         "plt.rcParams[\"font.family\"] = \"WenQuanYi Micro Hei\"."},
        {"missing from font(s)", "The font lacks characters of this text: for Chinese, Japanese or Korean set "
                                 "plt.rcParams[\"font.family\"] = [\"DejaVu Sans\", \"WenQuanYi Micro Hei\"]."},
};

#define STARTING_A_PROGRAM "in _execute_child" /* in the traceback: subprocess has found none */

struct exception {
        char type[64]; /* without its module */
        char message[512];
};

/* Whether the line could be the last one of a traceback: "module.Type: message" or "Type". */
static bool parse_exception(const char *line, size_t length, struct exception *exception) {
        size_t type_start = 0, i = 0;
        while (i < length && (isalnum((unsigned char)line[i]) || line[i] == '_' || line[i] == '.')) {
                if (line[i] == '.')
                        type_start = i + 1;
                i++;
        }
        size_t type_length = i - type_start;
        if (type_length == 0 || type_length >= sizeof(exception->type) || (i < length && line[i] != ':'))
                return false;
        memcpy(exception->type, line + type_start, type_length);
        exception->type[type_length] = '\0';
        const char *type = exception->type;
        if (!strstr(type, "Error") && !strstr(type, "error") && !strstr(type, "Exception"))
                return false;
        size_t rest = i < length ? length - i - 1 : 0;
        rest = rest < sizeof(exception->message) - 1 ? rest : sizeof(exception->message) - 1;
        memcpy(exception->message, line + i + (i < length ? 1 : 0), rest);
        exception->message[rest] = '\0';
        return true;
}

/* The last exception that is reported there. */
static bool find_exception(const char *text, size_t length, struct exception *exception) {
        for (size_t end = length; end > 0;) {
                const char *newline = memrchr(text, '\n', end - 1);
                const char *line = newline ? newline + 1 : text;
                size_t line_length = (size_t)(text + end - line);
                if (line_length > 0 && line[line_length - 1] == '\n')
                        line_length--;
                if (line_length > 0 && parse_exception(line, line_length, exception))
                        return true;
                end = (size_t)(line - text);
        }
        return false;
}

static bool contains(const char *text, size_t length, const char *needle) {
        return memmem(text, length, needle, strlen(needle)) != NULL;
}

/* The name between `before` and the next `quote`, if it is one of the characters that modules have. */
static bool name_between(const char *message, const char *before, char quote, char *name, size_t size) {
        const char *start = strstr(message, before);
        if (!start)
                return false;
        start += strlen(before);
        const char *end = strchr(start, quote);
        if (!end || end == start || (size_t)(end - start) >= size)
                return false;
        for (const char *c = start; c < end; c++)
                if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
                        return false;
        memcpy(name, start, (size_t)(end - start));
        name[end - start] = '\0';
        return true;
}

/* 'name' */
static bool quoted_name(const char *message, char *name, size_t size) {
        return name_between(message, "'", '\'', name, size);
}

static bool say(char hint[HINT_BYTES], const char *sentence) {
        snprintf(hint, HINT_BYTES, "%s", sentence);
        return true;
}

/* "No module named 'x'", and what pandas says of a library that it would use if it were there. `name`: "" if it has
 * none that can be shown. */
static bool find_missing_module(const struct exception *exception, char *name, size_t size) {
        const char *message = exception->message;
        name[0] = '\0';
        if (strcmp(exception->type, "ModuleNotFoundError") == 0) {
                quoted_name(message, name, size);
                return true;
        }
        return strcmp(exception->type, "ImportError") == 0 &&
               (name_between(message, "`Import ", '`', name, size) ||
                name_between(message, "Missing optional dependency '", '\'', name, size));
}

/* The nearest one that is there is named, if one is known. */
static bool say_missing_module(const struct hint_facts *facts, const struct exception *exception,
                               char hint[HINT_BYTES]) {
        char module[80];
        const char *other;
        if (!find_missing_module(exception, module, sizeof(module)))
                return false;
        if (!*module)
                snprintf(hint, HINT_BYTES, "The module is not installed, and " NO_INSTALLS " (%s).", facts->libraries);
        else if ((other = module_meant(module, facts->libraries)))
                snprintf(hint, HINT_BYTES, "There is no module \"%s\", but \"%s\" is installed: import that.", module,
                         other);
        else if ((other = module_installed_top(module, facts->libraries)))
                snprintf(hint, HINT_BYTES,
                         "\"%s\" is installed, but has no module \"%s\": the name is wrong, or of another version.",
                         other, module);
        else if ((other = module_alternative(module)))
                snprintf(hint, HINT_BYTES,
                         "The module \"%s\" is not installed, and " NOTHING_INSTALLS "%s, or what else is there (%s).",
                         module, other, facts->libraries);
        else
                snprintf(hint, HINT_BYTES, "The module \"%s\" is not installed, and " NO_INSTALLS " (%s).", module,
                         facts->libraries);
        return true;
}

/* A path could as well be that of the folder that the program was to run in. */
static bool say_missing_program(const struct hint_facts *facts, const struct exception *exception,
                                char hint[HINT_BYTES]) {
        char name[80];
        if (strcmp(exception->type, "FileNotFoundError") != 0 || !quoted_name(exception->message, name, sizeof(name)) ||
            !contains(facts->stderr_end, facts->stderr_length, STARTING_A_PROGRAM))
                return false;
        snprintf(hint, HINT_BYTES, "There is no program \"%s\" in the sandbox, and " NO_INSTALLS " (%s).", name,
                 facts->libraries);
        return true;
}

/* "Command '...' returned non-zero exit status 1.": pip as a module, and what the shell has not found. */
static bool say_failed_command(const struct hint_facts *facts, const struct exception *exception,
                               char hint[HINT_BYTES]) {
        if (strcmp(exception->type, "CalledProcessError") != 0)
                return false;
        if (strstr(exception->message, "'pip'") || strstr(exception->message, "-m pip "))
                snprintf(hint, HINT_BYTES, "There is no pip in the sandbox, and " NO_INSTALLS " (%s).",
                         facts->libraries);
        else if (strstr(exception->message, "exit status 127"))
                snprintf(hint, HINT_BYTES,
                         "There is no such program in the sandbox, only a shell and basic text tools, and " NO_INSTALLS
                         " (%s).",
                         facts->libraries);
        else
                return false;
        return true;
}

/* "a.csv, b/c.csv and 3 more". */
static void list_inputs(const struct hint_facts *facts, char *text, size_t size) {
        size_t used = 0, i;
        for (i = 0; i < facts->input_count; i++) {
                const struct work_input *input = &facts->inputs[i];
                if (used + input->name_length + 32 > size)
                        break;
                used += (size_t)snprintf(text + used, size - used, "%s\"%.*s\"", i ? ", " : "",
                                         (int)input->name_length, input->name);
        }
        if (i < facts->input_count)
                snprintf(text + used, size - used, "%s%zu more", i ? " and " : "", facts->input_count - i);
}

static bool say_missing_file(const struct hint_facts *facts, const struct exception *exception,
                             char hint[HINT_BYTES]) {
        char names[INPUTS_SHOWN_BYTES] = "";
        if (strcmp(exception->type, "FileNotFoundError") != 0)
                return false;
        list_inputs(facts, names, sizeof(names));
        if (facts->stateful)
                return say(hint,
                           "The working directory /mnt/data holds the files of this conversation: look with "
                           "os.listdir(), as names count upper and lower case.");
        if (facts->input_count == 0)
                return say(hint,
                           "The working directory holds only the `files` of this request, and it has none: send the "
                           "file with it, and one that an earlier run wrote as well (`file_id`).");
        snprintf(hint, HINT_BYTES,
                 "The working directory holds only the `files` of this request, which are %s: a file of an earlier "
                 "run has to be sent again (`file_id`), and names count upper and lower case.",
                 names);
        return true;
}

static bool say_missing_name(const struct hint_facts *facts, const struct exception *exception,
                             char hint[HINT_BYTES]) {
        if (strcmp(exception->type, "NameError") != 0 || !strstr(exception->message, "is not defined"))
                return false;
        if (facts->stateful)
                return say(hint,
                           "No call of this conversation has defined the name since the interpreter was started: "
                           "define or import it in this code.");
        return say(hint,
                   "Each run starts with a fresh interpreter: a name from an earlier run does not exist here, so "
                   "define or import it in this code.");
}

/* "!pip install" and "%matplotlib" are commands of notebooks; the traceback shows the line in question, indented. */
static bool say_notebook_command(const struct hint_facts *facts, const struct exception *exception,
                                 char hint[HINT_BYTES]) {
        const char *text = facts->stderr_end;
        if (strcmp(exception->type, "SyntaxError") != 0 ||
            (!contains(text, facts->stderr_length, "\n    !") && !contains(text, facts->stderr_length, "\n    %")))
                return false;
        return say(hint,
                   "Lines that begin with \"!\" or \"%\" are commands of notebooks and not Python: leave them out "
                   "(nothing can be installed, and charts are shown by plt.show() without them).");
}

/* What needs more than a line of the table; asked first, in this order. */
static bool (*const sayings[])(const struct hint_facts *facts, const struct exception *exception,
                               char hint[HINT_BYTES]) = {
        say_missing_module, say_missing_program,  say_failed_command,
        say_missing_file,   say_missing_name,     say_notebook_command,
};

static bool say_exception(const struct hint_facts *facts, char hint[HINT_BYTES]) {
        struct exception exception;
        if (!find_exception(facts->stderr_end, facts->stderr_length, &exception))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(sayings); i++)
                if (sayings[i](facts, &exception, hint))
                        return true;
        for (size_t i = 0; i < ARRAY_SIZE(exception_rules); i++)
                if ((!exception_rules[i].type || strcmp(exception.type, exception_rules[i].type) == 0) &&
                    (!exception_rules[i].needle || strstr(exception.message, exception_rules[i].needle)))
                        return say(hint, exception_rules[i].hint);
        return false;
}

static bool say_error(const struct hint_facts *facts, char hint[HINT_BYTES]) {
        if (facts->exit_code == 128 + SIGSYS)
                return say(hint, REFUSED_CALL);
        static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
        for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
                if (facts->exit_code == 128 + crashes[i]) {
                        snprintf(hint, HINT_BYTES,
                                 "The interpreter itself crashed (signal %d) in compiled code: look at uses of "
                                 "ctypes, at very deep recursion, and at the sizes of what is passed to native "
                                 "libraries.",
                                 crashes[i]);
                        return true;
                }
        return say_exception(facts, hint);
}

static bool say_timeout(const struct hint_facts *facts, char hint[HINT_BYTES]) {
        if (facts->timeout_ms < facts->max_timeout_ms)
                snprintf(hint, HINT_BYTES,
                         "The code was stopped at its time limit of %g s: make it quicker, work on less data, or ask "
                         "for more with `timeout_s` (at most %g).",
                         facts->timeout_ms / 1000.0, facts->max_timeout_ms / 1000.0);
        else
                snprintf(hint, HINT_BYTES,
                         "The code was stopped at its time limit of %g s, which is the maximum: make it quicker, "
                         "work on less data, or split it into several runs.",
                         facts->timeout_ms / 1000.0);
        return true;
}

static bool say_output_limit(const struct hint_facts *facts, char hint[HINT_BYTES]) {
        snprintf(hint, HINT_BYTES,
                 "The code was stopped because it printed more than %" PRIu64 " MiB: print a summary, and write large "
                 "results to a file in the working directory.",
                 facts->output_max_bytes >> 20);
        return true;
}

static bool say_by_text(const struct hint_facts *facts, char hint[HINT_BYTES]) {
        for (size_t i = 0; i < ARRAY_SIZE(text_rules); i++)
                if (contains(facts->stderr_end, facts->stderr_length, text_rules[i].needle))
                        return say(hint, text_rules[i].hint);
        if (facts->skipped_for_size)
                return say(hint,
                           "A file that was written is too large to be handed over: at most 4 MiB each and 16 MiB "
                           "together; write fewer rows, a smaller picture, or a compressed file.");
        return false;
}

bool hint_choose(const struct hint_facts *facts, char hint[HINT_BYTES]) {
        switch (facts->outcome) {
        case OUTCOME_TIMEOUT:
                return say_timeout(facts, hint);
        case OUTCOME_OUT_OF_MEMORY:
                return say(hint,
                           "The code was stopped because it needed more than the sandbox's 512 MiB of memory, files "
                           "in /mnt/data and /tmp included: read data in pieces, use smaller types, and delete what "
                           "is no longer needed.");
        case OUTCOME_OUTPUT_LIMIT:
                return say_output_limit(facts, hint);
        case OUTCOME_KILLED:
                return !facts->on_request &&
                       say(hint,
                           "The sandbox was lost while the code ran, by no fault that can be told from outside: run "
                           "it again.");
        case OUTCOME_INTERNAL:
                return say(hint, "The service could not run the code: try again in a moment.");
        case OUTCOME_ERROR:
                return say_error(facts, hint) || say_by_text(facts, hint);
        default:
                return say_by_text(facts, hint);
        }
}
