/*
 * sandboxd: start and end of the service.
 *
 * This program is the spawner: it runs as root, checks the host, mounts the image, starts the api process and the
 * template, and from then on serves the api process's requests. It never runs with less isolation than documented: what
 * a promise rests on is checked first, and a lack stops the start, in words.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "sandbox/probe.h"
#include "spawner/egress.h"
#include "spawner/images.h"
#include "spawner/imports.h"
#include "spawner/sandbox.h"
#include "spawner/template.h"

#define STOP_GRACE_NS (10 * NS_PER_S)
#define SPARE_SANDBOXES 16 /* beyond pool, runs and sessions: those that are being made, and those that are ending */

static int exit_code;

/* ---- the end ---- */

static bool all_gone(const struct spawner *spawner) {
        return !spawner->sandboxes && !spawner->template && !spawner->next_template && !spawner->api_pid && !spawner->egress_pid;
}

static void on_stop_tick(void *data) {
        struct spawner *spawner = data;
        static uint64_t began;
        if (began == 0)
                began = clock_now_ns();
        if (all_gone(spawner) || clock_now_ns() - began > STOP_GRACE_NS)
                loop_quit(spawner->loop, exit_code);
        else if (loop_add_timer(spawner->loop, 5 * NS_PER_MS, on_stop_tick, spawner, NULL) < 0)
                loop_quit(spawner->loop, exit_code);
}

void spawner_stop(struct spawner *spawner, int code) {
        /* The api process hangs up when it ends; with which status, is known a moment later. */
        exit_code = exit_code ? exit_code : code;
        if (spawner->stopping)
                return;
        spawner->stopping = true;
        loop_remove(spawner->loop, &spawner->api_source);
        close_fd(&spawner->api_fd); /* the api process ends when it sees this */
        for (struct sandbox *s = spawner->sandboxes, *next; s; s = next) {
                next = s->next;
                sandbox_end(s, SPAWN_END_RETIRED);
        }
        template_end_all(spawner);
        egress_end(spawner);
        if (loop_add_timer(spawner->loop, 0, on_stop_tick, spawner, NULL) < 0)
                loop_quit(spawner->loop, exit_code);
}

/* The api process stops listening, finishes what runs, and ends; its end is the service's. */
static void on_stop_signal(void *data, int signal_number) {
        struct spawner *spawner = data;
        if (spawner->api_pid > 0)
                kill(spawner->api_pid, signal_number);
        else
                spawner_stop(spawner, 0);
}

static void clean_up(struct spawner *spawner) {
        if (spawner->api_pid > 0)
                kill(spawner->api_pid, SIGKILL);
        outer_end(spawner);
        while (waitpid(-1, NULL, __WALL) > 0)
                ;
        cgroup_close(&spawner->cgroups);
        if (spawner->run_dir[0]) {
                umount2(spawner->image_dir, MNT_DETACH);
                umount2(spawner->run_dir, MNT_DETACH);
                rmdir(spawner->run_dir);
                rmdir(RUN_PARENT); /* fails while another service has its folder there */
        }
}

/* ---- the beginning ---- */

static void on_probe(const struct probe_result *result, void *data) {
        (void)data;
        if (result->state == PROBE_FAIL && result->required)
                fprintf(stderr, "sandboxd: %s: %s\n  %s\n", result->name, result->message, result->advice);
        else if (result->state != PROBE_OK && result->required)
                fprintf(stderr, "sandboxd: note: %s: %s\n", result->name, result->message);
}

static int check_host(const struct config *config, struct err *e) {
        const struct probe_context context = {
                .image = config->image,
                .user = config->user,
                .uid_base = (uint64_t)config->uid_base,
                .uid_count = OUTER_IDS + 2, /* two more: the api process and the egress process */
        };
        int failed = probe_run(&context, on_probe, NULL);
        if (failed)
                return err_set(
                        e, -ENOTSUP,
                        "this host lacks what the isolation rests on (%d of the checks above); sandboxd does not "
                        "run with less. 'platformctl doctor' shows all checks",
                        failed);
        return 0;
}

/*
 * A shell's background job starts with SIGINT ignored, and whatever is started here would inherit that. glibc refuses to
 * touch the two signals that it keeps for itself, 32 and 33, so the kernel is asked: all zeros is the default action.
 */
static void reset_signals(void) {
        static const struct {
                uint64_t handler, flags, restorer, mask;
        } by_default;
        sigset_t none;
        for (int number = 1; number < NSIG; number++)
                syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof(uint64_t)); /* but KILL and STOP */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * sd_listen_fds(3): one socket, as descriptor 3. It is put out of the way of those that children get by number. The
 * names stay in the environment, where they say nothing: they count for this process only.
 */
static int take_listening_socket(struct spawner *spawner, struct err *e) {
        const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
        if (!pid || !count || strtol(pid, NULL, 10) != getpid())
                return 0;
        if (strcmp(count, "1") != 0)
                return err_set_field(e, -EINVAL, "LISTEN_FDS", "%s sockets were handed over; it takes one", count);
        spawner->listening_fd = fcntl(3, F_DUPFD_CLOEXEC, 16);
        if (spawner->listening_fd < 0)
                return err_set_field(e, -errno, "LISTEN_FDS", "the service manager's descriptor 3 is no socket: %s", strerror(errno));
        close(3);
        return 0;
}

static void raise_limits(void) {
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                setrlimit(RLIMIT_NOFILE, &files);
        }
}

static int start(struct spawner *spawner, struct err *e) {
        char instance[32];
        int r = take_listening_socket(spawner, e); /* before anything else can get its number */
        if (r < 0)
                return r;
        r = loop_new(&spawner->loop);
        if (r < 0)
                return err_set(e, r, "cannot make an event loop: %s", strerror(-r));
        if ((r = check_host(&spawner->config, e)) < 0 || (r = paths_find(spawner, e)) < 0 ||
            (r = image_mount(spawner, e)) < 0 || (r = imports_prepare_tools(spawner, e)) < 0 ||
            (r = init_load(spawner, e)) < 0)
                return r;
        snprintf(instance, sizeof(instance), "%s", strrchr(spawner->run_dir, '/') + 1);
        if ((r = cgroup_open(instance, &spawner->cgroups, e)) < 0)
                return r;

        if ((r = loop_add_signal(spawner->loop, SIGCHLD, reap_on_signal, spawner)) < 0 ||
            (r = loop_add_signal(spawner->loop, SIGTERM, on_stop_signal, spawner)) < 0 ||
            (r = loop_add_signal(spawner->loop, SIGINT, on_stop_signal, spawner)) < 0 ||
            (r = loop_add_signal(spawner->loop, SIGHUP, reload_on_signal, spawner)) < 0)
                return err_set(e, r, "cannot watch signals: %s", strerror(-r));
        if ((r = service_start(spawner, e)) < 0)
                return r;
        images_announce(spawner);
        if ((r = outer_start(spawner, e)) < 0 || (r = egress_start(spawner, e)) < 0)
                return r;
        template_start(spawner);
        return 0;
}

void spawner_allow_sandboxes(struct spawner *spawner) {
        const struct config *config = &spawner->config;
        spawner->sandbox_max =
                (uint32_t)(config->max_concurrent + config->warm_pool + config->max_sessions + SPARE_SANDBOXES);
}

static const struct option options[] = {
        {"help", no_argument, NULL, 'h'},
        {"help-config", no_argument, NULL, 'c'},
        {"sample-config", no_argument, NULL, 's'},
        {"check-config", no_argument, NULL, 'k'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
};

static void print_help(void) {
        puts("usage: sandboxd [--help-config | --sample-config | --check-config | --version]\n\n"
             "Runs the Code Sandbox in the foreground, as root. Settings come from the environment and from the file "
             "named\n"
             "by SANDBOX_CONFIG_FILE; --help-config lists them all, --sample-config prints a file to begin with,\n"
             "--check-config checks them and ends. SIGHUP reads them again.");
}

/* 1: done, end now. */
static int take_options(int argc, char **argv) {
        for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;)
                switch (option) {
                case 'h':
                        print_help();
                        return 1;
                case 'c':
                        config_print_help(stdout);
                        return 1;
                case 's':
                        config_print_sample(stdout);
                        return 1;
                case 'v':
                        puts("sandboxd " PRODUCT_VERSION);
                        return 1;
                case 'k':
                        return 2;
                default:
                        return -EINVAL;
                }
        if (optind < argc) {
                fprintf(stderr, "sandboxd: '%s': it takes no arguments; see --help\n", argv[optind]);
                return -EINVAL;
        }
        return 0;
}

int main(int argc, char **argv) {
        static struct spawner spawner = {
                .lock_fd = -1, .store_fd = -1, .init_fd = -1, .listening_fd = -1, .api_fd = -1, .egress_fd = -1, .egress_old_fd = -1,
                .holder_fd = -1, .outer_user_fd = -1, .outer_pid_fd = -1};
        struct err e;
        int wanted = take_options(argc, argv);
        if (wanted == 1 || wanted < 0)
                return wanted == 1 ? 0 : 64;

        log_init("spawner", LOG_LEVEL_INFO);
        if (config_load(&spawner.config, &e) < 0) {
                fprintf(stderr, "sandboxd: %s\n", e.message);
                return 78; /* EX_CONFIG */
        }
        if (wanted == 2) {
                puts("sandboxd: the configuration is good");
                return 0;
        }
        reset_signals();
        raise_limits();
        spawner_allow_sandboxes(&spawner);
        int r = start(&spawner, &e);
        if (r >= 0)
                r = loop_run(spawner.loop);
        else {
                fprintf(stderr, "sandboxd: %s\n", e.message);
                r = 1;
        }
        clean_up(&spawner);
        return r < 0 ? 1 : r;
}
