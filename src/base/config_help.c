/*
 * Prints the table of settings as a page of documentation; see config_print_help() in config.h.
 *
 * The text is Markdown that reads well in a terminal too, and says nothing that depends on the machine it is printed
 * on.
 */
#include "base/config.h"

#include <inttypes.h>
#include <string.h>

#include "base/config_settings.h"

#define WIDTH 100

static const char introduction[] =
        "# Settings\n"
        "\n"
        "`sandboxd` reads its settings once, when it starts: from environment variables, or from a file.\n"
        "`sandboxd --help-config` prints this page.\n"
        "\n"
        "- **Environment**: the names below. A variable that is empty counts as not set.\n"
        "- **File**: `SANDBOX_CONFIG_FILE` names it. One setting a line, `name = value`, the name in lower case\n"
        "  and without `SANDBOX_`: `warm_pool = 5`. Lines that begin with `#` are comments. Relative paths count\n"
        "  from the folder of the file. Where both give a setting, the environment wins.\n"
        "- **Secrets**: instead of a secret, the name of a file that holds it may be given: `SANDBOX_ADMIN_KEY_FILE`,\n"
        "  or `admin_key_file` in the configuration file.\n"
        "\n"
        "An unknown name that begins with `SANDBOX_`, or a value that is not allowed, stops the start with a message\n"
        "that says what would be right. (`SANDBOX_URL` and `SANDBOX_KEY` belong to `platformctl` and other clients;\n"
        "the service passes over them. Kubernetes adds variables such as `SANDBOX_PORT` to every container of a\n"
        "namespace that has a Service called `sandbox`: give the Service another name, or set\n"
        "`enableServiceLinks: false`.)\n";

/* Prints `text` in lines of at most WIDTH columns, the first after `first`, the others after as many spaces as
 * `indent`. */
static void print_wrapped(FILE *out, const char *first, int indent, const char *text) {
        size_t column = (size_t)fprintf(out, "%s", first);
        bool begun = false;
        while (*text) {
                size_t word = strcspn(text, " ");
                if (begun && column + 1 + word > WIDTH) {
                        column = (size_t)fprintf(out, "\n%*s", indent, "") - 1;
                        begun = false;
                }
                column += (size_t)fprintf(out, "%s%.*s", begun ? " " : "", (int)word, text);
                begun = true;
                text += word;
                text += strspn(text, " ");
        }
        fputc('\n', out);
}

static void print_setting(FILE *out, const struct setting *setting) {
        char allowed[128], line[512];
        fprintf(out, "- `" SETTING_PREFIX "%s`", setting->name);
        if (setting->secret)
                fprintf(out, " or `" SETTING_PREFIX "%s_FILE`", setting->name);
        fputs(":\n", out);
        print_wrapped(out, "  ", 2, setting->doc);
        snprintf(line, sizeof(line), "Allowed: %s.", setting_allowed(setting, allowed, sizeof(allowed)));
        print_wrapped(out, "  - ", 4, line);
        if (setting->default_doc)
                snprintf(line, sizeof(line), "Default: %s.", setting->default_doc);
        else if (setting->parse)
                snprintf(line, sizeof(line), "Default: %s.", setting->initial_text);
        else
                snprintf(line, sizeof(line), "Default: %" PRId64 ".", setting->initial);
        print_wrapped(out, "  - ", 4, line);
}

void config_print_help(FILE *out) {
        fputs(introduction, out);
        for (size_t i = 0; i < config_settings_count; i++) {
                if (config_settings[i].group)
                        fprintf(out, "\n## %s\n\n", config_settings[i].group);
                print_setting(out, &config_settings[i]);
        }
}
