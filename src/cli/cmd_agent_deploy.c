/*
 * platformctl agents deploy: gives an agent its image.
 *
 * The service reads no path for a client, so what lies on this machine is packed and sent. Progress comes as events.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/layout_pack.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/resource.h"
#include "cli/service.h"
#include "cli/sse.h"

#define EVENT_MAX ((size_t)4 << 20)
#define TIMEOUT_S 7200 /* sending, fetching and unpacking gigabytes; the service has limits of its own */
#define ARCHIVE_TYPE "application/x-tar"

struct deploy_options {
        const char *image;
        bool json;
};

static const struct option_row rows[] = {
        {"image", 0, OPTION_TEXT, "REF", offsetof(struct deploy_options, image), "where the image is"},
        {"json", 0, OPTION_FLAG, NULL, offsetof(struct deploy_options, json), "print the service's answer as JSON"},
};

static const char description[] =
        "Gives an agent the container image that its tools run in, and finds out which\n"
        "tools it has. The agent is made if it is not there. REF is one of\n"
        "\n"
        "  oci:DIR[:TAG]        a folder with an OCI layout\n"
        "  oci-archive:FILE     such a layout as a tar archive\n"
        "  docker-archive:FILE  what `docker save` writes\n"
        "  docker://REGISTRY/NAME:TAG\n"
        "                       an image in a registry, which the service itself\n"
        "                       fetches if its operator allows that registry\n"
        "\n"
        "What lies on this machine is packed and sent. The image needs CPython 3.10 or\n"
        "newer for the service's processor.\n";

static const char examples[] = "  platformctl agents deploy my-agent --image docker-archive:agent.tar\n"
                               "  platformctl agents deploy my-agent --image oci:build/layout:latest\n"
                               "  platformctl agents deploy my-agent --image docker://ghcr.io/acme/agent:1.2\n";

/* A deployment under way. */
struct deployment {
        struct cli *cli;
        struct sse_parser parser;
        struct progress progress;
        json_t *done, *error;
};

/* ---- progress */

static void on_sent(void *user, uint64_t sent, uint64_t total) {
        struct deployment *deployment = user;
        progress_show(&deployment->progress, "sending the image", (double)sent, (double)total);
}

/* ---- what the service answers */

static int on_event(void *user, const char *name, const char *text, size_t length) {
        struct deployment *deployment = user;
        json_t *data = service_parse(text, length);
        if (strcmp(name, "progress") == 0 && data) {
                const char *message = json_text(data, "message");
                progress_show(&deployment->progress, *message ? message : json_text(data, "step"),
                              json_number_value(json_object_get(data, "done")),
                              json_number_value(json_object_get(data, "total")));
        } else if (strcmp(name, "done") == 0 && !deployment->done) {
                deployment->done = json_incref(data);
        } else if (strcmp(name, "error") == 0 && !deployment->error) {
                deployment->error = json_incref(data);
        }
        json_decref(data);
        return 0;
}

static int on_data(void *user, const char *bytes, size_t length) {
        struct deployment *deployment = user;
        return sse_feed(&deployment->parser, bytes, length);
}

static void deployment_deinit(struct deployment *deployment) {
        sse_deinit(&deployment->parser);
        json_decref(deployment->done);
        json_decref(deployment->error);
}

static int show_done(struct deployment *deployment, const struct deploy_options *options, const char *agent) {
        const json_t *answer = deployment->done, *tools = json_object_get(answer, "tools");
        struct cli *cli = deployment->cli;
        size_t i;
        json_t *tool;
        if (options->json) {
                int r = print_json(cli, answer);
                return r < 0 ? write_failed(cli, r) : EXIT_SUCCESS;
        }
        say_note(cli, "deployed the agent %s: Python %s, %zu tools", agent,
                 *json_text(answer, "python") ? json_text(answer, "python") : "of an unknown version",
                 json_array_size(tools));
        json_array_foreach(tools, i, tool) {
                CLEANUP_FREE char *line = NULL;
                if (asprintf(&line, "%s\n", json_text(tool, "name")) < 0)
                        line = NULL;
                int r = line ? terminal_write(&cli->out, line, strlen(line)) : -ENOMEM;
                if (r < 0)
                        return write_failed(cli, r);
        }
        return EXIT_SUCCESS;
}

static int conclude(struct deployment *deployment, const struct deploy_options *options, const char *agent,
                    const struct http_reply *reply) {
        struct cli *cli = deployment->cli;
        if (!reply->is_stream)
                deployment->done = service_parse(reply->body, reply->body_length);
        if (reply->status < 200 || reply->status > 299)
                return service_explain_status(cli, reply->status, deployment->done);
        if (deployment->error)
                return service_explain_status(cli, 400, deployment->error);
        if (!json_is_object(deployment->done))
                return reply->is_stream
                               ? say_error(cli, EX_UNAVAILABLE, "the connection ended before the image was deployed")
                               : say_error(cli, EX_PROTOCOL,
                                           "no sense in what %s answers. Is this the address of a Code Sandbox?",
                                           http_client_url(cli->client));
        return show_done(deployment, options, agent);
}

static int send_request(struct deployment *deployment, const struct deploy_options *options, const char *agent,
                        struct http_call *call) {
        CLEANUP(http_reply_deinit) struct http_reply reply = {0};
        struct err e = {0};
        call->method = "PUT";
        call->wants_events = true;
        call->timeout_s = TIMEOUT_S;
        call->on_data = on_data;
        call->user = deployment;
        sse_init(&deployment->parser, EVENT_MAX, on_event, deployment);
        int r = http_client_call(deployment->cli->client, call, &reply, &e);
        progress_end(&deployment->progress);
        if (r == HTTP_CLIENT_E_INTERRUPTED)
                return say_error(deployment->cli, EXIT_SIGNAL_BASE + interrupt_caught(),
                                 "interrupted; the agent keeps the image that it had");
        if (r == HTTP_CLIENT_E_STOPPED)
                return say_error(deployment->cli, EX_PROTOCOL, "the service sent an event that is too large");
        return r != 0 ? service_explain_call(deployment->cli, r, &e) : conclude(deployment, options, agent, &reply);
}

/* ---- what is sent */

/* A file without a name: an archive may be larger than memory. A descriptor or a negative errno. */
static int scratch_file(void) {
        const char *folder = getenv("TMPDIR");
        CLEANUP_FREE char *path = NULL;
        if (asprintf(&path, "%s/platformctl-XXXXXX", folder && *folder ? folder : "/tmp") < 0) {
                path = NULL;
                return -ENOMEM;
        }
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        unlink(path);
        return fd;
}

/* "DIR" or "DIR:TAG": a colon may be part of the folder's name, so the folder that is there decides. */
static int pack_layout(struct deployment *deployment, const char *place, struct err *e) {
        CLEANUP_FREE char *folder = strdup(place);
        char *colon = folder ? strrchr(folder, ':') : NULL;
        const char *tag = NULL;
        struct stat st;
        if (colon && (stat(place, &st) < 0 || !S_ISDIR(st.st_mode))) {
                *colon = '\0';
                tag = colon + 1;
        }
        CLEANUP_CLOSE int fd = folder ? scratch_file() : -ENOMEM;
        if (fd < 0)
                return err_set(e, fd, "cannot make a file for the archive: %s", strerror(-fd));
        progress_show(&deployment->progress, "packing the image", 0, 0);
        int r = layout_pack(folder, tag, fd, e);
        if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = err_set(e, -errno, "cannot read the archive: %s", strerror(errno));
        return r < 0 ? r : take_fd(&fd);
}

static int open_archive(struct deployment *deployment, const char *place, struct err *e) {
        (void)deployment;
        int fd = open(place, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? err_set(e, -errno, "cannot read %s: %s", place, strerror(errno)) : fd;
}

static const struct {
        const char *prefix, *kind;
        int (*open)(struct deployment *deployment, const char *place, struct err *e);
} sources[] = {
        {"oci:", "oci-archive", pack_layout},
        {"oci-archive:", "oci-archive", open_archive},
        {"docker-archive:", "docker-archive", open_archive},
};

static int upload(struct deployment *deployment, const struct deploy_options *options, char **words, size_t source) {
        struct cli *cli = deployment->cli;
        struct err e = {0};
        struct stat st;
        int code = EX_SOFTWARE;
        char *parts[] = {words[0], (char *)sources[source].kind};
        CLEANUP_FREE char *path = resource_path(cli, "/v1/agents/{0}/image?kind={1}", parts, &code);
        if (!path)
                return code;
        CLEANUP_CLOSE int fd = sources[source].open(deployment, options->image + strlen(sources[source].prefix), &e);
        if (fd < 0)
                return say_error(cli, EX_NOINPUT, "%s", e.message);
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return say_error(cli, EX_NOINPUT, "%s is no file", options->image);
        const struct http_upload body = {.fd = fd, .length = (uint64_t)st.st_size, .type = ARCHIVE_TYPE};
        struct http_call call = {.path = path, .upload = &body, .on_sent = on_sent};
        return send_request(deployment, options, words[0], &call);
}

static int refer(struct deployment *deployment, const struct deploy_options *options, char **words) {
        int code = EX_SOFTWARE;
        CLEANUP_FREE char *path = resource_path(deployment->cli, "/v1/agents/{0}", words, &code);
        json_t *request = json_pack("{s:s}", "image", options->image);
        CLEANUP_FREE char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
        json_decref(request);
        if (!path)
                return code;
        if (!body)
                return say_error(deployment->cli, EX_USAGE, "--image has bytes that are no text");
        struct http_call call = {.path = path, .body = body, .body_length = strlen(body)};
        return send_request(deployment, options, words[0], &call);
}

static int run(struct cli *cli, const void *values, int argc, char **argv) {
        const struct deploy_options *options = values;
        CLEANUP(deployment_deinit) struct deployment deployment = {.cli = cli};
        (void)argc;
        progress_init(&deployment.progress, cli, options->json);
        if (!options->image)
                return say_error(cli, EX_USAGE,
                                 "--image says where the image is; see 'platformctl agents deploy --help'");
        int code = service_open(cli);
        if (code != 0)
                return code;
        if (strncmp(options->image, "docker://", strlen("docker://")) == 0)
                return refer(&deployment, options, argv);
        for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
                if (strncmp(options->image, sources[i].prefix, strlen(sources[i].prefix)) == 0)
                        return upload(&deployment, options, argv, i);
        return say_error(cli, EX_USAGE,
                         "--image takes oci:DIR[:TAG], oci-archive:FILE, docker-archive:FILE or "
                         "docker://REGISTRY/NAME:TAG, not \"%s\"",
                         options->image);
}

const struct command cmd_agent_deploy = {
        .name = "deploy",
        .summary = "give an agent the image that its tools run in",
        .usage = "[--json] --image REF NAME",
        .description = description,
        .examples = examples,
        COMMAND_OPTIONS(rows, struct deploy_options),
        COMMAND_WORDS(1),
        .run = run,
};
