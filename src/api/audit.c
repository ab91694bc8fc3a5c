/* Adding to the audit log; see audit.h. */
#include "api/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/http.h"
#include "api/metrics.h"
#include "api/routes.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/audit.h"

/* Anybody who reaches the service can be refused, as often as they like: that must not fill the log. */
#define REFUSALS_A_SECOND 10
#define REFUSALS_BURST 100

/* A reply is not to wait for the line about it: by then that of a run is on its way to the client. */
#define WRITE_DELAY_NS (NS_PER_MS / 5)

struct audit {
        json_t *waiting; /* lines that are still to be written, oldest first */
        struct loop_source *timer;
        bool stopped;
        double allowance; /* refusals that may be written now */
        uint64_t counted_ns;
        uint64_t left_out; /* since the last one that was written */
};

/* Durable: what changes rights, or what runs later, is on the disk before anybody is told that it was done. */
static const struct {
        const char *name;
        bool durable;
} actions[AUDIT_ACTIONS] = {
        [AUDIT_SERVICE_START] = {"service.start", true},
        [AUDIT_SERVICE_STOP] = {"service.stop", true},
        [AUDIT_CONFIG_RELOAD] = {"config.reload", true},
        [AUDIT_PROJECT_CREATE] = {"project.create", true},
        [AUDIT_KEY_CREATE] = {"key.create", true},
        [AUDIT_KEY_REVOKE] = {"key.revoke", true},
        [AUDIT_AGENT_CREATE] = {"agent.create", true},
        [AUDIT_AGENT_CHANGE] = {"agent.change", true},
        [AUDIT_AGENT_DELETE] = {"agent.delete", true},
        [AUDIT_AGENT_IMAGE] = {"agent.image", true},
        [AUDIT_AGENT_ENV_SET] = {"agent.env.set", true},
        [AUDIT_AGENT_ENV_UNSET] = {"agent.env.unset", true},
        [AUDIT_CONVERSATION_DELETE] = {"conversation.delete", false},
        [AUDIT_SESSION_END] = {"session.end", false},
        [AUDIT_RUN] = {"run", false},
        [AUDIT_CALL] = {"call", false},
        [AUDIT_EGRESS] = {"egress", false},
        [AUDIT_CONSOLE_LOGIN] = {"console.login", true},
        [AUDIT_CONSOLE_LOGOUT] = {"console.logout", false},
        [AUDIT_BACKUP] = {"backup", true},
        [AUDIT_REFUSED] = {"refused", false},
};

int audit_new(struct api *api, struct audit **ret) {
        struct audit *audit = calloc(1, sizeof(*audit));
        if (!audit)
                return -ENOMEM;
        audit->waiting = json_array();
        if (!audit->waiting) {
                free(audit);
                return -ENOMEM;
        }
        audit->allowance = REFUSALS_BURST;
        audit->counted_ns = clock_now_ns();
        store_audit_limit(api->store, (uint64_t)api->config->audit_max_bytes);
        *ret = audit;
        return 0;
}

/* "" becomes NULL, which is left out of a line. */
static const char *or_none(const char *text) {
        return text && *text ? text : NULL;
}

static json_t *line_json(const struct http_request *request, enum audit_action action, const char *target,
                         json_t *details) {
        const struct http_auth *auth = request ? &request->auth : NULL;
        bool in_project = request && request->route && request->route->scope == ROUTE_PROJECT;
        return json_pack("{s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:o*}", "action", actions[action].name,
                         "target", or_none(target), "project", in_project ? or_none(auth->project) : NULL, "key",
                         auth ? or_none(auth->key_name) : NULL, "rights", auth && auth->is_admin ? "admin" : NULL,
                         "via", auth && auth->by_session ? "console" : NULL, "client",
                         request ? or_none(request->client) : NULL, "request", request ? or_none(request->id) : NULL,
                         "details", details);
}

static void write_line(struct api *api, const json_t *line, bool durable) {
        CLEANUP_FREE char *text = json_dumps(line, JSON_COMPACT);
        int r = text ? store_audit_add(api->store, text, durable) : -ENOMEM;
        metrics_add(api->metrics, r == 0 ? METRIC_AUDIT_LINES : METRIC_AUDIT_FAILURES, 1);
        if (r < 0)
                log_error("the audit log misses a line", "action", json_string_value(json_object_get(line, "action")),
                          "request", json_string_value(json_object_get(line, "request")));
}

void audit_flush(struct api *api) {
        struct audit *audit = api->audit;
        const json_t *line;
        size_t i;
        if (!audit)
                return;
        loop_remove(api->loop, &audit->timer);
        json_array_foreach(audit->waiting, i, line)
                write_line(api, line, false);
        json_array_clear(audit->waiting);
}

static void on_time(void *data) {
        struct api *api = data;
        api->audit->timer = NULL;
        audit_flush(api);
}

/* True if the line has been taken. After the service's last one none is: the store is about to close. */
static bool write_later(struct api *api, enum audit_action action, json_t *line) {
        struct audit *audit = api->audit;
        if (action == AUDIT_SERVICE_STOP)
                audit->stopped = true;
        return !actions[action].durable && !audit->stopped &&
               (audit->timer || loop_add_timer(api->loop, WRITE_DELAY_NS, on_time, api, &audit->timer) == 0) &&
               json_array_append(audit->waiting, line) == 0;
}

void audit_free(struct audit *audit) {
        json_decref(audit->waiting);
        free(audit);
}

void audit_add(struct api *api, const struct http_request *request, enum audit_action action, const char *target,
               json_t *details) {
        if (!api->audit) { /* not yet, or in a test without a store */
                json_decref(details);
                return;
        }
        json_t *line = line_json(request, action, target, details);
        if (!line || !write_later(api, action, line)) {
                audit_flush(api);
                write_line(api, line, actions[action].durable);
        }
        json_decref(line);
}

static bool may_write(struct audit *audit) {
        uint64_t now = clock_now_ns();
        audit->allowance += (double)(now - audit->counted_ns) / (double)NS_PER_S * REFUSALS_A_SECOND;
        audit->counted_ns = now;
        if (audit->allowance > REFUSALS_BURST)
                audit->allowance = REFUSALS_BURST;
        if (audit->allowance < 1) {
                audit->left_out++;
                return false;
        }
        audit->allowance -= 1;
        return true;
}

void audit_refused(struct api *api, const struct http_request *request, const char *type, const char *param) {
        struct audit *audit = api->audit;
        if (!audit || !may_write(audit))
                return;
        json_t *left_out = audit->left_out ? json_integer((json_int_t)audit->left_out) : NULL;
        audit->left_out = 0;
        audit_add(api, request, AUDIT_REFUSED, type,
                  json_pack("{s:s*, s:s*, s:s*, s:o*}", "method", request->route ? request->route->method : NULL,
                            "route", request->route ? request->route->pattern : NULL, "param", or_none(param),
                            "left_out", left_out));
}
