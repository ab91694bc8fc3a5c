/*
 * Prints the table of settings as a page of documentation; see config_print_help() in config.h.
 *
 * The text is Markdown that reads well in a terminal too, and says nothing that depends on the machine it is printed
 * on.
 */
#include "base/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_settings.h"

#define WIDTH 100

static const char introduction[] =
        "# Settings\n"
        "\n"
        "`sandboxd` reads its settings when it starts: from environment variables, or from a file.\n"
        "`sandboxd --help-config` prints this page, `sandboxd --sample-config` a file with every setting as a comment,\n"
        "and `sandboxd --check-config` says whether what is set is good.\n"
        "\n"
        "- **Environment**: the names below. A variable that is empty counts as not set.\n"
        "- **File**: `SANDBOX_CONFIG_FILE` names it. One setting a line, `name = value`, the name in lower case\n"
        "  and without `SANDBOX_`: `warm_pool = 5`. Lines that begin with `#` are comments. Relative paths count\n"
        "  from the folder of the file. Where both give a setting, the environment wins.\n"
        "- **Secrets**: instead of a secret, the name of a file that holds it may be given: `SANDBOX_ADMIN_KEY_FILE`,\n"
        "  or `admin_key_file` in the configuration file. What is given in neither way is looked for among systemd's\n"
        "  credentials, under the name in lower case: `LoadCredential=admin_key:/etc/code-sandbox/admin-key`.\n"
        "- **Reload**: on SIGHUP, all is read again. What can change at once, which is said below, then does, with a\n"
        "  line of the log for each; of the rest, a line names what waits for a restart. If anything is wrong, nothing\n"
        "  changes, and a line says what. The environment of a running process never changes, so this is for the file.\n"
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

static void print_default(const struct setting *setting, char *line, size_t size) {
        if (setting->default_doc)
                snprintf(line, size, "Default: %s.", setting->default_doc);
        else if (setting->parse)
                snprintf(line, size, "Default: %s.", setting->initial_text);
        else
                snprintf(line, size, "Default: %" PRId64 ".", setting->initial);
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
        print_default(setting, line, sizeof(line));
        print_wrapped(out, "  - ", 4, line);
        if (setting->reload || setting->egress)
                fputs("  - Can change while the service runs.\n", out);
}

void config_print_help(FILE *out) {
        fputs(introduction, out);
        for (size_t i = 0; i < config_settings_count; i++) {
                if (config_settings[i].group)
                        fprintf(out, "\n## %s\n\n", config_settings[i].group);
                print_setting(out, &config_settings[i]);
        }
}

/* ---- a file to begin with */

static const char sample_introduction[] =
        "# Settings of the Code Sandbox, in the file that SANDBOX_CONFIG_FILE names: one a line, name = value.\n"
        "# All stand here as comments, with their defaults where these do not depend on the machine. To change one,\n"
        "# take away the # before its name. `sandboxd --check-config` says whether the file is good. Those marked\n"
        "# \"at once\" change with SIGHUP (systemctl reload), the others with a restart. This is what\n"
        "# `sandboxd --sample-config` prints.\n";

static void print_name(FILE *out, const char *name) {
        for (; *name; name++)
                fputc(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name, out);
}

static void print_sample_line(FILE *out, const struct setting *setting) {
        if (setting->secret) {
                fputc('#', out);
                print_name(out, setting->name);
                fputs("_file =\n", out);
        }
        fputc('#', out);
        print_name(out, setting->name);
        fputs(" =", out);
        if (setting->parse && setting->initial_text && *setting->initial_text)
                fprintf(out, " %s", setting->initial_text);
        else if (!setting->parse && !setting->compute_number)
                fprintf(out, " %" PRId64, setting->initial);
        fputc('\n', out);
}

/* The text of print_wrapped(), each line of it a comment. */
static void print_comment(FILE *out, const char *text) {
        char *lines = NULL;
        size_t length;
        FILE *memory = open_memstream(&lines, &length);
        if (!memory)
                return;
        print_wrapped(memory, "# ", 2, text);
        fclose(memory);
        for (char *rest = lines, *line; (line = strsep(&rest, "\n")) && *line;)
                fprintf(out, "#%s\n", line + 1);
        free(lines);
}

void config_print_sample(FILE *out) {
        char allowed[128], line[512];
        fputs(sample_introduction, out);
        for (size_t i = 0; i < config_settings_count; i++) {
                const struct setting *setting = &config_settings[i];
                if (setting->group)
                        fprintf(out, "\n# ---- %s\n", setting->group);
                fputc('\n', out);
                print_comment(out, setting->doc);
                snprintf(line, sizeof(line), "Allowed: %s.%s", setting_allowed(setting, allowed, sizeof(allowed)),
                         setting->reload || setting->egress ? " At once." : "");
                print_comment(out, line);
                if (setting->default_doc) {
                        print_default(setting, line, sizeof(line));
                        print_comment(out, line);
                }
                print_sample_line(out, setting);
        }
}
