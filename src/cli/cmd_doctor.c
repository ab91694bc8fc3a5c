/*
 * platformctl doctor: whether this host can hold the service's promises, and what to do where it cannot.
 *
 * Runs the same checks as sandboxd does before it starts (sandbox/probe.h), and asks the service how it is, if one
 * answers. Better run as root: the checks try real mounts and namespaces.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "cli/commands.h"
#include "cli/http_client.h"
#include "cli/output.h"
#include "cli/service.h"
#include "sandbox/probe.h"

#define UIDS 65538
#define HEALTH_TIMEOUT_S 5

struct doctor_options {
        bool json;
};

static const struct option_row rows[] = {
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct doctor_options, json), "print what was found as JSON"},
};

struct doctor {
        struct cli *cli;
        json_t *checks; /* a list, or NULL if they are printed as they are made */
        unsigned warnings;
};

static void add_check(json_t *checks, enum probe_state state, const char *name, const char *message,
                      const char *advice) {
        static const char *const states[] = {[PROBE_OK] = "ok", [PROBE_WARN] = "warning", [PROBE_FAIL] = "missing"};
        json_array_append_new(checks, json_pack("{s:s, s:s, s:s, s:s?}", "name", name, "state", states[state],
                                                "message", message, "advice", advice[0] ? advice : NULL));
}

static void print_check(struct doctor *doctor, enum probe_state state, const char *name, const char *message,
                        const char *advice) {
        static const char *const words[] = {[PROBE_OK] = "ok", [PROBE_WARN] = "warning", [PROBE_FAIL] = "MISSING"};
        static const enum paint paints[] = {
                [PROBE_OK] = PAINT_GOOD, [PROBE_WARN] = PAINT_WARNING, [PROBE_FAIL] = PAINT_BAD};
        struct cli *cli = doctor->cli;
        if (doctor->checks) {
                add_check(doctor->checks, state, name, message, advice);
                return;
        }
        print_painted(&cli->out, paints[state], words[state]);
        fprintf(cli->out.file, "%*s", (int)(9 - strlen(words[state])), "");
        print_painted(&cli->out, PAINT_BOLD, name);
        fputs(": ", cli->out.file);
        print_painted(&cli->out, PAINT_NONE, message);
        fputc('\n', cli->out.file);
        if (advice[0]) {
                fprintf(cli->out.file, "%9s", "");
                print_painted(&cli->out, PAINT_NONE, advice);
                fputc('\n', cli->out.file);
        }
        fflush(cli->out.file); /* some checks take a moment */
}

static void on_result(const struct probe_result *result, void *data) {
        struct doctor *doctor = data;
        /* What is missing but not required is a thing to know, not a failure. */
        enum probe_state state = result->state == PROBE_FAIL && !result->required ? PROBE_WARN : result->state;
        doctor->warnings += state == PROBE_WARN;
        print_check(doctor, state, result->name, result->message, result->advice);
}

/* 200 and 503 both come from a service that is there; nothing at the address is no fault of the host. */
static void check_service(struct doctor *doctor) {
        const struct http_call call = {.method = "GET", .path = "/readyz", .timeout_s = HEALTH_TIMEOUT_S};
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        char message[256];
        struct cli *cli = doctor->cli;
        struct err e = {0};
        if (service_open(cli) != 0)
                return;
        const char *url = http_client_url(cli->client);
        int r = http_client_call(cli->client, &call, &reply, &e);
        if (r == HTTP_CLIENT_E_CONNECT) {
                snprintf(message, sizeof(message), "none answers at %s", url);
                print_check(doctor, PROBE_OK, "service", message, "");
                return;
        }
        snprintf(message, sizeof(message), "%s is ready", url);
        if (r == 0 && reply.status == 200) {
                print_check(doctor, PROBE_OK, "service", message, "");
                return;
        }
        if (r == 0)
                snprintf(message, sizeof(message), "%s answers, but is not ready (HTTP %ld)", url, reply.status);
        print_check(doctor, PROBE_WARN, "service", r == 0 ? message : e.message,
                    "Wait a little if it has just been started; else its log says what keeps it.");
}

/* The number of required things that are missing. */
static int examine(struct doctor *doctor) {
        struct cli *cli = doctor->cli;
        struct config config;
        struct err e = {0};
        bool settings = config_load(&config, &e) == 0;
        print_check(doctor, settings ? PROBE_OK : PROBE_FAIL, "settings", settings ? "understood" : e.message, "");
        if (!settings)
                return 1;
        if (geteuid() != 0)
                say_note(cli, "not run as root, as sandboxd is: some checks fail only for that reason");
        const struct probe_context context = {
                .image = config.image,
                .user = config.user,
                .uid_base = (uint64_t)config.uid_base,
                .uid_count = UIDS,
        };
        int missing = probe_run(&context, on_result, doctor);
        config_deinit(&config);
        check_service(doctor);
        return missing;
}

static void conclude(const struct doctor *doctor, int missing) {
        FILE *out = doctor->cli->out.file;
        if (missing > 0)
                fprintf(out, "\nThis host is not fit for the service: %d required thing%s missing.\n", missing,
                        missing == 1 ? " is" : "s are");
        else
                fprintf(out, "\nThis host is fit for the service%s.\n",
                        doctor->warnings > 0 ? ", with the warnings above" : "");
}

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct doctor_options *options = values;
        struct doctor doctor = {.cli = cli, .checks = options->json ? json_array() : NULL};
        int r = 0, missing = examine(&doctor);
        (void)argc;
        (void)argv;
        if (doctor.checks) {
                json_t *answer = json_pack("{s:b, s:o}", "fit", missing == 0, "checks", doctor.checks);
                r = answer ? print_json(cli, answer) : -ENOMEM;
                json_decref(answer);
        } else {
                conclude(&doctor, missing);
        }
        return r < 0 ? write_failed(cli, r) : missing > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command cmd_doctor = {
        .name = "doctor",
        .summary = "check whether this host is fit for the service",
        .usage = "[--json]",
        .description = "Tries out what the service needs of this host (kernel, namespaces, cgroups,\n"
                       "filters, image, user) and says what to do about each lack. These are the checks\n"
                       "that sandboxd makes before it starts. If a service answers at the address, its\n"
                       "health is shown too. Run it as root, with the settings (SANDBOX_...) of the\n"
                       "service. Exit code: 1 if something is missing that it cannot do without.\n",
        .examples = "  sudo platformctl doctor\n"
                    "  sudo platformctl doctor --json | jq '.checks[] | select(.state != \"ok\")'\n",
        COMMAND_OPTIONS(rows, struct doctor_options),
        .run = run,
};
