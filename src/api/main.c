/*
 * sandboxd-api: the process that serves the network.
 *
 * Started by sandboxd (the spawner) with one end of their socket pair as descriptor 3, and as 4 a listening socket if the
 * system's service manager has opened one (then there is an argument, --listening), as root for the moment that it
 * takes to open what it needs: the data folder, the listening socket, the description of the image. Then it jails
 * itself (jail.c), and only after that opens its database, meets the network and talks to the spawner. It ends when the
 * spawner is gone, and the service ends when it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/activity.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/auth.h"
#include "api/banner.h"
#include "api/call.h"
#include "api/console_login.h"
#include "api/conversation_events.h"
#include "api/datadir.h"
#include "api/engine.h"
#include "api/http_listen.h"
#include "api/http_server.h"
#include "api/idempotency.h"
#include "api/image.h"
#include "api/images.h"
#include "api/jail.h"
#include "api/manager.h"
#include "api/mcp.h"
#include "api/metrics.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "run/ids.h"
#include "session/expiry.h"
#include "session/sessions.h"
#include "store/store.h"

#define SPAWNER_FD 3
#define LISTENING_FD 4
#define DRAIN_GRACE_S 10 /* over the longest run, which is a tool call's */

/* What is opened with privilege and used without. */
struct opened {
        struct datadir datadir;
        int listen_fd;
        struct manager_link manager;
        char *admin_key;
        bool key_given; /* by SANDBOX_ADMIN_KEY */
};

void api_quit(struct api *api, int exit_status, const char *why) {
        if (exit_status)
                log_error("the service ends", "why", why);
        else
                log_info("the service ends", "why", why);
        loop_quit(api->loop, exit_status);
}

/* ---- with privilege */

static int check_descriptors(bool listening, struct err *e) {
        const unsigned last = listening ? LISTENING_FD : SPAWNER_FD;
        int type;
        socklen_t length = sizeof(type);
        if (getsockopt(SPAWNER_FD, SOL_SOCKET, SO_TYPE, &type, &length) < 0 || type != SOCK_SEQPACKET)
                return err_set(e, -EBADF, "sandboxd-api is started by sandboxd; start that");
        if (close_range(last + 1, ~0U, 0) < 0 || close_range(SPAWNER_FD, last, CLOSE_RANGE_CLOEXEC) < 0)
                return err_set(e, -errno, "cannot close descriptors: %s", strerror(errno));
        return 0;
}

/*
 * Whatever secrets the operator has in the environment must not stay in this process's memory, from where a flaw could
 * send them. Settings are copies, and the admin key was used.
 */
static void forget_environment(struct config *config) {
        for (char **variable = environ; *variable; variable++)
                explicit_bzero(*variable, strlen(*variable));
        clearenv();
        if (config->admin_key)
                explicit_bzero(config->admin_key, strlen(config->admin_key));
}

static void raise_descriptor_limit(void) {
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                setrlimit(RLIMIT_NOFILE, &files);
        }
}

static int open_with_privilege(struct api *api, struct config *config, struct opened *opened, struct err *e) {
        uid_t uid;
        gid_t gid;
        int r = jail_find_user(config, &uid, &gid, e);
        if (r == 0)
                r = datadir_open(config, uid, gid, &opened->datadir, e);
        if (r == 0)
                r = datadir_admin_key(&opened->datadir, config, &opened->admin_key, e);
        if (r == 0)
                r = opened->listen_fd >= 0 ? http_listen_take(opened->listen_fd, e)
                                           : http_listen(config->listen, &opened->listen_fd, e);
        if (r == 0)
                r = manager_connect(&opened->manager, e);
        if (r == 0)
                r = image_read_environment(config->image, &api->environment, e);
        if (r < 0)
                return r;
        opened->key_given = config->admin_key && *config->admin_key;
        forget_environment(config);
        raise_descriptor_limit();
        signal(SIGPIPE, SIG_IGN);
        close_fd(&opened->datadir.fd);
        return jail_enter(opened->datadir.service_fd, uid, gid, e);
}

/* ---- without */

static int set_admin_key(struct api *api, struct opened *opened, struct err *e) {
        struct store_key key = {.label = "admin key of the operator"};
        char id[ID_TEXT_BYTES];
        id_new(id, "key_");
        snprintf(key.public_id, sizeof(key.public_id), "%s", id);
        key_hint(opened->admin_key, key.hint);
        int r = key_hash(opened->admin_key, strlen(opened->admin_key), &key.hash);
        explicit_bzero(opened->admin_key, strlen(opened->admin_key));
        free(TAKE_PTR(opened->admin_key));
        if (r == 0)
                r = store_admin_key_set(api->store, &key);
        if (r == STORE_E_EXISTS)
                return err_set_field(e, -EEXIST, "SANDBOX_ADMIN_KEY",
                                     "the admin key is the key of a project, or one that was revoked; take another");
        return r < 0 ? err_set(e, r, "cannot store the admin key: %s", strerror(-r)) : 0;
}

/* The store's thread must be there before the jail is sealed; nothing is read before it is. */
static int open_store(struct api *api, struct err *e) {
        int r = store_new(api->loop, &api->store);
        if (r < 0)
                return err_set(e, r, "cannot start the store: %s", strerror(-r));
        r = jail_seal(e);
        return r < 0 ? r : store_open(api->store, DATADIR_STORE, e);
}

static int start(struct api *api, struct opened *opened, struct err *e) {
        /* The spawner takes the end of their connection for the end of this process, so it stays open for as long. */
        int r = fcntl(SPAWNER_FD, F_DUPFD_CLOEXEC, SPAWNER_FD) < 0 ? -errno : loop_new(&api->loop);
        if (r == 0)
                r = metrics_new(&api->metrics);
        if (r == 0)
                r = activity_new(&api->activity);
        if (r < 0)
                return err_set(e, r, "cannot start: %s", strerror(-r));
        r = open_store(api, e);
        if (r == 0)
                r = set_admin_key(api, opened, e);
        if (r < 0)
                return r;
        r = audit_new(api, &api->audit);
        if (r == 0)
                r = auth_new(api, &api->auth);
        if (r == 0)
                r = console_new(api, &api->console);
        if (r == 0)
                r = conversation_events_new(api, &api->events);
        if (r == 0)
                r = sessions_new(api, &api->sessions);
        if (r == 0)
                r = idempotency_new(api, &api->idempotency);
        if (r == 0)
                r = images_new(api, &api->images);
        if (r == 0)
                r = engine_new(api, SPAWNER_FD, &api->engine);
        if (r == 0)
                r = expiry_new(api, &api->expiry);
        if (r == 0)
                r = mcp_new(api, &api->mcp);
        if (r == 0)
                r = http_server_new(api, opened->listen_fd, &api->http);
        if (r == 0)
                r = manager_new(api, &opened->manager, &api->manager);
        return r < 0 ? err_set(e, r, "cannot start: %s", strerror(-r)) : 0;
}

/* ---- the end */

static void on_drained(void *data) {
        struct api *api = data;
        if (--api->draining_parts == 0)
                api_quit(api, 0, "stopped, nothing is left to do");
}

static void on_drain_over(void *data) {
        api_quit(data, 0, "stopped, before everything was done");
}

static void on_stop(void *data, int signal_number) {
        struct api *api = data;
        if (api->draining)
                return; /* sandboxd passes signals on, so the same one may come twice */
        log_info("stopping", "signal", strsignal(signal_number));
        audit_add(api, NULL, AUDIT_SERVICE_STOP, NULL, NULL);
        manager_say_stopping(api->manager);
        api->draining = true;
        api->draining_parts = 2;
        loop_add_timer(api->loop, (CALL_TIMEOUT_MAX_S + DRAIN_GRACE_S) * NS_PER_S, on_drain_over, api, NULL);
        conversation_events_stop(api->events);
        engine_drain(api->engine, on_drained, api);
        http_server_drain(api->http, on_drained, api);
}

static int serve(struct api *api, struct err *e) {
        int r = loop_add_signal(api->loop, SIGTERM, on_stop, api);
        if (r == 0)
                r = loop_add_signal(api->loop, SIGINT, on_stop, api);
        if (r == 0)
                r = http_server_start(api->http);
        if (r < 0)
                return err_set(e, r, "cannot start: %s", strerror(-r));
        return loop_run(api->loop);
}

/* Only after a clean end: else requests are in work, and the kernel tidies up faster. */
static void finish(struct api *api) {
        store_close(api->store); /* first: it answers those that wait for it */
        manager_free(api->manager);
        mcp_free(api->mcp);
        engine_free(api->engine);
        images_free(api->images);
        idempotency_free(api->idempotency);
        sessions_free(api->sessions);
        expiry_free(api->expiry);
        conversation_events_free(api->events);
        http_server_free(api->http);
        console_free(api->console);
        auth_free(api->auth);
        audit_free(TAKE_PTR(api->audit));
        json_decref(api->environment);
        activity_free(api->activity);
        metrics_free(api->metrics);
        loop_free(api->loop);
}

#define MEMORY_KEPT_BYTES (32 << 20)
#define MEMORY_OWN_BYTES (8 << 20)

/*
 * Memory for a body, a file or a reply is not given back to the kernel between two requests: it would come again page by
 * page, which takes longer than to fill it (a millisecond and a half for 1 MB where the machine is a virtual one).
 */
static void keep_freed_memory(void) {
        mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT_BYTES);
        mallopt(M_MMAP_THRESHOLD, MEMORY_OWN_BYTES);
}

int main(int argc, char **argv) {
        bool listening = argc == 2 && strcmp(argv[1], "--listening") == 0;
        struct err e = {.code = 0};
        struct config config = {.listen = NULL};
        struct opened opened = {.listen_fd = listening ? LISTENING_FD : -1, .manager.fd = -1};
        struct api api = {.config = &config, .settings = &config, .started_ns = clock_now_ns()};
        char address[LISTEN_TEXT_BYTES];

        keep_freed_memory();
        log_init("api", LOG_LEVEL_INFO);
        int r = check_descriptors(listening, &e);
        if (r == 0)
                r = config_load(&config, &e);
        if (r == 0) {
                log_init("api", config_log_level(&config));
                r = open_with_privilege(&api, &config, &opened, &e);
        }
        if (r == 0)
                r = start(&api, &opened, &e);
        if (r == 0) {
                http_listen_text(opened.listen_fd, address);
                log_info("serving", "address", address);
                audit_add(&api, NULL, AUDIT_SERVICE_START, NULL, json_pack("{s:s}", "version", PRODUCT_VERSION));
                banner_print(&config, address, opened.key_given);
                r = serve(&api, &e);
        }
        if (e.code)
                log_error(e.message, "field", e.field);
        if (r == 0 && api.draining_parts == 0)
                finish(&api);
        config_deinit(&config);
        return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
