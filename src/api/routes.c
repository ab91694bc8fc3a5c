/* Every endpoint; see routes.h. */
#include "api/routes.h"

#include <stdio.h>
#include <string.h>

#include "api/admin.h"
#include "api/agents.h"
#include "api/audit.h"
#include "api/call.h"
#include "api/console_assets.h"
#include "api/console_login.h"
#include "api/docs_pages.h"
#include "api/conversation_events.h"
#include "api/conversations.h"
#include "api/deploy.h"
#include "api/door_azure.h"
#include "api/door_dify.h"
#include "api/door_e2b.h"
#include "api/door_piston.h"
#include "api/execute.h"
#include "api/files.h"
#include "api/live_sessions.h"
#include "api/mcp.h"
#include "api/openapi.h"
#include "api/runs.h"
#include "api/status.h"
#include "api/tools.h"
#include "base/cleanup.h"

static const struct route routes[] = {
        {"GET", "/healthz", ROUTE_OPEN, status_handle_healthz, ROUTE_BODY_NONE},
        {"GET", "/readyz", ROUTE_OPEN, status_handle_readyz, ROUTE_BODY_NONE},
        {"GET", "/metrics", ROUTE_OPEN, status_handle_metrics, ROUTE_BODY_NONE},
        {"GET", "/openapi.json", ROUTE_OPEN, openapi_handle, ROUTE_BODY_NONE},

        {"POST", "/console/login", ROUTE_OPEN, console_handle_login, ROUTE_BODY_SMALL},
        {"POST", "/console/logout", ROUTE_OPEN, console_handle_logout, ROUTE_BODY_SMALL},
        {"GET", "/console/session", ROUTE_OPEN, console_handle_session, ROUTE_BODY_NONE},
        {"GET", "/console", ROUTE_OPEN, console_handle_redirect, ROUTE_BODY_NONE},
        {"GET", "/console/{path...}", ROUTE_OPEN, console_handle_asset, ROUTE_BODY_NONE},

        {"GET", "/docs", ROUTE_OPEN, docs_handle_redirect, ROUTE_BODY_NONE},
        {"GET", "/docs/{path...}", ROUTE_OPEN, docs_handle_page, ROUTE_BODY_NONE},

        {"POST", "/v1/execute", ROUTE_PROJECT, execute_handle, ROUTE_BODY_CONFIGURED},
        {"POST", "/v1/call", ROUTE_PROJECT, call_handle, ROUTE_BODY_CALL},
        {"GET", "/v1/environment", ROUTE_PROJECT, status_handle_environment, ROUTE_BODY_NONE},
        {"GET", "/v1/tools/run_python", ROUTE_PROJECT, tools_handle_run_python, ROUTE_BODY_NONE},

        {"POST", "/mcp", ROUTE_PROJECT, mcp_handle_post, ROUTE_BODY_CONFIGURED},
        {"GET", "/mcp", ROUTE_PROJECT, mcp_handle_get, ROUTE_BODY_NONE},
        {"DELETE", "/mcp", ROUTE_PROJECT, mcp_handle_delete, ROUTE_BODY_NONE},

        {"GET", "/v1/agents", ROUTE_PROJECT, agents_handle_list, ROUTE_BODY_NONE},
        {"GET", "/v1/agents/{name}", ROUTE_PROJECT, agents_handle_get, ROUTE_BODY_NONE},
        {"PUT", "/v1/agents/{name}", ROUTE_PROJECT, agents_handle_put, ROUTE_BODY_SMALL},
        {"PUT", "/v1/agents/{name}/image", ROUTE_PROJECT, deploy_handle_archive, ROUTE_BODY_IMAGE},
        {"DELETE", "/v1/agents/{name}", ROUTE_PROJECT, agents_handle_delete, ROUTE_BODY_NONE},
        {"GET", "/v1/agents/{name}/env", ROUTE_PROJECT, agents_handle_env_list, ROUTE_BODY_NONE},
        {"PUT", "/v1/agents/{name}/env/{key}", ROUTE_PROJECT, agents_handle_env_put, ROUTE_BODY_VALUE},
        {"DELETE", "/v1/agents/{name}/env/{key}", ROUTE_PROJECT, agents_handle_env_delete, ROUTE_BODY_NONE},

        {"GET", "/v1/conversations", ROUTE_PROJECT, conversations_handle_list, ROUTE_BODY_NONE},
        {"GET", "/v1/conversations/{id}", ROUTE_PROJECT, conversations_handle_get, ROUTE_BODY_NONE},
        {"DELETE", "/v1/conversations/{id}", ROUTE_PROJECT, conversations_handle_delete, ROUTE_BODY_NONE},
        {"GET", "/v1/conversations/{id}/runs", ROUTE_PROJECT, conversations_handle_runs, ROUTE_BODY_NONE},
        {"GET", "/v1/conversations/{id}/files", ROUTE_PROJECT, conversations_handle_files, ROUTE_BODY_NONE},
        {"GET", "/v1/conversations/{id}/events", ROUTE_PROJECT, conversation_events_handle, ROUTE_BODY_NONE},
        {"DELETE", "/v1/conversations/{id}/session", ROUTE_PROJECT, live_sessions_handle_end, ROUTE_BODY_NONE},
        {"GET", "/v1/events", ROUTE_PROJECT, conversation_events_handle_all, ROUTE_BODY_NONE},
        {"GET", "/v1/sessions", ROUTE_PROJECT, live_sessions_handle_list, ROUTE_BODY_NONE},
        {"GET", "/v1/runs/{id}", ROUTE_PROJECT, runs_handle_get, ROUTE_BODY_NONE},
        {"GET", "/v1/files/{id}", ROUTE_PROJECT, files_handle_get, ROUTE_BODY_NONE},

        {"GET", "/v1/status", ROUTE_ADMIN, status_handle_status, ROUTE_BODY_NONE},
        {"GET", "/v1/projects", ROUTE_ADMIN, admin_handle_projects_list, ROUTE_BODY_NONE},
        {"POST", "/v1/projects", ROUTE_ADMIN, admin_handle_projects_create, ROUTE_BODY_SMALL},
        {"GET", "/v1/projects/{name}", ROUTE_ADMIN, admin_handle_projects_get, ROUTE_BODY_NONE},
        {"GET", "/v1/projects/{name}/keys", ROUTE_ADMIN, admin_handle_keys_list, ROUTE_BODY_NONE},
        {"POST", "/v1/projects/{name}/keys", ROUTE_ADMIN, admin_handle_keys_create, ROUTE_BODY_SMALL},
        {"GET", "/v1/projects/{name}/keys/{id}", ROUTE_ADMIN, admin_handle_keys_get, ROUTE_BODY_NONE},
        {"DELETE", "/v1/projects/{name}/keys/{id}", ROUTE_ADMIN, admin_handle_keys_delete, ROUTE_BODY_NONE},
        {"GET", "/v1/audit", ROUTE_ADMIN, audit_handle_list, ROUTE_BODY_NONE},
        {"GET", "/v1/audit/segments", ROUTE_ADMIN, audit_handle_segments, ROUTE_BODY_NONE},
        {"GET", "/v1/audit/segments/{first}", ROUTE_ADMIN, audit_handle_segment, ROUTE_BODY_NONE},

        /* Front doors: other services' interfaces, each there if it is switched on. */
        {"POST", "/execute", ROUTE_E2B, e2b_handle_execute, ROUTE_BODY_CONFIGURED},
        {"GET", "/contexts", ROUTE_E2B, e2b_handle_contexts_list, ROUTE_BODY_NONE},
        {"POST", "/contexts", ROUTE_E2B, e2b_handle_contexts_create, ROUTE_BODY_SMALL},
        {"POST", "/contexts/{id}/restart", ROUTE_E2B, e2b_handle_contexts_restart, ROUTE_BODY_SMALL},
        {"DELETE", "/contexts/{id}", ROUTE_E2B, e2b_handle_contexts_delete, ROUTE_BODY_NONE},
        {"POST", "/v2/sandboxes", ROUTE_E2B, e2b_handle_sandboxes_create, ROUTE_BODY_SMALL},
        {"POST", "/v2/sandboxes/{id}/connect", ROUTE_E2B, e2b_handle_sandboxes_connect, ROUTE_BODY_SMALL},
        {"DELETE", "/sandboxes/{id}", ROUTE_E2B, e2b_handle_sandboxes_delete, ROUTE_BODY_NONE},
        {"POST", "/v1/sandbox/run", ROUTE_DIFY, door_dify_handle_run, ROUTE_BODY_CONFIGURED},
        {"POST", "/api/v2/execute", ROUTE_PISTON, door_piston_handle_execute, ROUTE_BODY_CONFIGURED},
        {"GET", "/api/v2/runtimes", ROUTE_PISTON, door_piston_handle_runtimes, ROUTE_BODY_NONE},
        {"POST", "/executions", ROUTE_AZURE, azure_handle_executions, ROUTE_BODY_CONFIGURED},
        {"POST", "/code/execute", ROUTE_AZURE, azure_handle_code_execute, ROUTE_BODY_CONFIGURED},
        {"DELETE", "/session", ROUTE_AZURE, azure_handle_session_delete, ROUTE_BODY_NONE},
        {"GET", "/files", ROUTE_AZURE, azure_handle_files_list, ROUTE_BODY_NONE},
        {"POST", "/files", ROUTE_AZURE, azure_handle_files_upload, ROUTE_BODY_CONFIGURED},
        {"POST", "/files/upload", ROUTE_AZURE, azure_handle_files_upload, ROUTE_BODY_CONFIGURED},
        {"GET", "/files/content/{path...}", ROUTE_AZURE, azure_handle_files_get, ROUTE_BODY_NONE},
        {"GET", "/files/{name}/content", ROUTE_AZURE, azure_handle_files_get, ROUTE_BODY_NONE},
};

static int hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        return (c | 0x20) - 'a' + 10;
}

/* The guard has seen to it that two hexadecimal digits follow each "%", and not 00. */
static char *decode(char *to, const char *from, size_t length) {
        for (size_t i = 0; i < length; i++) {
                if (from[i] == '%' && i + 2 < length) {
                        *to++ = (char)(hex_value(from[i + 1]) * 16 + hex_value(from[i + 2]));
                        i += 2;
                } else {
                        *to++ = from[i];
                }
        }
        *to++ = '\0';
        return to;
}

/* "{name...}", which is the last part of its pattern. */
static bool takes_rest(const char *part) {
        return part[0] == '{' && part[strcspn(part, "./")] == '.';
}

/* Takes one part at a time, from slash to slash, off both. */
static bool matches(const char *pattern, const char *path, char *storage, const char **params) {
        size_t param = 0;
        while (*pattern == '/' && *path == '/') {
                size_t wanted = strcspn(++pattern, "/");
                size_t given = strcspn(++path, "/");
                if (takes_rest(pattern)) {
                        params[param++] = storage;
                        decode(storage, path, strlen(path));
                        return true;
                }
                if (pattern[0] == '{') {
                        if (given == 0 || param == HTTP_PARAMS_MAX)
                                return false;
                        params[param++] = storage;
                        storage = decode(storage, path, given);
                } else if (wanted != given || memcmp(pattern, path, wanted) != 0) {
                        return false;
                }
                pattern += wanted;
                path += given;
        }
        return *pattern == '\0' && *path == '\0';
}

static void add_allowed(char allow[ROUTE_ALLOW_BYTES], const char *method) {
        size_t used = strlen(allow);
        snprintf(allow + used, ROUTE_ALLOW_BYTES - used, "%s%s%s", used ? ", " : "", method,
                 strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

enum route_match route_find(const char *method, const char *path, const struct route **ret, char *storage,
                            const char **params, char allow[ROUTE_ALLOW_BYTES]) {
        const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
        allow[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
                memset(params, 0, HTTP_PARAMS_MAX * sizeof(params[0]));
                if (!matches(routes[i].pattern, path, storage, params))
                        continue;
                if (strcmp(routes[i].method, wanted) == 0) {
                        *ret = &routes[i];
                        return ROUTE_FOUND;
                }
                *ret = &routes[i];
                add_allowed(allow, routes[i].method);
        }
        memset(params, 0, HTTP_PARAMS_MAX * sizeof(params[0]));
        return allow[0] ? ROUTE_WRONG_METHOD : ROUTE_UNKNOWN;
}
