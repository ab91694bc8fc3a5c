/* Who asks; see auth.h. */
#include "api/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "api/console_login.h"
#include "api/door.h"
#include "api/names.h"
#include "api/ratelimit.h"
#include "base/config.h"
#include "base/loop.h"
#include "store/store.h"

#define KEY_LENGTH_MAX 512

struct auth {
        struct api *api;
        struct ratelimit *limit; /* NULL: off */
        int64_t rate;            /* that it was made for */
};

int auth_new(struct api *api, struct auth **ret) {
        struct auth *auth = calloc(1, sizeof(*auth));
        int r = 0;
        if (!auth)
                return -ENOMEM;
        auth->api = api;
        auth->rate = api->config->rate_limit;
        if (auth->rate > 0)
                r = ratelimit_new(auth->rate, &auth->limit);
        if (r < 0) {
                free(auth);
                return r;
        }
        *ret = auth;
        return 0;
}

void auth_set_rate(struct auth *auth) {
        struct ratelimit *limit = NULL;
        int64_t rate = auth->api->config->rate_limit;
        if (rate == auth->rate || (rate > 0 && ratelimit_new(rate, &limit) < 0))
                return;
        ratelimit_free(auth->limit);
        auth->limit = limit;
        auth->rate = rate;
}

void auth_free(struct auth *auth) {
        if (!auth)
                return;
        ratelimit_free(auth->limit);
        free(auth);
}

static bool refuse_internal(struct http_request *request) {
        http_reply_error(request, HTTP_INTERNAL, NULL, "The service could not read its database; its log says more.");
        return false;
}

/* The key of "Authorization: Bearer KEY", or NULL. */
static const char *bearer(const char *header) {
        static const char scheme[] = "Bearer";
        if (!header || strncasecmp(header, scheme, strlen(scheme)) != 0)
                return NULL;
        header += strlen(scheme);
        size_t spaces = strspn(header, " ");
        return spaces && header[spaces] ? header + spaces : NULL;
}

int auth_find_key(struct api *api, const char *text, struct store_key *ret) {
        struct key_hash hash;
        size_t length = strlen(text);
        if (length > KEY_LENGTH_MAX)
                return STORE_E_NOT_FOUND;
        int r = key_hash(text, length, &hash);
        return r < 0 ? r : store_key_find(api->store, &hash, ret);
}

/* A key is taken before a cookie: no page of another origin can make a browser send one. */
static bool find_key(struct auth *auth, struct http_request *request, struct store_key *key) {
        char storage[DOOR_KEY_BYTES];
        enum door door = route_door(request->route);
        const char *text = door ? door_key(request, storage) : bearer(http_header(request, "Authorization"));
        bool console = config_console(auth->api->config) != CONSOLE_OFF && !door;
        if (!text && console && console_has_cookie(request))
                return console_admit(auth->api->console, request, key);
        if (!text) {
                http_reply_error(request, HTTP_UNAUTHORIZED, NULL, "A key is needed: send the header \"%s\".",
                                 door ? door_key_place(door) : "Authorization: Bearer KEY");
                return false;
        }
        int r = auth_find_key(auth->api, text, key);
        if (r == STORE_E_NOT_FOUND)
                http_reply_error(request, HTTP_UNAUTHORIZED, NULL, "This key is unknown, or was revoked.");
        else if (r < 0)
                refuse_internal(request);
        return r == 0;
}

static bool enter(struct http_request *request, int64_t id, const char *name) {
        request->auth.project_id = id;
        snprintf(request->auth.project, sizeof(request->auth.project), "%s", name);
        return true;
}

static bool enter_unknown(struct http_request *request, const char *name) {
        http_reply_error(request, HTTP_NOT_FOUND, "X-Project",
                         "There is no project \"%s\". GET /v1/projects (platformctl projects list) lists those there are.",
                         name);
        return false;
}

/* A browser can send no header with pictures, downloads and streams of events. */
static const char *project_named(struct http_request *request) {
        const char *name = http_header(request, "X-Project");
        return name || !request->auth.by_session ? name : http_query(request, "project");
}

/* A project's key acts in its own project; the name of another one is unknown to it. */
static bool enter_project(struct auth *auth, struct http_request *request, const struct store_key *key) {
        const char *name = project_named(request);
        struct store_project project;

        if (name && !name_is_valid(name)) {
                http_reply_error(request, HTTP_INVALID_REQUEST, "X-Project", "X-Project must be " NAME_RULE ".");
                return false;
        }
        if (!key->is_admin)
                return name && strcmp(name, key->project) != 0 ? enter_unknown(request, name)
                                                               : enter(request, key->project_id, key->project);
        if (!name)
                name = STORE_DEFAULT_PROJECT;
        int r = store_project_find(auth->api->store, name, &project);
        if (r < 0)
                return refuse_internal(request);
        return r == 0 ? enter(request, project.id, project.name) : enter_unknown(request, name);
}

static bool within_rate(struct auth *auth, struct http_request *request) {
        char seconds[24];
        if (!auth->limit)
                return true;
        uint64_t wait_ns = ratelimit_take(auth->limit, request->auth.key_id, clock_now_ns());
        if (wait_ns == 0)
                return true;
        snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)((wait_ns + NS_PER_S - 1) / NS_PER_S));
        http_reply_header(request, "Retry-After", seconds);
        http_reply_error(request, HTTP_RATE_LIMITED, NULL,
                         "This key may make %lld requests a minute (SANDBOX_RATE_LIMIT); try again in %s s.",
                         (long long)auth->api->config->rate_limit, seconds);
        return false;
}

bool auth_still_admits(struct auth *auth, const struct http_auth *who) {
        struct store_key key;
        if (store_key_find(auth->api->store, &who->key, &key) == STORE_E_NOT_FOUND)
                return false;
        return !who->by_session || console_still_admits(auth->api->console, who);
}

bool auth_admit(struct auth *auth, struct http_request *request, enum route_scope scope) {
        struct store_key key;
        if (scope == ROUTE_OPEN)
                return true;
        if (!find_key(auth, request, &key))
                return false;
        request->auth.key_id = key.id;
        request->auth.key = key.hash;
        snprintf(request->auth.key_name, sizeof(request->auth.key_name), "%s", key.public_id);
        request->auth.is_admin = key.is_admin;
        if (!within_rate(auth, request))
                return false;
        if (scope == ROUTE_ADMIN && !key.is_admin) {
                http_reply_error(request, HTTP_FORBIDDEN, NULL, "This endpoint needs an admin key.");
                return false;
        }
        return enter_project(auth, request, &key);
}
