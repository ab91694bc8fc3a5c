/*
 * Who did what: the audit log as the handlers see it, and the endpoints that show it.
 *
 * Runs in the api process. A line names things by their ids and names. It never holds code, output, contents of files,
 * arguments, results, or a value of a setting.
 */
#pragma once

#include <jansson.h>

struct api;
struct audit;
struct http_request;

enum audit_action {
        AUDIT_SERVICE_START,
        AUDIT_SERVICE_STOP,
        AUDIT_CONFIG_RELOAD,
        AUDIT_PROJECT_CREATE,
        AUDIT_KEY_CREATE,
        AUDIT_KEY_REVOKE,
        AUDIT_AGENT_CREATE,
        AUDIT_AGENT_CHANGE,
        AUDIT_AGENT_DELETE,
        AUDIT_AGENT_IMAGE,
        AUDIT_AGENT_ENV_SET,
        AUDIT_AGENT_ENV_UNSET,
        AUDIT_CONVERSATION_DELETE,
        AUDIT_SESSION_END,
        AUDIT_RUN,
        AUDIT_CALL,
        AUDIT_EGRESS,
        AUDIT_CONSOLE_LOGIN,
        AUDIT_CONSOLE_LOGOUT,
        AUDIT_BACKUP,
        AUDIT_REFUSED,
        AUDIT_ACTIONS
};

/* After the store. 0 or -ENOMEM. */
int audit_new(struct api *api, struct audit **ret);
void audit_free(struct audit *audit);

/* Writes what waits. Whoever reads the log's files calls it first. */
void audit_flush(struct api *api);

/*
 * Adds a line, before the terminal call of the request. `request`: who asked; NULL for what the service does by itself.
 * `target`: the id or name of what it was done to, or NULL. `details`: an object of ids, names and numbers, whose
 * reference is taken, or NULL. What cannot be written is logged and counted; the request goes on. What changes rights is
 * on the disk when this returns; other lines are written within a millisecond or so.
 */
void audit_add(struct api *api, const struct http_request *request, enum audit_action action, const char *target,
               json_t *details);

/* A request was refused with an error of this type. So many a second are written; further ones are counted. */
void audit_refused(struct api *api, const struct http_request *request, const char *type, const char *param);

/* GET /v1/audit: newest first. */
void audit_handle_list(struct api *api, struct http_request *request);
/* GET /v1/audit/segments: the files of the log, which can be checked by anybody. */
void audit_handle_segments(struct api *api, struct http_request *request);
/* GET /v1/audit/segments/{first}: one of them, as it is. */
void audit_handle_segment(struct api *api, struct http_request *request);
