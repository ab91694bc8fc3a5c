/*
 * The HTTP side of the api process alone, for tests of the wire: no spawner, no sandbox, no privilege.
 *
 * POST /v1/execute does what the header X-Test says: "length" (the default) answers with the length of the body, "sum"
 * with a checksum, "later" after 300 ms, "hold" never (and counts whether the client's leaving was noticed), "big" with
 * 8 MB, "stream" with a million bytes in events, "flood" with a stream that never ends, "keep" keeps a run
 * (http_harness_keep.h). Prints its port, and on SIGTERM ends.
 *
 *      http_harness KEY [request_timeout_s [connections_per_address [body_max_bytes [console [console_session_s
 *              [conversation_ttl_s]]]]]]
 */
#include <assert.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/activity.h"
#include "api/api.h"
#include "api/audit.h"
#include "api/call.h"
#include "api/deploy.h"
#include "api/auth.h"
#include "api/console_login.h"
#include "api/conversation_events.h"
#include "api/engine.h"
#include "api/execute.h"
#include "api/http.h"
#include "api/http_listen.h"
#include "api/http_server.h"
#include "api/live_sessions.h"
#include "api/mcp.h"
#include "api/metrics.h"
#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "http_harness_keep.h"
#include "session/sessions.h"
#include "store/store.h"

static unsigned held, gone;
static struct api api; /* static, so that a debugger finds it */

void call_handle(struct api *context, struct http_request *request) {
        (void)context, (void)request;
}

void deploy_handle_archive(struct api *context, struct http_request *request) {
        off_t length = request->body_fd < 0 ? 0 : lseek(request->body_fd, 0, SEEK_END);
        (void)context;
        http_reply_json(request, 200, json_pack("{s:I}", "length", (json_int_t)length));
}

void deploy_start(struct api *context, struct http_request *request, const char *reference, json_t *tools) {
        (void)context, (void)request, (void)reference;
        json_decref(tools);
}

bool engine_knows_images(const struct engine *engine) {
        (void)engine;
        return true;
}

void engine_image_drop(struct engine *engine, struct sandbox_id image) {
        (void)engine, (void)image;
}

bool engine_is_ready(const struct engine *engine) {
        (void)engine;
        return true;
}

json_t *engine_status(const struct engine *engine) {
        (void)engine;
        return json_pack("{s:i, s:i}", "held", (int)held, "gone", (int)gone);
}

void engine_update_metrics(struct engine *engine) {
        (void)engine;
}

void live_sessions_handle_list(struct api *context, struct http_request *request) {
        (void)context;
        http_reply_json(request, 200, json_pack("{s:[]}", "sessions"));
}

void live_sessions_handle_end(struct api *context, struct http_request *request) {
        (void)context;
        http_reply_json(request, 200, json_pack("{s:b}", "ended", 0));
}

bool sessions_end(struct sessions *sessions, int64_t project_id, const char *conversation, enum session_loss why) {
        (void)sessions, (void)project_id, (void)conversation, (void)why;
        return false;
}

static void reply_length(struct http_request *request) {
        http_reply_json(request, 200, json_pack("{s:I}", "length", (json_int_t)request->body_length));
}

static void reply_sum(struct http_request *request) {
        unsigned long sum = 5381;
        for (size_t i = 0; i < request->body_length; i++)
                sum = sum * 33 + (unsigned char)request->body[i];
        http_reply_json(request, 200,
                        json_pack("{s:I, s:I}", "length", (json_int_t)request->body_length, "sum",
                                  (json_int_t)(sum & 0x7fffffff)));
}

static void on_later(void *data) {
        reply_length(data);
}

static void on_gone(struct http_request *request, void *data) {
        (void)data;
        gone++;
        http_drop(request);
}

static void reply_big(struct http_request *request) {
        const size_t size = 8000000;
        char *bytes = malloc(size);
        if (bytes)
                memset(bytes, 'x', size);
        http_reply_take(request, 200, "text/plain", bytes, size);
}

static void write_stream(struct http_request *request, void *data) {
        static char block[10000];
        size_t *left = data;
        memset(block, 'e', sizeof(block));
        while (*left && http_stream_pending(request) < 100000) {
                if (http_stream_write(request, block, sizeof(block)) < 0)
                        break;
                *left -= sizeof(block);
        }
        if (!*left || http_is_gone(request)) {
                free(left);
                http_stream_end(request);
        } else {
                http_on_drain(request, 50000, write_stream, left);
        }
}

static void on_stream_gone(struct http_request *request, void *data) {
        gone++;
        free(data);
        http_stream_end(request);
}

static void reply_stream(struct http_request *request, size_t length) {
        size_t *left = malloc(sizeof(*left));
        assert(left);
        *left = length;
        http_stream_begin(request, "text/event-stream");
        http_on_disconnect(request, on_stream_gone, left);
        write_stream(request, left);
}

void execute_handle(struct api *context, struct http_request *request) {
        const char *mode = http_header(request, "X-Test");
        if (!mode || strcmp(mode, "length") == 0) {
                reply_length(request);
        } else if (strcmp(mode, "sum") == 0) {
                reply_sum(request);
        } else if (strcmp(mode, "keep") == 0) {
                harness_keep(context, request);
        } else if (strcmp(mode, "later") == 0) {
                loop_add_timer(context->loop, 300 * NS_PER_MS, on_later, request, NULL);
        } else if (strcmp(mode, "hold") == 0) {
                held++;
                http_release_body(request);
                http_on_disconnect(request, on_gone, NULL);
        } else if (strcmp(mode, "big") == 0) {
                reply_big(request);
        } else if (strcmp(mode, "stream") == 0) {
                reply_stream(request, 1000000);
        } else if (strcmp(mode, "flood") == 0) {
                reply_stream(request, (size_t)1 << 40);
        } else {
                http_reply_error(request, HTTP_INVALID_REQUEST, "X-Test", "unknown test");
        }
}

static void on_drained(void *data) {
        loop_quit(((struct api *)data)->loop, 0);
}

static void on_stop(void *data, int signal_number) {
        (void)signal_number;
        api.draining = true;
        conversation_events_stop(api.events);
        http_server_drain(api.http, on_drained, data);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
        (void)status;
        (void)type;
        (void)place;
        return remove(path);
}

static void must(int r, const struct err *e) {
        if (r == 0)
                return;
        fprintf(stderr, "http_harness: %d %s\n", r, e ? e->message : "");
        exit(1);
}

int main(int argc, char **argv) {
        struct err e = {.code = 0};
        struct config config = {
                .request_timeout_s = argc > 2 ? atoi(argv[2]) : 3,
                .connections_per_address = argc > 3 ? atoi(argv[3]) : 100,
                .body_max_bytes = argc > 4 ? atoi(argv[4]) : 1 << 20,
                .image_max_bytes = 3 << 20,
                .image_timeout_s = 4,
                .execute_timeout_s = 20,
                .execute_max_timeout_s = 60,
                .session_idle_s = 900,
                .conversation_ttl_s = argc > 7 ? atoi(argv[7]) : 86400,
                .console = argc > 5 ? argv[5] : (char[]){"on"},
                .front_doors = (char[]){""},
                .console_session_s = argc > 6 ? atoi(argv[6]) : 43200,
        };
        struct store_key key = {.public_id = "key_test"};
        char address[LISTEN_TEXT_BYTES];
        char folder[] = "/tmp/http-harness-XXXXXX";
        int listen_fd;

        assert(argc > 1);
        api = (struct api){.config = &config, .started_ns = clock_now_ns(), .environment = json_object()};
        log_init("harness", getenv("HARNESS_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING);
        signal(SIGPIPE, SIG_IGN);
        must(loop_new(&api.loop), NULL);
        must(metrics_new(&api.metrics), NULL);
        must(activity_new(&api.activity), NULL);
        must(mkdtemp(folder) ? 0 : -1, NULL);
        must(store_new(api.loop, &api.store), NULL);
        must(store_open(api.store, folder, &e), &e);
        must(key_hash(argv[1], strlen(argv[1]), &key.hash), NULL);
        must(store_admin_key_set(api.store, &key), NULL);
        must(audit_new(&api, &api.audit), NULL);
        must(auth_new(&api, &api.auth), NULL);
        must(console_new(&api, &api.console), NULL);
        must(conversation_events_new(&api, &api.events), NULL);
        must(mcp_new(&api, &api.mcp), NULL);
        must(http_listen("127.0.0.1:0", &listen_fd, &e), &e);
        http_listen_text(listen_fd, address);
        must(http_server_new(&api, listen_fd, &api.http), NULL);
        must(loop_add_signal(api.loop, SIGTERM, on_stop, &api), NULL);
        must(http_server_start(api.http), NULL);
        printf("%s\n", strrchr(address, ':') + 1);
        fflush(stdout);
        int r = loop_run(api.loop);
        mcp_free(api.mcp);
        http_server_free(api.http);
        conversation_events_free(api.events);
        console_free(api.console);
        auth_free(api.auth);
        audit_flush(&api);
        audit_free(api.audit);
        api.audit = NULL;
        store_close(api.store);
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        json_decref(api.environment);
        activity_free(api.activity);
        metrics_free(api.metrics);
        loop_free(api.loop);
        return r;
}
