/* Hints: the right sentence for each known failure, and none where nothing is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/hints.h"
#include "run/work_channel.h"

#define TRACEBACK "Traceback (most recent call last):\n  File \"/home/nonroot/main.py\", line 1, in <module>\n    x()\n"
#define PROGRAM TRACEBACK "  File \"/usr/lib/python3.12/subprocess.py\", line 1, in _execute_child\n    raise x\n"

static bool choose(enum outcome outcome, int exit_code, const char *text, char hint[HINT_BYTES]) {
        return hint_choose(
                &(struct hint_facts){
                        .outcome = outcome,
                        .exit_code = exit_code,
                        .stderr_end = text,
                        .stderr_length = strlen(text),
                        .timeout_ms = 20000,
                        .max_timeout_ms = 60000,
                        .output_max_bytes = 64 << 20,
                        .libraries = "numpy, pandas",
                },
                hint);
}

static const struct {
        const char *text, *in_hint;
} errors[] = {
        {TRACEBACK "ModuleNotFoundError: No module named 'requests'\n", "\"requests\" is not installed"},
        {TRACEBACK "ModuleNotFoundError: No module named 'requests'\n", "(numpy, pandas)"},
        {TRACEBACK "ModuleNotFoundError: No module named 'a b<c>'\n", "The module is not installed"},
        /* The nearest one that is there. */
        {TRACEBACK "ModuleNotFoundError: No module named 'seaborn'\n",
         "use matplotlib, or the plot methods of pandas"},
        {TRACEBACK "ModuleNotFoundError: No module named 'tensorflow.keras'\n", "use sklearn.neural_network, or what"},
        {TRACEBACK "ModuleNotFoundError: No module named 'panda'\n", "\"pandas\" is installed: import that"},
        {TRACEBACK "ModuleNotFoundError: No module named 'nunpy'\n", "\"numpy\" is installed: import that"},
        {TRACEBACK "ModuleNotFoundError: No module named 'pandas.nothing'\n", "has no module \"pandas.nothing\""},
        {TRACEBACK "ModuleNotFoundError: No module named 'sklearn'\n", "\"sklearn\" is not installed"},
        {TRACEBACK "ImportError: Missing optional dependency 'xlrd'. Use pip or conda to install xlrd.\n",
         "\"xlrd\" is not installed, and nothing can be installed"},
        {TRACEBACK "ImportError: `Import tabulate` failed.  Use pip, conda, or another tool to install it.\n",
         "\"tabulate\" is not installed, and nothing can be installed, as there is no network and no package manager: "
         "use to_string() of pandas"},
        {TRACEBACK "ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.\n",
         "CSV files"},
        {PROGRAM "FileNotFoundError: [Errno 2] No such file or directory: 'pip'\n", "no program \"pip\""},
        {PROGRAM "FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'\n", "no program \"ffmpeg\""},
        {PROGRAM "FileNotFoundError: [Errno 2] No such file or directory: 'in/here'\n", "only the `files`"},
        {TRACEBACK "FileNotFoundError: [Errno 2] No such file or directory: 'pip'\n", "only the `files`"},
        {TRACEBACK "subprocess.CalledProcessError: Command '['/usr/bin/python', '-m', 'pip', 'install', 'x']' returned "
                   "non-zero exit status 1.\n",
         "no pip in the sandbox, and nothing can be installed"},
        {TRACEBACK "subprocess.CalledProcessError: Command 'py -m pip install x' returned non-zero exit status 1.\n",
         "no pip in the sandbox, and nothing can be installed"},
        {TRACEBACK "subprocess.CalledProcessError: Command 'curl x' returned non-zero exit status 127.\n",
         "no such program in the sandbox"},
        {TRACEBACK "sqlite3.OperationalError: unable to open database file\n", "relative path"},
        {TRACEBACK "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'\n", "only the `files`"},
        {TRACEBACK "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>\n",
         "no network"},
        {TRACEBACK "socket.gaierror: [Errno -2] Name or service not known\n", "no network"},
        {TRACEBACK "OSError: [Errno 97] Address family not supported by protocol\n", "no network"},
        {TRACEBACK "ConnectionRefusedError: [Errno 111] Connection refused\n", "Nothing listens there"},
        {TRACEBACK "EOFError: EOF when reading a line\n", "`stdin`"},
        {TRACEBACK "MemoryError\n", "512 MiB"},
        {TRACEBACK "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB\n", "512 MiB"},
        {TRACEBACK "OSError: [Errno 28] No space left on device\n", "128 MiB"},
        {TRACEBACK "OSError: [Errno 30] Read-only file system: '/usr/x'\n", "/mnt/data"},
        {TRACEBACK "PermissionError: [Errno 13] Permission denied: '/x'\n", "/mnt/data"},
        {TRACEBACK "PermissionError: [Errno 1] Operation not permitted\n", "system call"},
        {TRACEBACK "OSError: [Errno 38] Function not implemented\n", "system call"},
        {TRACEBACK "RuntimeError: can't start new thread\n", "128 processes"},
        {TRACEBACK "BlockingIOError: [Errno 11] Resource temporarily unavailable\n", "128 processes"},
        {TRACEBACK "RecursionError: maximum recursion depth exceeded\n", "loop"},
        {TRACEBACK "NameError: name 'df' is not defined\n", "fresh interpreter"},
        {TRACEBACK "ValueError: Exceeds the limit (4300 digits) for integer string conversion; use sys.x\n",
         "set_int_max_str_digits"},
        {"  File \"/home/nonroot/main.py\", line 1\n    !pip install x\n    ^\nSyntaxError: invalid syntax\n",
         "notebooks"},
        {"  File \"/home/nonroot/main.py\", line 1\n    %matplotlib inline\n    ^\nSyntaxError: invalid syntax\n",
         "notebooks"},
        {"  File \"/home/nonroot/main.py\", line 1\n    await f()\nSyntaxError: 'await' outside function\n",
         "asyncio.run"},
        {TRACEBACK "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0\n", "encoding="},
        {TRACEBACK "_tkinter.TclError: no display name and no $DISPLAY environment variable\n", "no display"},
        /* The last exception counts, and what a library says of its cause does not. */
        {TRACEBACK "KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n" TRACEBACK
                   "NameError: name 'df' is not defined\n",
         "fresh interpreter"},
        {TRACEBACK "NameError: name 'df' is not defined\nsomething that was printed at exit\n", "fresh interpreter"},
        {"findfont: Font family 'Arial' not found.\n", "WenQuanYi"},
        {"main.py:4: UserWarning: Glyph 20320 (\\N{CJK}) missing from font(s) DejaVu Sans.\n", "WenQuanYi"},
};

static void knows_the_common_errors(void **state) {
        char hint[HINT_BYTES];
        (void)state;
        for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                if (!choose(OUTCOME_ERROR, 1, errors[i].text, hint))
                        fail_msg("no hint for: %s", errors[i].text);
                if (!strstr(hint, errors[i].in_hint))
                        fail_msg("%s gave: %s", errors[i].text, hint);
                assert_int_equal(hint[strlen(hint) - 1], '.');
        }
}

static void says_nothing_where_nothing_is_known(void **state) {
        static const char *const texts[] = {
                "",
                "\n\n\n",
                "no newline",
                TRACEBACK "ValueError: x\n",
                TRACEBACK "subprocess.CalledProcessError: Command 'false' returned non-zero exit status 1.\n",
                TRACEBACK "KeyError: 'k9'\n",
                TRACEBACK "ZeroDivisionError: division by zero\n",
                "just text about an Error: NameError: x is not defined here\n",
                TRACEBACK "AssertionError\n",
        };
        char hint[HINT_BYTES];
        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                if (choose(OUTCOME_ERROR, 1, texts[i], hint))
                        fail_msg("%s gave: %s", texts[i], hint);
        assert_false(choose(OUTCOME_OK, 0, TRACEBACK "NameError: name 'df' is not defined\n", hint));
}

static void tells_the_numbers(void **state) {
        char hint[HINT_BYTES];
        (void)state;
        assert_true(choose(OUTCOME_TIMEOUT, -1, "", hint));
        assert_non_null(strstr(hint, "limit of 20 s"));
        assert_non_null(strstr(hint, "at most 60"));
        struct hint_facts facts = {
                .outcome = OUTCOME_TIMEOUT, .stderr_end = "", .timeout_ms = 1500, .max_timeout_ms = 1500};
        assert_true(hint_choose(&facts, hint));
        assert_non_null(strstr(hint, "1.5 s, which is the maximum"));
        assert_true(choose(OUTCOME_OUT_OF_MEMORY, 137, "", hint));
        assert_non_null(strstr(hint, "512 MiB"));
        assert_true(choose(OUTCOME_OUTPUT_LIMIT, 137, "", hint));
        assert_non_null(strstr(hint, "64 MiB"));
        assert_true(choose(OUTCOME_ERROR, 139, "", hint));
        assert_non_null(strstr(hint, "signal 11"));
        assert_true(choose(OUTCOME_KILLED, 137, "", hint));
        assert_non_null(strstr(hint, "run it again"));
        facts = (struct hint_facts){.outcome = OUTCOME_KILLED, .stderr_end = "", .on_request = true};
        assert_false(hint_choose(&facts, hint));
        facts = (struct hint_facts){.outcome = OUTCOME_OK, .stderr_end = "", .skipped_for_size = true};
        assert_true(hint_choose(&facts, hint));
        assert_non_null(strstr(hint, "4 MiB"));
}

static void says(const struct hint_facts *facts, const char *text, const char *part) {
        struct hint_facts whole = *facts;
        char hint[HINT_BYTES];
        whole.outcome = OUTCOME_ERROR;
        whole.exit_code = facts->exit_code ? facts->exit_code : 1;
        whole.stderr_end = text;
        whole.stderr_length = strlen(text);
        whole.libraries = "numpy, scikit-learn, pillow";
        assert_true(hint_choose(&whole, hint));
        if (!strstr(hint, part))
                fail_msg("%s gave: %s", text, hint);
}

#define MISSING_FILE TRACEBACK "FileNotFoundError: [Errno 2] No such file or directory: 'Data.csv'\n"

static void lists_the_inputs(void **state) {
        static const struct work_input two[] = {{.name = "data.csv", .name_length = 8},
                                                {.name = "b/c.txt", .name_length = 7}};
        struct work_input many[256];
        char name[256];
        (void)state;
        says(&(struct hint_facts){.inputs = two, .input_count = 2}, MISSING_FILE,
             "which are \"data.csv\", \"b/c.txt\":");
        says(&(struct hint_facts){.inputs = two, .input_count = 1}, MISSING_FILE, "which are \"data.csv\":");
        says(&(struct hint_facts){.input_count = 0}, MISSING_FILE, "and it has none");
        says(&(struct hint_facts){.inputs = two, .input_count = 2, .stateful = true}, MISSING_FILE, "os.listdir()");
        memset(name, 'x', sizeof(name));
        for (size_t i = 0; i < 256; i++)
                many[i] = (struct work_input){.name = name, .name_length = 90};
        says(&(struct hint_facts){.inputs = many, .input_count = 256}, MISSING_FILE, "\" and 254 more:");
        many[0].name_length = 255;
        many[1].name_length = 255;
        says(&(struct hint_facts){.inputs = many, .input_count = 2}, MISSING_FILE, "x\" and 1 more:");
        many[0].name_length = sizeof(name) * 4; /* none fits: only how many there are; nothing is read of it */
        says(&(struct hint_facts){.inputs = many, .input_count = 3}, MISSING_FILE, "which are 3 more:");
}

static void knows_a_session(void **state) {
        static const char missing[] = TRACEBACK "NameError: name 'df' is not defined\n";
        (void)state;
        says(&(struct hint_facts){.stateful = true}, missing, "No call of this conversation");
        says(&(struct hint_facts){.stateful = false}, missing, "fresh interpreter");
}

static void knows_the_installed_modules(void **state) {
        const struct hint_facts none = {0};
        (void)state;
        says(&none, TRACEBACK "ModuleNotFoundError: No module named 'pillow'\n", "\"PIL\" is installed");
        says(&none, TRACEBACK "ModuleNotFoundError: No module named 'Numpy'\n", "\"numpy\" is installed");
        says(&none, TRACEBACK "ModuleNotFoundError: No module named 'skleran'\n", "\"sklearn\" is installed");
        says(&none, TRACEBACK "ModuleNotFoundError: No module named 'sklearn.nn'\n", "no module \"sklearn.nn\"");
        says(&none, TRACEBACK "ModuleNotFoundError: No module named 'panda'\n", "\"panda\" is not installed");
        says(&none, TRACEBACK "ModuleNotFoundError: No module named 'np'\n", "\"np\" is not installed");
        says(&(struct hint_facts){.exit_code = 159}, "", "system call");
}

/* Standard error is the snippet's: no bytes of it may lead anywhere but to a sentence of our own. */
static void survives_any_standard_error(void **state) {
        static const char *const pieces[] = {
                "Error", ":",    "\n",    "'",           ".", "ModuleNotFoundError: No module named '",
                "\0x",   "\xff", "    !", "SyntaxError", "a", "_"};
        (void)state;
        unsigned seed = 1;
        for (int round = 0; round < 20000; round++) {
                char text[256], hint[HINT_BYTES];
                size_t used = 0;
                for (int i = 0; i < 12; i++) {
                        seed = seed * 1103515245 + 12345;
                        const char *piece = pieces[(seed >> 16) % (sizeof(pieces) / sizeof(pieces[0]))];
                        size_t length = piece[0] ? strlen(piece) : 2;
                        if (used + length < sizeof(text)) {
                                memcpy(text + used, piece, length);
                                used += length;
                        }
                }
                struct hint_facts facts = {.outcome = OUTCOME_ERROR,
                                           .exit_code = 1,
                                           .stderr_end = text,
                                           .stderr_length = used,
                                           .libraries = "x"};
                if (hint_choose(&facts, hint))
                        assert_true(strlen(hint) < HINT_BYTES);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(knows_the_common_errors),
                cmocka_unit_test(says_nothing_where_nothing_is_known),
                cmocka_unit_test(tells_the_numbers),
                cmocka_unit_test(lists_the_inputs),
                cmocka_unit_test(knows_a_session),
                cmocka_unit_test(knows_the_installed_modules),
                cmocka_unit_test(survives_any_standard_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
